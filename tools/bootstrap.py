"""Make the environment of the book in .venv, or bring it up to date. `make` calls this first.

Nothing happens when requirements.txt, requirements-lock.txt and the package are as they were.
Whatever goes wrong ends in one line that says what to do, and a second try goes on where this one
stopped. On Windows, without make:  py tools\\bootstrap.py

`--this-python`, which `make PYTHON=...` adds, makes it anew if it has another Python than this one.

ATTNBOOK_TORCH names another PyTorch than the pinned one: a version, "oldest" (that pyproject.toml
allows), "newest" or "nightly". Without it the next call brings the pinned environment back.

This file must run on any old Python, Python 2 too, at least as far as the line which says that
it is too old: no annotations, no f-strings.
"""

from __future__ import print_function

import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 14)
GOOD = ("python3.13", "python3.12", "python3.11", "python3.14")
CPU_TORCH = "https://download.pytorch.org/whl/cpu"
NIGHTLY_TORCH = "https://download.pytorch.org/whl/nightly/cpu"
LOCK = "requirements-lock.txt"
GIGABYTES = {"cpu": 3.0, "gpu": 9.0}  # free space for the environment and pip's temporary files
FULL = 0.1  # with fewer gigabytes free, that is why something failed

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AGAIN = "then run the same command again"

# Forgets the packages with a missing file, or without the list of their files: they were cut off
# while being installed, and pip takes them for complete.
FORGET = """
import csv, pathlib, shutil, sysconfig
site = pathlib.Path(sysconfig.get_path("purelib"))
for info in site.glob("*.dist-info"):
    record = info / "RECORD"
    lines = record.read_text("utf-8").splitlines() if record.exists() else []
    files = [site / row[0] for row in csv.reader(lines) if row]
    if not files or not all(file.exists() for file in files if file.suffix != ".pyc"):
        shutil.rmtree(info)
"""

# Names PyTorch and what its builds bring, if it is not the version that is wanted, or a build for
# the CPU where one for a GPU is wanted. Builds for two versions of CUDA share files: where both
# were once, each has lost some to the other.
OTHER_TORCH = """
import importlib.metadata, re, sys
family = {d.name: d.version for d in importlib.metadata.distributions()
          if re.match("(torch|triton|(cuda|nvidia)[-_].+)$", d.name)}
version, _, build = family.get("torch", "").partition("+")
if version != sys.argv[1] or build == "cpu" and sys.argv[2] == "gpu":
    print(*family)
"""

# What a program says that fails, and what it means.
DISK = "the disk is full, or the folder for temporary files (TMPDIR): free some space, " + AGAIN
TROUBLES = (
    (r"No space left on device|Errno 28|not enough space on the disk", DISK),
    (
        r"NewConnectionError|NameResolutionError|Failed to establish|"
        r"Could not fetch URL|Connection refused|ConnectTimeout|ReadTimeout|ProxyError|SSLError|"
        r"Connection broken|IncompleteRead|Network is unreachable",
        "pip reaches no package index: check the network connection, " + AGAIN,
    ),
    (
        r"No matching distribution found|ResolutionImpossible",
        "a pinned package, or the PyTorch that ATTNBOOK_TORCH names, has no build for this machine "
        "and Python {0}, or your index lacks it; see 'Dependencies' in CONTRIBUTING.md".format(
            platform.python_version()
        ),
    ),
    (
        r"DO NOT MATCH THE HASHES",
        "the package index served a file that is not the one in requirements-lock.txt, and it was "
        "not installed: try another network, or report it as a mistake in the book",
    ),
)


class Trouble(Exception):
    """Something the reader has to mend, said in one line."""


