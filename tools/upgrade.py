"""Raise the versions the book is pinned to, run the notebooks again, and show what changed.

    make upgrade             every package but PyTorch
    make upgrade PKG=numpy   one, and what has to move with it

Upper limits are in limits.txt. Written are requirements.txt, its lock and Binder's pins; then the
environment is made anew. If that fails, git brings the files back. Nothing in book/ is written:
the notebooks run as they are there, and their outputs are compared as `make nbval` does it.
"""

import argparse
import copy
import re
import subprocess
import sys
import textwrap

from tools import lock
from tools.common import ROOT, UserError, run_tool
from tools.lock import PIN

RESULTS = ROOT / "_build" / "upgrade"


def main() -> int:
    """Raise the pins and show what changed; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", nargs="?", help="default: every package but PyTorch")
    package = parser.parse_args().package
    if git("status", "--porcelain"):
        raise UserError("commit requirements.txt, its lock and binder/ first, so you can go back")
    old = pins()
    raise_pins(package)
    new = pins()
    if new == old:
        print(f"{package or 'Everything'} is as new as limits.txt and the other pins allow.")
        return 0
    for name in sorted(name for name in old | new if old.get(name) != new.get(name)):
        print(f"{name:24} {old.get(name, '-'):14} {new.get(name, '-')}", flush=True)
    make_environment()
    try:
        show_outputs()
    except KeyboardInterrupt:
        print("interrupted: the other notebooks were not run")
    print(
        "\nTo keep the new versions: make run, read what moved, make test, and commit."
        "\nTo go back: git checkout requirements.txt requirements-lock.txt binder, then make env."
    )
    return 0


def git(*command: str) -> str:
    """What a git command says about the files that an upgrade writes."""
    files = map(str, (lock.REQUIREMENTS, lock.LOCK, lock.BINDER))
    done = subprocess.run(
        ["git", *command, "--", *files], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        raise UserError("this is no git checkout, so nothing would remember the old versions")
    return done.stdout


def pins() -> dict[str, str]:
    """The version of each package in the lock, and of PyTorch."""
    text = lock.LOCK.read_text("utf-8") + lock.REQUIREMENTS.read_text("utf-8")
    return {name.lower(): version for name, version in PIN.findall(text)}


def raise_pins(package: str | None) -> None:
    """Write the files with the newest versions, of all packages or of one."""
    if package and package not in pins():
        raise UserError(f"{package} is not among the packages in {lock.LOCK.name}")
    text, before = lock.REQUIREMENTS.read_text("utf-8"), lock.LOCK.read_text("utf-8")
    fixed = {"torch"} - {package}
    at_least = PIN.sub(lambda pin: pin[0] if pin[1] in fixed else f"{pin[1]}>={pin[2]}", text)
    options = ["--upgrade-package", package] if package else ["--upgrade"]
    resolved = lock.resolve(at_least, before, *options)
    newest = PIN.findall(resolved)
    for name, _ in PIN.findall(text):
        if [other for other, _ in newest].count(name) > 1:
            raise UserError(f"{name} would need two versions for two Pythons: add it to limits.txt")

    def newer(pin: re.Match[str]) -> str:
        """The pin with its new version, and as many spaces less before the comment."""
        return f"{pin[1]}=={dict(newest)[pin[1].lower()]}".ljust(len(pin[0]))

    text = re.sub(PIN.pattern + r"( (?= ))*", newer, text, flags=re.M)
    lock.write(text, resolved)
    lock.REQUIREMENTS.write_text(text, "utf-8", newline="\n")


def make_environment() -> None:
    """Install the new versions; if that fails take them back."""
    try:
        subprocess.run([sys.executable, ROOT / "tools" / "bootstrap.py"], check=True)
    except (subprocess.CalledProcessError, KeyboardInterrupt):
        git("checkout")
        raise UserError("no version is raised; make env brings the environment back") from None


def show_outputs() -> None:
    """Run each notebook in memory and show which cells give other outputs than in its file."""
    from tools import run as runner  # only now: what it imports has just been replaced

    RESULTS.mkdir(parents=True, exist_ok=True)
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        stored = runner.read(path)
        try:
            now = runner.run(path, copy.deepcopy(stored), next(iter(runner.settings().values())))
        except UserError as error:
            print(f"\n{path.name}: {error}", flush=True)
            continue
        (RESULTS / path.name).write_text(runner.text_of(now), "utf-8", newline="\n")
        changes = list(runner.differences(stored, now, "before", "now"))
        print(f"\n{path.name}: {len(changes) or 'no'} cells changed", flush=True)
        for cell, shown in changes:
            print(textwrap.indent(f"{cell}\n{shown}", "  "), flush=True)


if __name__ == "__main__":
    run_tool(main)
