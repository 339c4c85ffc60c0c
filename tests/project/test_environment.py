"""tools/bootstrap.py makes the environment, here from small wheels made for these tests.

Every error fits on one line. A test cannot reproduce a reader's disk and network, so these tests
use real error messages, which were copied here.
"""

import ast
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from manuscript.common import ROOT
from tests.support.wheels import make_wheel, only_wheels
from tools import bootstrap

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no scripts of this kind")

BACKEND = f"""\
import pathlib, sys
sys.path.append({str(ROOT)!r})
from tests.support.wheels import make_wheel

def build_editable(folder, *_):
    make_wheel(pathlib.Path(folder), "attnbook", "1.0")
    return "attnbook-1.0-py3-none-any.whl"
"""
PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "attnbook"
version = "1.0"
dependencies = ["torch>=0.9"]
[tool.ruff]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a checkout that needs torch and one other package, both in a folder of wheels."""
    root, wheels = tmp_path / "project", tmp_path / "wheels"
    root.mkdir()
    for name, module, version in (
        (bootstrap.LOCK, "needed", "1.0"),
        (bootstrap.TORCH, "torch", "1.0"),
        (bootstrap.CPU, "torch", "1.0+cpu"),
    ):
        (root / name).write_text(make_wheel(wheels, module, version))
    (root / "pyproject.toml").write_text(PROJECT)
    (root / "backend.py").write_text(BACKEND)
    only_wheels(monkeypatch, wheels)
    python = bootstrap.VENV_PYTHON.relative_to(ROOT)
    monkeypatch.setattr(bootstrap, "ROOT", root)
    monkeypatch.setattr(bootstrap, "VENV", root / ".venv")
    monkeypatch.setattr(bootstrap, "VENV_PYTHON", root / python)
    monkeypatch.setattr(bootstrap, "GIGABYTES", {"cpu": 0, "gpu": 0})
    monkeypatch.setattr(sys, "argv", ["bootstrap.py"])
    return root


@pytest.fixture
def commands(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the commands instead of running them; PyTorch's index of CPU builds is down."""
    found: list[str] = []
    monkeypatch.setattr(bootstrap, "run", lambda *c: found.append(" ".join(map(str, c))))
    monkeypatch.setattr(subprocess, "call", lambda c, **_: found.append(" ".join(c)) or 1)
    return found


def failure() -> str:
    """Run the bootstrap, expect it to fail, and return its one-line message."""
    with pytest.raises(SystemExit) as stopped:
        bootstrap.main()
    (line,) = str(stopped.value).splitlines()
    assert line.startswith("attention book: ")
    return line


# --- making the environment --------------------------------------------------------------------


def test_an_incomplete_environment_is_rebuilt(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".venv").mkdir()
    (project / ".venv" / "left over").touch()
    with monkeypatch.context() as offline:
        offline.setattr(bootstrap, "run", lambda *c: "pip" in c and bootstrap.fail("no network"))
        assert "no network" in failure()
    assert bootstrap.main() == 0
    command = [bootstrap.VENV_PYTHON, "-c", "import attnbook, needed, torch"]
    subprocess.run(command, check=True)
    assert not (project / ".venv" / "left over").exists()

    with monkeypatch.context() as idle:
        idle.setattr(subprocess, "Popen", None)  # nothing is started when nothing has changed
        assert bootstrap.main() == 0