def main():
    """Make .venv fit, or say in one line why not; return the exit status."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return other_python()
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        return stop(
            "PyTorch has no builds for Macs with Intel processors any more, nor for a "
            "Python made for them; on Apple silicon install a Python for arm64"
        )
    try:
        make_environment(os.path.join(ROOT, ".venv"))
    except Trouble as trouble:
        return stop(str(trouble))
    except KeyboardInterrupt:
        return stop("interrupted; run the same command again to go on", status=130)
    except (OSError, subprocess.CalledProcessError) as error:
        return stop(meaning(str(error)) or str(error))
    return 0


def stop(line, status=1):
    """Print the one line and return the exit status."""
    print("attention book: " + line, file=sys.stderr)
    return status


def say(line):
    """Print a line now, before what the next program prints."""
    print(line)
    sys.stdout.flush()


def other_python():
    """Hand over to a Python on the PATH that fits, or say that there is none."""
    for name in GOOD:
        path = find_program(name)
        if path and starts(path):
            return subprocess.call([path, os.path.abspath(__file__)])
    return stop(
        "this needs Python {0}.{1} to {2}.{3}, and {4} is {5}; install one, "
        "or name one: make PYTHON=/path/to/python3.12".format(
            *(OLDEST + NEWEST + (sys.executable or "python", platform.python_version()))
        )
    )


def find_program(name):
    """The path of a program; Python 2 has no shutil.which."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def starts(python, code=""):
    """Whether a Python is there, starts, and ends without complaint."""
    try:
        with open(os.devnull, "w") as nowhere:
            return not subprocess.call([python, "-c", code], stderr=nowhere)
    except OSError:
        return False


def make_environment(folder):
    """Create the environment where it is missing or unusable, and install what changed."""
    wanted = fingerprint()
    stamp = os.path.join(folder, "attention-book.txt")
    python = os.path.join(
        folder, *(["Scripts", "python.exe"] if os.name == "nt" else ["bin", "python"])
    )
    named = "--this-python" in sys.argv
    oldest, newest = (sys.version_info[:2],) * 2 if named else (OLDEST, NEWEST)
    fits = "import pip, sys; sys.exit(not {0} <= sys.version_info[:2] <= {1})".format(
        tuple(oldest), tuple(newest)
    )
    if read(stamp) == wanted and (not named or starts(python, fits)):
        return
    if os.path.exists(stamp):
        os.remove(stamp)  # from here to the end the environment is neither the old nor the new one
    if starts(python, fits):
        say("Bringing the environment in .venv up to date.")
    else:
        say("Making the environment in .venv. This is done once and takes some minutes.")
        check_space()
        create(folder)
    install(python)
    with open(stamp, "w") as file:
        file.write(wanted)


def fingerprint():
    """What it hangs on: the pins, PyTorch and its build, the package, the checkout's place."""
    package = read(os.path.join(ROOT, "pyproject.toml")).partition("[tool.ruff]")[0]
    pins = [read(os.path.join(ROOT, name)) for name in ("requirements.txt", LOCK)]
    whole = "\n".join([ROOT, package, other_torch(), torch_build()] + pins)
    return hashlib.sha256(whole.encode("utf-8")).hexdigest()


def other_torch():
    """The PyTorch to install instead of the pinned one, or nothing."""
    name = os.environ.get("ATTNBOOK_TORCH", "")
    if name and not re.match(r"(\d[\w.+]*|oldest|newest|nightly)$", name):
        raise Trouble(
            "ATTNBOOK_TORCH is a version such as 2.6.0, oldest, newest or nightly, not " + name
        )
    if name == "oldest":
        return re.search(r'"torch>=([\w.]+)', read(os.path.join(ROOT, "pyproject.toml"))).group(1)
    return name


def read(path):
    """The text of a file, or nothing if there is none."""
    try:
        with io.open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def check_space():
    """Say at once that the disk is too full, not after an hour of download."""
    need = GIGABYTES[torch_build()]
    free = free_gigabytes()
    if free < need:
        raise Trouble(
            "the environment needs {0} GB of disk and only {1:.1f} GB are free: "
            "free some space, {2}".format(need, free, AGAIN)
        )


