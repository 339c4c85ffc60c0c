"""Raise the versions the book is pinned to, run the notebooks again, and show what changed.

    make upgrade             every package but PyTorch
    make upgrade PKG=numpy   one, and what has to move with it

Upper limits are in limits.txt. Written are requirements.txt, its lock and Binder's pins; then the
environment is made anew. Nothing in book/ is written: the notebooks run as they are there, and
their outputs are compared as `make nbval` does it.
"""

import copy
import re
import subprocess
import sys
import textwrap

from tools import lock
from tools.common import ROOT, UserError, run_tool
from tools.lock import PIN

WHAT_NEXT = """
To keep the new versions: make run, read what moved, make test, and commit.
To go back: git checkout requirements.txt requirements-lock.txt binder, then make env.
"""


def main() -> int:
    """Raise the pins and show what changed; return the exit status."""
    package, old = "".join(sys.argv[1:]), pins()
    if package and package not in old:
        raise UserError(f"{package} is not among the packages in {lock.LOCK.name}")
    files = map(str, (lock.REQUIREMENTS, lock.LOCK, lock.BINDER))
    diff = ["git", "diff", "--quiet", "HEAD", *files]
    if subprocess.run(diff, cwd=ROOT, capture_output=True).returncode:
        raise UserError("commit requirements.txt, its lock and binder/ first, so you can go back")
    raise_pins(package)
    new = pins()
    if new == old:
        print(f"{package or 'Everything'} is as new as limits.txt and the other pins allow.")
        return 0
    for name in sorted(name for name in old | new if old.get(name) != new.get(name)):
        print(f"{name:24} {old.get(name, '-'):14} {new.get(name, '-')}")
    print(WHAT_NEXT, flush=True)
    if subprocess.call([sys.executable, ROOT / "tools" / "bootstrap.py"]):
        return 1
    show_outputs()
    return 0


def pins() -> dict[str, str]:
    """The version of each package in the lock, and of PyTorch."""
    text = lock.LOCK.read_text("utf-8") + lock.REQUIREMENTS.read_text("utf-8")
    return {name.lower(): version for name, version in PIN.findall(text)}


def raise_pins(package: str) -> None:
    """Write the files with the newest versions, of all packages or of one."""
    text, before = lock.REQUIREMENTS.read_text("utf-8"), lock.LOCK.read_text("utf-8")
    fixed = {"torch"} - {package}
    at_least = PIN.sub(lambda pin: pin[0] if pin[1] in fixed else f"{pin[1]}>={pin[2]}", text)
    options = ["--upgrade-package", package] if package else ["--upgrade"]
    resolved = lock.resolve(at_least, before, *options)
    newest = dict(PIN.findall(resolved))

    def newer(pin: re.Match[str]) -> str:
        """The pin with its new version, and as many spaces less before the comment."""
        return f"{pin[1]}=={newest[pin[1].lower()]}".ljust(len(pin[0]))

    text = re.sub(PIN.pattern + r"( (?= ))*", newer, text, flags=re.M)
    lock.write(text, resolved)
    lock.REQUIREMENTS.write_text(text, "utf-8", newline="\n")


def show_outputs() -> None:
    """Run each notebook in memory and show which cells give other outputs than in its file."""
    from tools import run as runner  # only now: what it imports has just been replaced

    for path in sorted((ROOT / "book").glob("*.ipynb")):
        stored = runner.read(path)
        try:
            now = runner.run(path, copy.deepcopy(stored), next(iter(runner.settings().values())))
        except UserError as error:
            print(f"{path.name}: {error}", flush=True)
            continue
        changes = list(runner.differences(stored, now, "before", "now"))
        print(f"{path.name}: {len(changes) or 'no'} cells changed", flush=True)
        for cell, shown in changes:
            print(textwrap.indent(f"{cell}\n{shown}", "  "), flush=True)


if __name__ == "__main__":
    run_tool(main)
