"""Create the book's environment in .venv, unless it is up to date. `make` calls this first.

The environment is created from scratch if it is missing, or if something that it depends on has
changed: the pins, the package, or the folder of the checkout. With pip's cache, this takes about
two minutes. A failure ends with a one-line message, which says what to do if the cause is known.
On Windows, without make, run:

    py tools\\bootstrap.py

`make PYTHON=...` adds --this-python: an environment made with another Python version is replaced.
Every package is checked against the hash in its lock. ATTNBOOK_TORCH selects a PyTorch other than
the pinned one, which no lock knows: a version number, "oldest" (the oldest that pyproject.toml
allows), "newest" or "nightly".

Even Python 3.8 must be able to parse this file, so that it can report that a Python is too old.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

OLDEST, NEWEST = (3, 11), (3, 14)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
NIGHTLY_INDEX = "https://download.pytorch.org/whl/nightly/cpu"
GIGABYTES = {"cpu": 3, "gpu": 9}  # free space for the environment and pip's temporary files

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK, TORCH, CPU = (f"requirements-{part}.txt" for part in ("lock", "torch", "cpu"))

# Messages from pip or the system when something fails, and what they mean for the reader.
ERRORS = {
    r"No space left on device|Errno 28|not enough space on the disk|Disk quota exceeded": (
        "the disk, or the folder for temporary files (TMPDIR), is full: free some space, try again"
    ),
    r"NewConnectionError|NameResolutionError|Failed to establish|Could not fetch URL|"
    r"Connection refused|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Connection broken|"
    r"IncompleteRead|Network is unreachable": (
        "pip can't reach a package index: check the network connection and try again"
    ),
    r"No matching distribution found|ResolutionImpossible": (
        "a pinned package, or the PyTorch that ATTNBOOK_TORCH names, has no build for this machine "
        "and this Python, or your index lacks it; see 'Dependencies' in CONTRIBUTING.md"
    ),
    r"DO NOT MATCH THE HASHES": (
        "the package index served a file whose hash is not the locked one, and it was not "
        "installed: try another network, or report it as a mistake in the book"
    ),
}


def main() -> int:
    """Create the environment unless it is up to date; return the exit status."""
    this_python = "--this-python" in sys.argv
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return run_with_other_python(this_python)
    version, key = "{}.{}".format(*sys.version_info), cache_key()
    stamp = VENV / "attention-book.txt"
    if stamp.exists() and VENV_PYTHON.exists():
        made_with, _, made_for = stamp.read_text("utf-8").partition(" ")
        if made_for == key and (made_with == version or not this_python):
            return 0
    if not os.access(ROOT, os.W_OK):
        fail(
            f"{ROOT} has no up-to-date environment, and you can't write there: ask whoever "
            "installed the book to run make env"
        )
    if VENV.is_symlink():
        fail(f"{VENV} leads to an environment that is not this checkout's own; remove the link")
    check_machine(version)
    print("Making the environment in .venv, which takes a few minutes.", flush=True)
    stamp.unlink(missing_ok=True)
    run(sys.executable, "-m", "venv", "--clear", VENV)
    install()
    stamp.write_text(f"{version} {key}", "utf-8")
    return 0


def fail(reason: str) -> NoReturn:
    """Exit with a one-line message."""
    sys.exit(f"attention book: {reason}")


def run_with_other_python(this_python: bool) -> int:
    """Rerun this file with a supported Python on the PATH, unless this Python was asked for."""
    for name in () if this_python else ("python3.13", "python3.12", "python3.11", "python3.14"):
        python = shutil.which(name)
        if python and not subprocess.call([python, "-c", ""], stderr=subprocess.DEVNULL):
            return subprocess.call([python, os.path.abspath(__file__)])
    fail(
        "this needs Python {}.{} to {}.{}, and {} is {}; install one, or name one: make "
        "PYTHON=/path/to/python3.12, on Windows py -3.12 tools\\bootstrap.py".format(
            *OLDEST + NEWEST, sys.executable, platform.python_version()
        )
    )


def cache_key() -> str:
    """A hash of everything that the environment depends on, except the version of Python."""
    package = read("pyproject.toml").partition("[tool.ruff]")[0]
    locks = map(read, (LOCK, TORCH, CPU))
    parts = [str(ROOT), package, *locks, torch_build(), *torch_arguments()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def read(name: str) -> str:
    """The text of a file in the root of the repository."""
    return (ROOT / name).read_text("utf-8")


def torch_build() -> str:
    """The PyTorch build to install: "gpu" on Linux with an NVIDIA driver, otherwise "cpu"."""
    return "gpu" if sys.platform == "linux" and shutil.which("nvidia-smi") else "cpu"


def torch_arguments() -> list[str]:
    """pip's arguments for the PyTorch that ATTNBOOK_TORCH names; none for the locked one."""
    version = os.environ.get("ATTNBOOK_TORCH")
    if not version:
        return []
    if version == "nightly":
        return ["--pre", "--index-url", NIGHTLY_INDEX, "torch"]
    if version == "newest":
        return ["torch"]
    if version == "oldest":
        version = re.findall(r'"torch>=([\w.]+)', read("pyproject.toml"))[0]
    elif not re.fullmatch(r"\d[\w.+]*", version):
        fail(f"ATTNBOOK_TORCH={version}: not a version like 2.6.0, oldest, newest or nightly")
    return [f"torch=={version}"]