def create(folder):
    """Create an empty environment with pip in it."""
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        version = "{0}.{1}".format(*sys.version_info[:2])
        raise Trouble(
            "Python {0} comes without venv here; on Debian or Ubuntu run "
            "'sudo apt install python{0}-venv', {1}".format(version, AGAIN)
        )
    run([sys.executable, "-m", "venv", "--clear", folder])


def wants_cpu_torch():
    """Whether PyTorch's smaller build without CUDA will do: on Linux without an NVIDIA driver."""
    return sys.platform == "linux" and not find_program("nvidia-smi")


def torch_build():
    """The kind of build that is wanted: for a GPU where there is the driver of one."""
    return "cpu" if sys.platform != "linux" or wants_cpu_torch() else "gpu"


def install(python):
    """Install the lock, PyTorch and the package, and again what an earlier try left incomplete.

    The lock comes first: PyTorch finds what it needs there, in the locked version, and only a
    PyTorch named by ATTNBOOK_TORCH may replace some of it.
    """
    note_disagreement()
    run([python, "-c", FORGET])
    remove_other_torch(python)
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    if not sys.stdout.isatty():
        pip.append("--quiet")
    once = pip + ["--retries", "2"]
    run(once + ["--only-binary", ":all:", "--require-hashes", "-r", LOCK], cwd=ROOT)
    install_torch(pip, once, wanted_torch())
    run(once + ["--no-deps", "--no-build-isolation", "-e", "."], cwd=ROOT)


def note_disagreement():
    """Say which pin of requirements.txt was changed without `make lock`; the lock is installed."""
    lock = read(os.path.join(ROOT, LOCK))
    for pin in re.findall(r"^[\w.-]+==[^\s;]+", read(os.path.join(ROOT, "requirements.txt")), re.M):
        if not pin.startswith("torch==") and "\n{0} ".format(pin.lower()) not in "\n" + lock:
            say("{0} is not in {1}: run 'make lock'.".format(pin, LOCK))


def wanted_torch():
    """The version of PyTorch that is pinned, or what ATTNBOOK_TORCH says instead."""
    pin = re.search(r"^torch==(\S+)", read(os.path.join(ROOT, "requirements.txt")), re.M)
    return other_torch() or pin.group(1)


def remove_other_torch(python):
    """Remove another PyTorch than the wanted one, with what it brought."""
    command = [python, "-c", OTHER_TORCH, wanted_torch(), torch_build()]
    family = subprocess.check_output(command, universal_newlines=True).split()
    if family:
        run([python, "-m", "pip", "uninstall", "--quiet", "--yes"] + family)


def install_torch(pip, once, wanted):
    """Install PyTorch: the build without CUDA if it will do."""
    if wanted == "nightly":
        return run(once + ["--pre", "--index-url", NIGHTLY_TORCH, "torch"], cwd=ROOT)
    torch = "torch" if wanted == "newest" else "torch==" + wanted
    if wants_cpu_torch():
        index = ["--index-url", CPU_TORCH, "--no-deps", "--retries", "0", "--timeout", "10"]
        if subprocess.call(pip + index + [torch], stderr=subprocess.DEVNULL):
            say("PyTorch's index of CPU builds does not answer; the standard build will do.")
    run(once + [torch], cwd=ROOT)


def run(command, cwd=None):
    """Run a command; if it fails raise `Trouble` with the meaning of what it said."""
    process = subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, universal_newlines=True)
    said = process.communicate()[1]
    if process.returncode:
        lines = said.strip().splitlines() or ["no reason given"]
        raise Trouble(
            meaning(said)
            or "{0} failed ({1}); {2}".format(
                " ".join(command[1:4]), lines[-1], "run the same command again to go on"
            )
        )


def meaning(said):
    """What an error message means for the reader, or nothing if it is an unknown one."""
    for pattern, line in TROUBLES:
        if re.search(pattern, said):
            return line
    return DISK if free_gigabytes() < FULL else None  # venv keeps to itself what failed


def free_gigabytes():
    """The space left on the disk of this checkout."""
    return shutil.disk_usage(ROOT).free / 1e9


if __name__ == "__main__":
    sys.exit(main())
