"""Write requirements-lock.txt: every package of the environment, exact, with its files' hashes.

    make lock

The readable pins are in requirements.txt, and what nothing may be raised to is in limits.txt. All
else stays at the version it has in the lock, so that a second run changes nothing. One lock holds
for every system and for Python 3.11 and newer: a package that only some of them need carries the
condition.

PyTorch and what its builds bring are left out, because they differ from system to system: its pin
in requirements.txt is all there is, and tools/bootstrap.py installs it after the lock.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tools.common import ROOT, UserError

REQUIREMENTS = ROOT / "requirements.txt"
LOCK = ROOT / "requirements-lock.txt"
OPTIONS = [
    *("--universal", "--python-version", "3.11.0", "--fork-strategy", "fewest"),
    *("--generate-hashes", "--annotation-style", "line", "--no-header"),
]
APART = re.compile(r"(torch|triton|cuda-[\w-]+|nvidia-[\w-]+)==")
HEADER = """\
# Every package of the book's environment with the hashes of its files; PyTorch is apart, in
# requirements.txt. Written by `make lock`: do not edit it, change requirements.txt instead.
# Sum of what it was made from, and of what follows: {}
"""


def main() -> int:
    """Write the lock; return the exit status."""
    before = LOCK.read_text("utf-8") if LOCK.exists() else ""
    requirements = REQUIREMENTS.read_text("utf-8")
    try:
        after = signed(resolve(requirements, before), requirements)
    except UserError as error:
        print(f"attention book: {error} (requirements-lock.txt is as it was)", file=sys.stderr)
        return 1
    if after == before:
        print("requirements-lock.txt is as it was.")
    else:
        LOCK.write_text(after, "utf-8", newline="\n")
        print("requirements-lock.txt is written. Now install it: make env")
    return 0


def resolve(requirements: str, before: str, *options: str) -> str:
    """The packages for these requirements, at the versions of an earlier lock where they fit."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "lock.txt")
        lock.write_text(before, "utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", *OPTIONS, *options]
        done = subprocess.run(
            [*command, "--output-file", str(lock), "-"],
            cwd=ROOT,
            input=requirements,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        if done.returncode:
            raise UserError(why(done.stderr))
        return lock.read_text("utf-8")


def why(said: str) -> str:
    """In one line, why uv found no versions."""
    if re.search(r"error sending request|dns error|UserError to fetch|Connection refused", said):
        return (
            "uv reaches no package index: check the network connection, or name your own index in "
            "UV_DEFAULT_INDEX, then run it again"
        )
    lines = [line.strip() for line in said.splitlines() if "warning" not in line and line.strip()]
    return "no versions fit together: " + " ".join(lines)


def signed(packages: str, requirements: str) -> str:
    """The lock: a header, and the packages that go into it.

    The sum in the header shows an edit by hand, and a forgotten `make lock`.
    """
    blocks = re.split(r"^(?=\S)", packages, flags=re.M)
    packages = "".join(block for block in blocks if "==" in block and not APART.match(block))
    limits = (ROOT / "limits.txt").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [line.partition("#")[0].strip() for line in (requirements + limits).splitlines()]
    parts = [*filter(None, asked), *project["dependencies"], *OPTIONS, packages]
    return HEADER.format(hashlib.sha256("\n".join(parts).encode()).hexdigest()) + packages


def packages_of(lock: str) -> str:
    """The lock without its header."""
    return lock[len(HEADER.format("x" * 64)) :]


if __name__ == "__main__":
    sys.exit(main())