@posix
def test_an_environment_that_a_link_leads_to_is_not_emptied(project: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    (other / "kept").touch()
    bootstrap.VENV.symlink_to(other)
    assert failure().endswith(
        ".venv leads to an environment that is not this checkout's own; remove the link"
    )
    assert (other / "kept").exists()


def test_a_reader_who_cannot_write_is_told_who_can(
    commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "ask whoever installed the book to run make env" in failure()
    assert commands == []


def test_the_cache_key_is_made_of_the_pins_the_package_and_the_machine(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    keys = [bootstrap.cache_key()]
    for file, old, new, changes in (
        ("requirements-lock.txt", "1.0", "2.0", True),
        ("requirements-torch.txt", "1.0", "2.0", True),
        ("requirements-cpu.txt", "1.0", "2.0", True),
        ("pyproject.toml", "0.9", "0.8", True),
        ("pyproject.toml", "[tool.ruff]", "[tool.ruff]\nline-length = 100", False),
    ):
        (project / file).write_text((project / file).read_text().replace(old, new))
        assert (bootstrap.cache_key() not in keys) == changes
        keys.append(bootstrap.cache_key())
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/" + name)  # as with a GPU driver
    keys.append(bootstrap.cache_key())
    monkeypatch.setenv("ATTNBOOK_TORCH", "newest")
    keys.append(bootstrap.cache_key())
    monkeypatch.setattr(bootstrap, "ROOT", project.rename(project.with_name("moved")))
    keys.append(bootstrap.cache_key())
    assert len(set(keys)) == 8


@pytest.mark.parametrize(
    ("stamp", "arguments", "made"),
    [
        ("3.9 KEY", [], False),
        ("3.9 KEY", ["--this-python"], True),
        ("THIS KEY", ["--this-python"], False),
        ("3.11 other", [], True),
    ],
)
def test_an_environment_is_used_if_its_stamp_fits(
    stamp: str, arguments: list[str], made: bool, project: Path, commands: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    bootstrap.VENV_PYTHON.parent.mkdir(parents=True)
    bootstrap.VENV_PYTHON.touch()
    version = "{}.{}".format(*sys.version_info)
    stamp = stamp.replace("KEY", bootstrap.cache_key()).replace("THIS", version)
    (project / ".venv" / "attention-book.txt").write_text(stamp)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", *arguments])
    assert bootstrap.main() == 0
    assert bool(commands) == made
    bootstrap.VENV_PYTHON.unlink()  # as if the Python that made it were uninstalled
    commands.clear()
    assert bootstrap.main() == 0
    assert commands[0].endswith(f"-m venv --clear {project / '.venv'}")


@pytest.mark.parametrize("driver", [False, True])
def test_the_small_build_of_pytorch_is_tried_only_without_a_gpu(
    driver: bool, commands: list[str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/it" if driver else None)
    bootstrap.install()
    locked, *small, torch, package = commands
    for lock, command in ("lock", locked), ("torch", torch):
        assert " --only-binary :all: --require-hashes --no-deps -r " in command
        assert command.endswith(f"requirements-{lock}.txt")
    assert " --no-deps --no-build-isolation -e " in package
    assert len(small) == (not driver)
    for call in small:
        assert f" --index-url {bootstrap.CPU_INDEX} --no-deps --retries 0 --timeout 10 " in call
        assert " --require-hashes " in call
        assert call.endswith("requirements-cpu.txt")
    said = capsys.readouterr().out
    assert [line[:7] for line in said.splitlines() if "of 3" in line] == [
        f"{step} of 3:" for step in (1, 2, 3)
    ]
    assert ("PyTorch's index of CPU builds does not answer" in said) == (not driver)


def test_another_pytorch_is_named_by_a_variable(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, arguments in {
        "": "",
        "2.6.0": "torch==2.6.0",
        "oldest": "torch==0.9",
        "newest": "torch",
        "nightly": f"--pre --index-url {bootstrap.NIGHTLY_INDEX} torch",
    }.items():
        monkeypatch.setenv("ATTNBOOK_TORCH", name)
        assert " ".join(bootstrap.torch_arguments()) == arguments
    monkeypatch.setenv("ATTNBOOK_TORCH", "2.x; echo")
    assert "ATTNBOOK_TORCH=2.x; echo: not a version like 2.6.0, oldest" in failure()


@pytest.mark.parametrize(
    ("torch", "spoiled", "installed"),
    [
        ("", "", "1.0+cpu"),
        ("", "absent", "1.0"),
        ("0.9", "cpu torch", "0.9"),
        ("", "lock", None),
        ("", "cpu", None),
        ("", "absent torch", None),
    ],
)
def test_only_a_pytorch_that_a_variable_names_is_installed_without_its_hash(
    torch: str, spoiled: str, installed: str | None, project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = project.parent / "installed"
    make_wheel(project.parent / "wheels", "torch", "0.9", "another")
    make_wheel(project.parent / "wheels", "another", "1.0")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(bootstrap, "torch_build", lambda: "cpu")
    monkeypatch.setattr(bootstrap, "VENV_PYTHON", sys.executable)
    monkeypatch.setenv("PIP_TARGET", str(folder))
    monkeypatch.setenv("ATTNBOOK_TORCH", torch)
    if "absent" in spoiled:
        next(project.parent.glob("wheels/torch-1.0+cpu-*")).unlink()
    for name in {*spoiled.split()} - {"absent"}:
        lock = project / f"requirements-{name}.txt"
        lock.write_text(re.sub("sha256:.*", "sha256:" + "0" * 64, lock.read_text()))
    if installed:
        bootstrap.install()
        assert f"VERSION = {installed!r}" in (folder / "torch.py").read_text()
        assert (folder / "another.py").exists() == (installed == "0.9")
    else:
        with pytest.raises(SystemExit, match="whose hash is not the locked one, and it was not"):
            bootstrap.install()


# --- what goes wrong ---------------------------------------------------------------------------


@posix
def test_an_old_python_starts_a_supported_one_or_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ast.parse((ROOT / "tools" / "bootstrap.py").read_text("utf-8"), feature_version=(3, 8))
    monkeypatch.setattr(sys, "version_info", (3, 8, 0, "final", 0))
    monkeypatch.setenv("PATH", str(project))
    assert "this needs Python 3.11 to 3.14" in failure()
    better = project / "python3.12"
    better.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 1\n')  # a Python that does not start
    better.chmod(0o755)
    assert "this needs Python 3.11 to 3.14" in failure()
    better.write_text('#!/bin/sh\n[ "$1" = -c ] || echo "better: $1"\n')
    assert bootstrap.main() == 0
    assert capfd.readouterr().out == f"better: {ROOT / 'tools' / 'bootstrap.py'}\n"
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "--this-python"])
    assert "this needs Python 3.11 to 3.14" in failure()


def test_a_machine_that_lacks_something_is_refused_before_the_download(
    project: Path, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as debian:
        debian.setattr(importlib.util, "find_spec", lambda name: name != "ensurepip" or None)
        assert "sudo apt install python{}.{}-venv".format(*sys.version_info) in failure()
    with monkeypatch.context() as intel:
        intel.setattr(sys, "platform", "darwin")
        intel.setattr("platform.machine", lambda: "x86_64")
        assert "no longer has builds for Macs with Intel" in failure()
    monkeypatch.setattr(bootstrap, "GIGABYTES", {"cpu": 3, "gpu": 3})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: namedtuple("Usage", "free")(2.94e9))
    assert "needs 3 GB of disk and only 2.9 GB are free: free some space" in failure()
    assert commands == []


def test_errors_are_explained_or_shown(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for output, meaning in {
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left": "full",
        "WARNING: Retrying after connection broken by 'NewConnectionError(...)'": "network",
        "ERROR: No matching distribution found for x==1 (from versions: none)": "no build",
        "ERROR: ResolutionImpossible: for help visit": "no build",
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS": "not the locked one",
    }.items():
        assert meaning in (bootstrap.explain(output) or "")
    with pytest.raises(SystemExit, match=r"attention book: -c .* failed \(ValueError: why\)"):
        bootstrap.run(sys.executable, "-c", "raise ValueError('why')", "and so on")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_DRY_RUN", "1")  # so that nothing is installed even if the index answers
    monkeypatch.setattr(bootstrap, "VENV_PYTHON", sys.executable)
    with pytest.raises(SystemExit, match="book: pip can't reach a package index: check the net"):
        bootstrap.install()


@pytest.mark.skipif(os.name == "nt" or not shutil.which("make"), reason="there is no make here")
def test_make_without_python_is_refused() -> None:
    command = ["make", "env", "PYTHON=no-such-python"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode
    assert done.stderr.startswith("attention book: no-such-python was not found; install Python")
