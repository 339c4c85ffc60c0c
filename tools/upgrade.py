"""Raise the versions the book is pinned to, run the notebooks again, and show what changed.

    make upgrade             every package but PyTorch
    make upgrade PKG=numpy   one, and what has to move with it

What nothing may be raised to stands in limits.txt. Written are requirements.txt, its lock, and the
same pins for Binder; then the environment is brought up to date. Nothing in book/ is written: the
notebooks run as they stand there, and their outputs are compared as `make nbval` does it. If no
versions fit, or they cannot be installed, the files are put back.
"""

import argparse
import copy
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from tools import lock
from tools.common import ROOT, UserError
from tools.lock import LOCK, REQUIREMENTS

BINDER = ROOT / "binder" / "requirements.txt"
FILES = (REQUIREMENTS, LOCK, BINDER)
RESULTS = ROOT / "_build" / "upgrade"
PIN = re.compile(r"^([\w.-]+)==([^\s;+]+)(\+\w+)?( *)", re.M)


def main(arguments: list[str] | None = None) -> int:
    """Raise the pins and show what changed; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", nargs="?", help="default: every package but PyTorch")
    package = parser.parse_args(arguments).package
    before = {path: path.read_bytes() for path in FILES}
    installing = False
    try:
        refuse_uncommitted()
        old = pins()
        raise_pins(package)
        new = pins()
        if new == old:
            print(f"{package or 'Everything'} is as new as limits.txt and the other pins allow.")
            return 0
        print(table(old, new), flush=True)
        installing = True
        make_environment()
    except (UserError, OSError, KeyboardInterrupt) as error:
        for path, content in before.items():
            path.write_bytes(content)
        reason = str(error) or "interrupted"
        after = "; make env brings the environment back" if installing else ""
        print(f"attention book: {reason} (no version is raised{after})", file=sys.stderr)
        return 1
    try:
        show_outputs(sorted((ROOT / "book").glob("*.ipynb")))
    except KeyboardInterrupt:
        print("interrupted: the other notebooks were not run")
    print(
        "\nTo keep the new versions: make run, read what moved, make test, and commit."
        "\nTo go back: git checkout requirements.txt requirements-lock.txt binder, then make env."
    )
    return 0


def refuse_uncommitted() -> None:
    """Raise `UserError` if git could not bring the files back as they are."""
    done = subprocess.run(
        ["git", "status", "--porcelain", "--", *FILES],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise UserError("this is no git checkout, so nothing would remember the old versions")
    if done.stdout:
        changed = ", ".join(done.stdout.split()[1::2])
        raise UserError(f"commit {changed} first, so that you can go back")


def pins() -> dict[str, str]:
    """The version of each package in the lock, and of PyTorch."""
    return {**pins_in(LOCK.read_text("utf-8")), "torch": asked_for()["torch"]}


def asked_for() -> dict[str, str]:
    """The pins of requirements.txt."""
    return pins_in(REQUIREMENTS.read_text("utf-8"))


def pins_in(text: str) -> dict[str, str]:
    """The version of each package that a text pins."""
    return {name.lower(): version for name, version, *_ in PIN.findall(text)}


def raise_pins(package: str | None) -> None:
    """Write the files with the newest versions, of all packages or of one."""
    if package and package.lower() not in pins():
        raise UserError(f"{package} is not among the packages in {LOCK.name}")
    text = REQUIREMENTS.read_text("utf-8")
    fixed = {"torch"} - {package}
    open_text = PIN.sub(lambda pin: pin[0] if pin[1] in fixed else f"{pin[1]}>={pin[2]} ", text)
    options = ["--upgrade-package", package] if package else ["--upgrade"]
    found = lock.resolve(open_text, LOCK.read_text("utf-8"), *options)
    newest = pins_in(found)
    for name in asked_for():
        if len(re.findall(rf"^{re.escape(name)}==", found, re.M)) > 1:
            raise UserError(f"{name} would need two versions for two Pythons: add it to limits.txt")

    def newer(pin: re.Match[str]) -> str:
        raised = f"{pin[1]}=={newest[pin[1].lower()]}{pin[3] or ''}"
        return f"{raised} ".ljust(len(pin[0])) if pin[4] else raised

    text = PIN.sub(newer, text)
    binder = PIN.sub(newer, BINDER.read_text("utf-8"))
    packages = lock.signed(lock.resolve(text, found), text)
    for path, content in zip(FILES, (text, packages, binder), strict=True):
        path.write_text(content, "utf-8", newline="\n")


def table(old: dict[str, str], new: dict[str, str]) -> str:
    """What changed, a line for each package."""
    names = sorted(name for name in old | new if old.get(name) != new.get(name))
    rows = [(name, old.get(name, "-"), new.get(name, "-")) for name in names]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    lines = [
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def make_environment() -> None:
    """Install what the files say now."""
    if subprocess.run([sys.executable, ROOT / "tools" / "bootstrap.py"]).returncode:
        raise UserError("the new versions were not installed")


def show_outputs(notebooks: list[Path]) -> None:
    """Run each notebook in memory and show which cells give other outputs than in its file."""
    from tools import run as runner  # only now: what it imports has just been replaced

    RESULTS.mkdir(parents=True, exist_ok=True)
    for path in notebooks:
        stored = runner.read(path)
        try:
            now = runner.run(path, copy.deepcopy(stored), runner.settings()[0])
        except UserError as error:
            print(f"\n{path.name}: {error}", flush=True)
            continue
        (RESULTS / path.name).write_text(runner.text_of(now), "utf-8", newline="\n")
        changes = list(runner.differences(stored, now, "before", "now"))
        cells = (
            f"{len(changes)} cell{'s' * (len(changes) != 1)} changed" if changes else "as before"
        )
        print(f"\n{path.name}: {cells}", flush=True)
        for cell, shown in changes:
            print(textwrap.indent(f"{cell}\n{shown}", "  "), flush=True)


if __name__ == "__main__":
    sys.exit(main())
