"""Write the locks: exact versions of all packages, with the hashes of their files.

    make lock                                 after a change to requirements.txt
    make upgrade                              raise all pins except PyTorch's; run the notebooks
    make upgrade PKG=numpy                    raise numpy, and what it requires
    .venv/bin/python -m tools.lock --check    part of `make check`

The pins to edit are in requirements.txt, and the upper limits are in limits.txt. Everything else
stays at the version it has in its lock, so that a second run changes nothing. The locks are valid
for every system and for Python 3.11 and newer. Binder's pins are copied from requirements.txt.

PyTorch has locks of its own: requirements-torch.txt is PyPI's build with all that only this build
requires, and requirements-cpu.txt the smaller build for Linux without a GPU. If PyTorch's index
does not answer, the latter stays empty, and tools/bootstrap.py installs the former everywhere.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from manuscript.common import ROOT, UserError, run_tool
from tools.bootstrap import CPU, CPU_INDEX, LOCK, TORCH

REQUIREMENTS, BINDER = "requirements.txt", "binder/requirements.txt"
AUDIT = "requirements-audit.txt"  # the tool that looks for known vulnerabilities every week
PIN = re.compile(r"^([\w.-]+)==([^\s;+]+)", re.M)
OPTIONS = [
    *("--universal", "--python-version", "3.11.0", "--fork-strategy", "fewest"),
    *("--generate-hashes", "--annotation-style", "line", "--no-header"),
]
WITH_TORCH = re.compile(r"(torch|triton|cuda-[\w-]+|nvidia-[\w-]+)==")
HEADER = "# Written by `make lock`: do not edit this.\n"


def main() -> int:
    """Write the locks. With --upgrade, raise pins first; with --check, only check them."""
    action, package = [*sys.argv[1:], "", ""][:2]
    names = (REQUIREMENTS, LOCK, TORCH, CPU, AUDIT, BINDER)
    before = {name: (ROOT / name).read_text("utf-8") for name in names}
    requirements, lock = before[REQUIREMENTS], before[LOCK] + before[TORCH]
    if action == "--check":
        pins = versions(requirements).items()
        same = versions(before[CPU]).items() <= pins <= versions(lock).items()
        if not same or binder(requirements, before[BINDER]) != before[BINDER]:
            raise UserError(f"{LOCK} or binder/ is out of date: run make lock")
        return 0
    old, options = versions(requirements + lock), []
    if action == "--upgrade":
        if package and package not in old:
            raise UserError(f"{package} is not among the packages in {LOCK}")
        options = ["--upgrade-package", package] if package else ["--upgrade"]
        requirements, lock = raised(requirements, lock, package, options)
    lock = resolve(requirements, lock)
    blocks = [block for block in re.split(r"^(?=\S)", lock, flags=re.M) if "==" in block]
    after = {
        REQUIREMENTS: requirements,
        LOCK: HEADER + "".join(block for block in blocks if not WITH_TORCH.match(block)),
        TORCH: HEADER + "".join(block for block in blocks if WITH_TORCH.match(block)),
        CPU: cpu_build(versions(requirements)["torch"], before[CPU]),
        AUDIT: HEADER + resolve("pip-audit", before[AUDIT], *options),
        BINDER: binder(requirements, before[BINDER]),
    }
    for name, text in after.items():
        (ROOT / name).write_text(text, "utf-8", newline="\n")
    new = versions(requirements + lock)
    for name in sorted(name for name in old | new if old.get(name) != new.get(name)):
        print(f"{name:24} {old.get(name, '-'):14} {new.get(name, '-')}")
    changed = [name for name in after if after[name] != before[name]]
    print(f"written: {', '.join(changed) or 'nothing new'}", flush=True)
    return 0


def versions(text: str) -> dict[str, str]:
    """The version of each package that is pinned."""
    return {name.lower(): version for name, version in PIN.findall(text)}


def raised(requirements: str, lock: str, package: str, options: list[str]) -> tuple[str, str]:
    """Raise all pins, or only one package's, and return the requirements with their lock."""
    fixed = {"torch"} - {package}
    at_least = PIN.sub(
        lambda pin: pin[0] if pin[1] in fixed else f"{pin[1]}>={pin[2]}", requirements
    )
    lock = resolve(at_least, lock, *options)
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


def cpu_build(version: str, before: str) -> str:
    """The lock of PyTorch's CPU build: as before, unless its version has changed."""
    pin = f"torch=={version}+cpu"
    if f"{pin} " in before:
        return before
    try:
        return HEADER + resolve(pin, "", "--no-deps", "--default-index", CPU_INDEX)
    except UserError as error:
        print(f"{CPU} is empty until `make lock` reaches PyTorch's index: {error}")
        return HEADER


def binder(requirements: str, before: str) -> str:
    """Binder's requirements, with the versions in `requirements`."""
    pins = dict(PIN.findall(requirements))
    return PIN.sub(lambda pin: f"{pin[1]}=={pins.get(pin[1], pin[2])}", before)


if __name__ == "__main__":
    run_tool(main)
