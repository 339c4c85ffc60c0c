"""Write requirements-lock.txt: exact versions of all packages, with the hashes of their files.

    make lock                                 after a change to requirements.txt
    make upgrade                              raise all pins except PyTorch's; run the notebooks
    make upgrade PKG=numpy                    raise numpy, and what it requires
    .venv/bin/python -m tools.lock --check    part of `make check`

The pins to edit are in requirements.txt, and the upper limits are in limits.txt. Everything else
stays at the version it has in the lock, so that a second run changes nothing. One lock is valid for
every system and for Python 3.11 and newer. Binder's pins are copied from requirements.txt.

PyTorch and the packages that its builds require differ by system and are left out: PyTorch's only
pin is in requirements.txt, and tools/bootstrap.py installs it after the lock.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from manuscript.common import ROOT, UserError, run_tool

REQUIREMENTS = ROOT / "requirements.txt"
LOCK = ROOT / "requirements-lock.txt"
BINDER = ROOT / "binder" / "requirements.txt"
PIN = re.compile(r"^([\w.-]+)==([^\s;+]+)", re.M)
OPTIONS = [
    *("--universal", "--python-version", "3.11.0", "--fork-strategy", "fewest"),
    *("--generate-hashes", "--annotation-style", "line", "--no-header"),
]
LEFT_OUT = re.compile(r"(torch|triton|cuda-[\w-]+|nvidia-[\w-]+)==")
HEADER = """\
# Every package of the book's environment with the hashes of its files; PyTorch is apart, in
# requirements.txt. Written by `make lock`: do not edit it, change requirements.txt instead.
"""


def main() -> int:
    """Write the lock. With --upgrade, raise pins first; with --check, only check the lock."""
    action, package = [*sys.argv[1:], "", ""][:2]
    requirements, before = REQUIREMENTS.read_text("utf-8"), LOCK.read_text("utf-8")
    if action == "--check":
        missing = versions(requirements).items() - versions(before).items()
        same = {name for name, _ in missing} <= {"torch"}
        if not same or binder(requirements) != BINDER.read_text("utf-8"):
            raise UserError(f"{LOCK.name} or binder/ is out of date: run make lock")
        return 0
    old = versions(requirements + before)
    newest = before
    if action == "--upgrade":
        if package and package not in old:
            raise UserError(f"{package} is not among the packages in {LOCK.name}")
        requirements, newest = raised(requirements, before, package)
    blocks = re.split(r"^(?=\S)", resolve(requirements, newest), flags=re.M)
    lock = HEADER + "".join(b for b in blocks if "==" in b and not LEFT_OUT.match(b))
    LOCK.write_text(lock, "utf-8", newline="\n")
    REQUIREMENTS.write_text(requirements, "utf-8", newline="\n")
    BINDER.write_text(binder(requirements), "utf-8", newline="\n")
    new = versions(requirements + lock)
    for name in sorted(name for name in old | new if old.get(name) != new.get(name)):
        print(f"{name:24} {old.get(name, '-'):14} {new.get(name, '-')}")
    print(f"{LOCK.name} is {'unchanged' if lock == before else 'written'}.", flush=True)
    return 0


def versions(text: str) -> dict[str, str]:
    """The version of each package that is pinned."""
    return {name.lower(): version for name, version in PIN.findall(text)}


def raised(requirements: str, before: str, package: str) -> tuple[str, str]:
    """Raise all pins, or only one package's, and return the requirements with their lock."""
    fixed = {"torch"} - {package}
    at_least = PIN.sub(
        lambda pin: pin[0] if pin[1] in fixed else f"{pin[1]}>={pin[2]}", requirements
    )
    options = ["--upgrade-package", package] if package else ["--upgrade"]
    lock = resolve(at_least, before, *options)
    newest = dict(PIN.findall(lock))

    def newer(pin: re.Match[str]) -> str:
        """The pin with its new version; the comment stays in its column."""
        return f"{pin[1]}=={newest[pin[1].lower()]}".ljust(len(pin[0]))

    return re.sub(PIN.pattern + r"( (?= ))*", newer, requirements, flags=re.M), lock


def resolve(requirements: str, before: str, *options: str) -> str:
    """Resolve the requirements to packages, at the versions of an earlier lock if those fit."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "lock.txt")
        lock.write_text(before, "utf-8")
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", *OPTIONS, *options]
        done = subprocess.run(
            [*command, "--output-file", str(lock), "-"],
            cwd=ROOT,
            input=requirements,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            raise UserError(f"uv found no versions that fit together: {done.stderr.strip()}")
        return lock.read_text("utf-8")


def binder(requirements: str) -> str:
    """Binder's requirements, with the versions in `requirements`."""
    pins = dict(PIN.findall(requirements))
    return PIN.sub(lambda pin: f"{pin[1]}=={pins.get(pin[1], pin[2])}", BINDER.read_text("utf-8"))


if __name__ == "__main__":
    run_tool(main)