def check_machine(version: str) -> None:
    """Fail now, not after long downloads, if the environment cannot be created here."""
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        fail(
            "PyTorch no longer has builds for Macs with Intel processors, or for a Python made "
            "for them; on Apple silicon, install a Python for arm64"
        )
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        fail(
            f"Python {version} comes without venv here; on Debian or Ubuntu run "
            f"'sudo apt install python{version}-venv' and try again"
        )
    needed, free = GIGABYTES[torch_build()], shutil.disk_usage(ROOT).free / 1e9
    if free < needed and not VENV.exists():
        fail(
            f"the environment needs {needed} GB of disk and only {free:.1f} GB are free: free some "
            "space and try again"
        )


def install() -> None:
    """Install the locked packages, PyTorch and the book's own package.

    Only a PyTorch that ATTNBOOK_TORCH names may replace some of the locked packages.
    """
    pip = [str(VENV_PYTHON), *"-m pip install --disable-pip-version-check --retries 2".split()]
    if not sys.stdout.isatty():
        pip.append("--quiet")
    print(f"1 of 3: the packages in {LOCK}", flush=True)
    run(*pip, *locked(LOCK))
    print("2 of 3: PyTorch, the largest package", flush=True)
    other, small = torch_arguments(), False
    if sys.platform == "linux" and torch_build() == "cpu" and len(other) < 2:
        # This build is gigabytes smaller than PyPI's, which remains the fallback.
        index = ["--index-url", CPU_INDEX, "--no-deps", "--retries", "0", "--timeout", "10"]
        command = [*pip, *index, *(other or locked(CPU))]
        small = "==" in read(CPU) and not subprocess.call(command, stderr=subprocess.DEVNULL)
        if not small:
            print("PyTorch's index of CPU builds does not answer; trying the standard build.")
    if other or not small:
        run(*pip, *(other or locked(TORCH)))
    print("3 of 3: the book's own package", flush=True)
    run(*pip, "--no-deps", "--no-build-isolation", "-e", ROOT)


def locked(name: str) -> list[str]:
    """pip's arguments for all packages of a lock, with nothing that is not in it."""
    # The locks are complete. If pip 23 looked for dependencies, it would demand newer versions.
    return ["--only-binary", ":all:", "--require-hashes", "--no-deps", "-r", str(ROOT / name)]


def run(*command: str | Path) -> None:
    """Run a command; if it fails, exit with a one-line message that says why."""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        fail(explain(done.stderr) or f"{' '.join(map(str, command[1:4]))} failed ({last})")


def explain(output: str) -> str | None:
    """What an error message means for the reader, or None if the message is unknown."""
    return next((line for pattern, line in ERRORS.items() if re.search(pattern, output)), None)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        fail("interrupted; run the same command to start again")
    except OSError as error:
        fail(explain(str(error)) or str(error))
