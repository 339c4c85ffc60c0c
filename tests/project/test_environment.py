"""The tools do what the README promises, also on the machines of other people."""

import ast
import functools
import hashlib
import importlib.metadata
import inspect
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
import zmq.asyncio
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tools import bootstrap, lock
from tools import run as run_notebooks
from tools.common import ROOT, UserError
from tools.copies import copy_notebooks
from tools.run import SANITIZE, main, refuse_uncommitted, settings

# --- the environment: tools/bootstrap.py -------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout that needs a torch and one package more; both are on no index."""
    return make_project(tmp_path / "project")


BACKEND = """\
import zipfile

FILES = {
    "METADATA": "Metadata-Version: 2.1\\nName: attnbook\\nVersion: 1.0\\n",
    "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    "RECORD": "",
}

def build_editable(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(folder + "/attnbook-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr("attnbook-1.0.dist-info/" + name, text)
    return "attnbook-1.0-py3-none-any.whl"
"""


def make_project(folder: Path) -> Path:
    (folder / "tools").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "bootstrap.py", folder / "tools")
    (folder / "requirements.txt").write_text("torch==1.0\n")
    (folder / "requirements-lock.txt").write_text(locked("needed", "1.0"))
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "attnbook"\nversion = "1.0"\ndependencies = ["torch>=0.9"]\n'
    )
    return folder


def locked(name: str, version: str, sha256: str = "0" * 64) -> str:
    """The line of a lock."""
    return f"{name}=={version} \\\n    --hash=sha256:{sha256}\n"


def boot(project: Path, before: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a project's bootstrap.py in a Python of its own, after some code that prepares it."""
    script = project / "tools" / "bootstrap.py"
    start = f"import runpy, sys\n{before}\nrunpy.run_path({str(script)!r}, run_name='__main__')"
    ours = ("PIP_", "ATTNBOOK_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return subprocess.run(
        [sys.executable, "-c", start],
        env={**kept, "PIP_CONFIG_FILE": os.devnull, **environment},
        capture_output=True,
        text=True,
    )


def the_line(done: subprocess.CompletedProcess[str]) -> str:
    """What a failed run said: one line, and no traceback."""
    assert done.returncode == 1
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("attention book: ")
    return lines[0]


posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no scripts of this kind")
OLD = "sys.version_info = (3, 8, 0, 'final', 0)"


def test_an_old_python_is_told_so_in_one_line(project: Path, tmp_path: Path) -> None:
    line = the_line(boot(project, OLD, PATH=str(tmp_path)))
    assert "this needs Python 3.11 to 3.14" in line
    assert "make PYTHON=" in line
    assert not (project / ".venv").exists()


@posix
def test_an_old_python_hands_over_to_a_better_one_on_the_path(
    project: Path, tmp_path: Path
) -> None:
    better = tmp_path / "python3.12"
    better.write_text('#!/bin/sh\n[ "$1" = -c ] || echo "better: $1"\n')
    better.chmod(0o755)
    done = boot(project, OLD, PATH=str(tmp_path))
    assert done.stdout == f"better: {project / 'tools' / 'bootstrap.py'}\n"


def test_bootstrap_is_written_in_a_python_that_old_pythons_can_read() -> None:
    """Python 2 reads the whole file before it runs the line that says it is too old."""
    tree = ast.parse((ROOT / "tools" / "bootstrap.py").read_text("utf-8"))
    for node in ast.walk(tree):
        new = ast.JoinedStr | ast.AnnAssign | ast.NamedExpr | ast.Starred | ast.Nonlocal
        if isinstance(node, new):
            call = isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load)
            assert call, ast.unparse(node)
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not node.args.kwonlyargs
            assert not any(argument.annotation for argument in node.args.args)
        if isinstance(node, ast.Raise):
            assert node.cause is None


def test_a_missing_venv_names_the_package_to_install(project: Path, tmp_path: Path) -> None:
    """As on Debian and Ubuntu, where Python comes without ensurepip."""
    (tmp_path / "ensurepip.py").write_text("raise ImportError('not here')")
    line = the_line(boot(project, PYTHONPATH=str(tmp_path)))
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert f"sudo apt install python{version}-venv" in line


@pytest.fixture
def wheels(project: Path, tmp_path: Path) -> Path:
    """A folder with what the project needs, each hash in its lock."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    make_wheel(folder, "torch", "1.0", "needed>=0.5")
    (project / "requirements-lock.txt").write_text(make_wheel(folder, "needed", "1.0"))
    return folder


def make_wheel(folder: Path, name: str, version: str, needs: str = "", module: str = "") -> str:
    """Write a package of one module, which knows its version; return its line in a lock."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{module or name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": metadata + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in files) + f"{info}/RECORD,,\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text)
    return locked(name, version, hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture(scope="session")
def bare(tmp_path_factory: Any) -> Path:
    """An environment with nothing but pip in it: making one takes seconds, copying it does not."""
    folder = tmp_path_factory.mktemp("bare") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder


@pytest.fixture
def ready(project: Path, wheels: Path, bare: Path) -> Path:
    """The project with its environment made; returns the folder of wheels."""
    shutil.copytree(bare, project / ".venv", symlinks=True)
    assert boot(project, **offline(wheels)).returncode == 0
    return wheels


def offline(wheels: Path) -> dict[str, str]:
    """The settings under which pip finds these wheels and nothing else."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}


def installed(project: Path, name: str) -> Path:
    """The module of a package in the project's environment."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library = Path("Lib") if os.name == "nt" else Path("lib", version)
    return project / ".venv" / library / "site-packages" / f"{name}.py"


def versions(project: Path) -> tuple[str, ...]:
    """The installed versions of torch and of what it needs."""
    texts = [installed(project, name).read_text() for name in ("torch", "needed")]
    return tuple(text.split("'")[1] for text in texts)


def test_an_install_that_failed_is_continued_and_then_left_alone(
    project: Path, wheels: Path
) -> None:
    line = the_line(boot(project, PIP_INDEX_URL="http://127.0.0.1:9/simple"))
    assert "pip reaches no package index: check the network" in line
    assert not installed(project, "torch").exists()

    assert boot(project, **offline(wheels)).returncode == 0
    assert versions(project) == ("1.0", "1.0")

    again = boot(project, "import subprocess; subprocess.Popen = None", **offline(wheels))
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")  # no program started


def test_what_was_cut_off_while_being_installed_is_installed_again(
    project: Path, ready: Path
) -> None:
    (project / "requirements.txt").write_text("torch==1.0  # changed\n")
    installed(project, "needed").unlink()  # as after a power cut in the midst of an install
    next(installed(project, "").parent.glob("torch-*.dist-info/RECORD")).unlink()
    installed(project, "torch").write_text("half a fi")
    assert boot(project, **offline(ready)).returncode == 0
    assert versions(project) == ("1.0", "1.0")


def test_pins_that_cannot_be_installed_and_come_back_are_installed_again(
    project: Path, ready: Path
) -> None:
    lock = project / "requirements-lock.txt"
    before = lock.read_text()
    lock.write_text(make_wheel(ready, "needed", "2.0") + locked("missing", "1.0"))
    assert the_line(boot(project, **offline(ready)))
    lock.write_text(before)
    installed(project, "needed").unlink()  # what the failed try may have left
    assert boot(project, **offline(ready)).returncode == 0
    assert versions(project) == ("1.0", "1.0")


def test_a_file_that_is_not_the_locked_one_is_refused(project: Path, ready: Path) -> None:
    (project / "requirements-lock.txt").write_text(make_wheel(ready, "needed", "2.0"))
    make_wheel(ready, "needed", "2.0", "torch")  # the same name and version, other contents
    line = the_line(boot(project, **offline(ready)))
    assert "served a file that is not the one in requirements-lock.txt" in line
    assert versions(project) == ("1.0", "1.0")


def test_another_torch_brings_what_it_needs_and_goes_again(project: Path, ready: Path) -> None:
    make_wheel(ready, "torch", "0.9", "needed==0.5")
    make_wheel(ready, "torch", "2.0", "needed")
    make_wheel(ready, "needed", "0.5")
    for torch, both in (
        ("oldest", ("0.9", "0.5")),
        ("newest", ("2.0", "1.0")),
        ("", ("1.0", "1.0")),
    ):
        assert boot(project, ATTNBOOK_TORCH=torch, **offline(ready)).returncode == 0
        assert versions(project) == both


def test_a_torch_that_goes_takes_along_what_shares_files_with_the_next(
    project: Path, ready: Path
) -> None:
    """As do the packages for two versions of CUDA: nvidia-nccl-cu12, nvidia-nccl-cu13."""
    for torch, cuda in (("1.1", "12"), ("1.2", "13")):
        make_wheel(ready, f"nvidia_cu{cuda}", cuda, module="shared")
        make_wheel(ready, "torch", torch, f"needed\nRequires-Dist: nvidia-cu{cuda}")
    for torch, cuda in (("1.2", "13"), ("1.1", "12"), ("1.2", "13")):
        assert boot(project, ATTNBOOK_TORCH=torch, **offline(ready)).returncode == 0
        assert installed(project, "shared").read_text() == f"VERSION = '{cuda}'\n"
    assert boot(project, **offline(ready)).returncode == 0
    assert not installed(project, "shared").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is one build")
def test_a_driver_that_came_later_brings_the_build_for_a_gpu(
    project: Path, ready: Path, tmp_path: Path
) -> None:
    settings = offline(ready)
    make_wheel(ready, "torch", "1.0+cpu", "needed")
    small = ready / "torch-1.0+cpu-py3-none-any.whl"
    pip = [str(project / ".venv" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, str(small)], check=True, env={**os.environ, **settings})
    assert versions(project) == ("1.0+cpu", "1.0")
    small.unlink()
    assert boot(project, **settings).returncode == 0
    assert versions(project) == ("1.0+cpu", "1.0")  # it will do

    driver = tmp_path / "nvidia-smi"
    driver.write_text("#!/bin/sh\n")
    driver.chmod(0o755)
    done = boot(project, **settings, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0
    assert versions(project) == ("1.0", "1.0")


def test_a_python_that_is_named_is_the_one_in_the_environment(project: Path, ready: Path) -> None:
    named = "sys.argv.append('--this-python')"
    assert boot(project, named, **offline(ready)).stdout == ""
    minor = 12 if sys.version_info[1] == 11 else 11
    other = f"sys.version_info = (3, {minor}, 0, 'final', 0)"
    assert boot(project, other, **offline(ready)).stdout == ""
    done = boot(project, f"{named}; {other}", **offline(ready))
    assert done.stdout.startswith("Making the environment in .venv."), done.stderr
    assert versions(project) == ("1.0", "1.0")


def test_a_mac_with_an_intel_processor_is_refused_before_anything_is_downloaded(
    project: Path,
) -> None:
    mac = "import platform; sys.platform = 'darwin'; platform.machine = lambda: 'x86_64'"
    assert "no builds for Macs with Intel" in the_line(boot(project, mac))
    assert not (project / ".venv").exists()


def test_a_torch_that_cannot_be_had_is_named(project: Path, ready: Path) -> None:
    line = the_line(boot(project, ATTNBOOK_TORCH="2.x; echo", **offline(ready)))
    assert "a version such as 2.6.0, oldest, newest or nightly, not 2.x; echo" in line
    line = the_line(boot(project, ATTNBOOK_TORCH="7.0", **offline(ready)))
    assert "a pinned package, or the PyTorch that ATTNBOOK_TORCH names, has no build" in line


def test_a_pin_that_is_not_in_the_lock_is_named(project: Path, ready: Path) -> None:
    (project / "requirements.txt").write_text("torch==1.0\nneeded==1.0 # why\nNeeded==2.0 # why\n")
    said = boot(project, **offline(ready)).stdout
    assert re.findall(r".* is not in .*", said) == [
        "Needed==2.0 is not in requirements-lock.txt: run 'make lock'."
    ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if (
        not sys.platform.startswith("linux")
        or subprocess.run(mount, capture_output=True).returncode
    ):
        pytest.skip("a full disk can only be tried where this user may mount one")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_small_disk_is_named_before_anything_is_downloaded(small_disk: Path) -> None:
    line = the_line(boot(make_project(small_disk / "project")))
    assert re.search(r"needs [\d.]+ GB of disk and only 0\.0 GB are free: free some space", line)


def test_a_disk_that_fills_up_on_the_way_is_named(small_disk: Path) -> None:
    project = make_project(small_disk / "project")
    script = project / "tools" / "bootstrap.py"
    script.write_text(script.read_text().replace('"cpu": 3.0', '"cpu": 0').replace("9.0", "0"))
    line = the_line(boot(project))
    assert "the disk is full" in line


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left", "disk"),
        ("WARNING: Retrying after connection broken by 'NewConnectionError(...)'", "network"),
        ("ERROR: No matching distribution found for x==1 (from versions: none)", "no build"),
        ("ERROR: ResolutionImpossible: for help visit", "no build"),
        ("(from versions: 1.0, 1.1)\nERROR: No matching distribution found for x==9", "no build"),
    ],
)
def test_what_pip_says_is_put_in_plain_words(said: str, meant: str) -> None:
    assert meant in bootstrap.meaning(said)


def test_zmq_s_word_about_windows_is_the_one_left_unheard() -> None:
    """Elsewhere it is never said, so nothing else would show that its words changed."""
    said = r"Proactor event loop does not implement"
    assert said in inspect.getsource(zmq.asyncio)
    for name in ("pyproject.toml", "tools/run.py"):
        assert said in (ROOT / name).read_text("utf-8")


def test_an_interruption_says_how_to_go_on(monkeypatch: Any, capsys: Any) -> None:
    def interrupted(folder: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "make_environment", interrupted)
    assert bootstrap.main() == 130
    assert "run the same command again" in capsys.readouterr().err


def asked() -> dict[str, str]:
    """The pins of requirements.txt."""
    text = (ROOT / "requirements.txt").read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.M))


def in_the_lock() -> dict[str, str]:
    """The pins of requirements-lock.txt."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", lock.LOCK.read_text("utf-8"), re.M))


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def there() -> dict[str, importlib.metadata.Distribution]:
    """What is installed here."""
    return {normal(found.name): found for found in importlib.metadata.distributions()}


def test_every_requirement_is_pinned_with_a_reason() -> None:
    lines = [line for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if line]
    assert (lines[3], lines[-1]) == ("-c limits.txt", "-e .")
    for line in lines[4:-1]:
        assert re.fullmatch(r"[\w-]+==\S+ +# \S.*|# \S.*", line), line


def test_the_lock_is_what_make_lock_wrote_for_these_requirements() -> None:
    text = lock.LOCK.read_text("utf-8")
    requirements = lock.REQUIREMENTS.read_text("utf-8")
    assert lock.signed(lock.packages_of(text), requirements) == text, "run make lock"


def test_the_lock_has_every_pin_and_a_hash_for_every_package_and_no_address() -> None:
    text = lock.LOCK.read_text("utf-8")
    pins = {normal(name): version for name, version in asked().items() if name != "torch"}
    assert pins.items() <= in_the_lock().items(), "run make lock"
    pin, reason = r"[\w.-]+==[\w.]+( ; [^\n]+)?", r"(    # via .+\n)?"
    hashes = r"( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.fullmatch(f"({pin}{hashes}{reason})+", lock.packages_of(text))
    assert len(re.findall(r"^\S+==", text, re.M)) == len(in_the_lock()) > 150
    assert not re.search(r"://|@|^-|^(torch|triton|nvidia-)", text, re.M)


def test_the_lock_stays_below_the_limits() -> None:
    limits = re.findall(r"^([\w-]+)([<>=!]\S+)", (ROOT / "limits.txt").read_text("utf-8"), re.M)
    assert [name for name, _ in limits] == ["jupyter-book", "soupsieve"]
    for name, limit in limits:
        assert in_the_lock()[name] in SpecifierSet(limit)


def test_everything_locked_is_installed_so() -> None:
    """But for what another PyTorch, named by ATTNBOOK_TORCH, needs in another version."""
    other = os.environ.get("ATTNBOOK_TORCH")
    may_differ = needed_by("torch") | {"torch"} if other else set()
    pins = {**in_the_lock(), "torch": asked()["torch"]}
    wrong = {
        name: there()[name].version
        for name, pin in pins.items()
        if name in there() and name not in may_differ
        if there()[name].version.partition("+")[0] != pin
    }
    assert wrong == {}, "run make env"
    assert len(there().keys() & pins.keys()) > 150


def needed_by(name: str) -> set[str]:
    """The packages that a package needs, and what they need in turn."""
    found: set[str] = set()
    new = [name]
    while new:
        package = there().get(new.pop())
        for text in (package and package.requires) or []:
            if "extra ==" not in text and (need := normal(Requirement(text).name)) not in found:
                found.add(need)
                new.append(need)
    return found


@pytest.mark.parametrize("python", ["3.11.0", "3.12.0", "3.13.0", "3.14.0"])
def test_the_pins_fit_every_python_that_the_book_promises(python: str) -> None:
    asks = {
        f"{name} {there()[name].version}": there()[name].metadata.get("Requires-Python")
        for name in ["torch", *in_the_lock()]
        if name in there()
    }
    assert len(asks) > 150
    assert {k: v for k, v in asks.items() if v and python not in SpecifierSet(v)} == {}


def test_every_requirement_is_explained_to_contributors() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| package | why |")[2]
    assert re.findall(r"^\| ([\w-]+) \| \w", table, re.M) == list(asked())


@pytest.fixture
def pip_calls(monkeypatch: Any) -> list[str]:
    """What pip would be asked to do, where PyTorch's index of CPU builds does not answer."""
    calls: list[str] = []
    monkeypatch.delenv("ATTNBOOK_TORCH", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(bootstrap, "find_program", lambda name: None)
    monkeypatch.setattr(bootstrap, "run", lambda command, cwd=None: calls.append(" ".join(command)))
    monkeypatch.setattr(
        subprocess, "call", lambda command, **options: calls.append(" ".join(command)) or 1
    )
    monkeypatch.setattr(subprocess, "check_output", lambda command, **options: "")
    return calls


@pytest.mark.parametrize("driver", [False, True])
def test_the_small_torch_is_tried_first_only_without_a_gpu(
    driver: bool, pip_calls: list[str], monkeypatch: Any
) -> None:
    monkeypatch.setattr(bootstrap, "find_program", lambda name: "/bin/it" if driver else None)
    bootstrap.install("python")
    _, locked, *small, torch, package = pip_calls
    assert locked.endswith(" --only-binary :all: --require-hashes -r requirements-lock.txt")
    assert re.search(r"--retries 2 torch==[\d.]+$", torch)
    assert package.endswith(" --no-deps --no-build-isolation -e .")
    assert len(small) == (not driver)
    for call in small:
        assert "--index-url https://download.pytorch.org/whl/cpu --no-deps" in call
        assert re.search(r"--retries 0 --timeout 10 torch==[\d.]+$", call)


def test_a_nightly_torch_comes_from_its_own_index(pip_calls: list[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("ATTNBOOK_TORCH", "nightly")
    bootstrap.install("python")
    nightly = "--pre --index-url https://download.pytorch.org/whl/nightly/cpu torch"
    assert pip_calls[2].endswith(nightly)
    assert len(pip_calls) == 4


# --- make --------------------------------------------------------------------------------------


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True)


needs_make = pytest.mark.skipif(
    os.name == "nt" or not shutil.which("make"), reason="there is no make here"
)


@needs_make
def test_make_alone_prints_every_target() -> None:
    targets = re.search(r"^\.PHONY: help env device (.*)$", (ROOT / "Makefile").read_text(), re.M)
    printed = re.findall(r"^make (\w+) ", make().stdout, re.M)
    assert sorted(printed) == sorted(targets.group(1).split())


@needs_make
def test_make_without_python_says_so_in_one_line() -> None:
    said = make("env", "PYTHON=no-such-python").stderr.splitlines()[0]
    assert said == "attention book: there is no no-such-python here; install Python 3.11 or newer"


@posix
@pytest.mark.parametrize("browser", ["here", "in Debian", "in Playwright"])
def test_ci_installs_a_missing_browser_and_then_requires_it(browser: str, tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    logged = 'echo "$(basename "$0") $*${ATTNBOOK_REQUIRE_BROWSER:+, required}"'
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    names = [
        "apt-get",
        "make",
        ".venv/bin/playwright",
        *(["chromium"] if browser == "here" else []),
    ]
    for name in names:
        (tmp_path / name).write_text(f"#!/bin/sh\n{logged}\n")
        (tmp_path / name).chmod(0o755)
    if browser == "in Playwright":
        with (tmp_path / "apt-get").open("a") as script:
            script.write('[ "$1" != install ]\n')
    (tmp_path / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (tmp_path / "sudo").chmod(0o755)
    for name in ("sh", "env", "id", "dirname", "basename"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run(
        [shutil.which("bash") or "bash", str(tmp_path / ".ci" / "run")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    installs = [] if browser == "here" else ["apt-get update", "apt-get install -y chromium"]
    if browser == "in Playwright":
        installs += ["make env", "playwright install --with-deps chromium"]
    assert done.stdout.splitlines() == [
        *installs,
        "make test, required",
        "make nbval DEVICE=rehearsal, required",
    ], done.stderr


# --- the reader's copies: tools/copies.py ----------------------------------------------


def test_an_edited_copy_survives_and_a_newer_chapter_is_named(tmp_path: Path) -> None:
    book, mine = tmp_path / "book", tmp_path / "my"
    book.mkdir()
    (book / "01.ipynb").write_text("one")
    (book / "02.ipynb").write_text("two")
    assert copy_notebooks(book, mine) == []
    (mine / "01.ipynb").write_text("one, and my answer")
    assert copy_notebooks(book, mine) == []  # the chapter is as it was

    (book / "01.ipynb").write_text("one, better")
    (book / "02.ipynb").write_text("two, better")
    (book / "03.ipynb").write_text("three")
    for _ in range(2):
        lines = copy_notebooks(book, mine)
        assert [line.partition(" ")[0] for line in lines] == ["01.ipynb", "02.ipynb"]
        assert "rename my/01.ipynb" in lines[0]
    assert (mine / "01.ipynb").read_text() == "one, and my answer"
    assert (mine / "02.ipynb").read_text() == "two"
    assert (mine / "03.ipynb").read_text() == "three"

    (mine / "02.ipynb").rename(mine / "02_old.ipynb")  # as the line says
    assert len(copy_notebooks(book, mine)) == 1
    assert (mine / "02.ipynb").read_text() == "two, better"


# --- running notebooks: tools/run.py -------------------------------------------------


def write(path: Path, *sources: str) -> Path:
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    return path


def test_a_second_run_changes_no_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "n.ipynb", "from pathlib import Path", "print(Path.cwd().name, '苹果')")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, new_markdown_cell("# 苹果"))
    notebook.cells[2].metadata = {"collapsed": True, "tags": ["hide-input"], "scrolled": False}
    notebook.metadata = {"kernelspec": {"name": "other", "display_name": "Other"}, "toc": {}}
    ids = [cell.id for cell in notebook.cells]
    nbformat.write(notebook, path)

    assert main(["--force", str(path)]) == 0
    first = path.read_bytes()
    assert main(["--force", "--quick", str(path)]) == 0
    assert main(["--force", str(path)]) == 0
    assert path.read_bytes() == first

    text = first.decode()
    assert text.endswith("}\n")
    assert '\n "cells": [' in text  # indented by one
    assert f'"{tmp_path.name} 苹果\\n"' in text  # ran in its own folder; no \u escapes
    after = nbformat.reads(text, as_version=4)
    assert [cell.id for cell in after.cells] == ids
    assert [cell.get("execution_count") for cell in after.cells] == [None, 1, 2]
    assert after.cells[2].metadata == {"tags": ["hide-input"]}
    assert after.metadata == run_notebooks.METADATA
    assert list(tmp_path.iterdir()) == [path]


def test_a_cell_that_fails_leaves_the_file_and_is_shown(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path / "n.ipynb", "print('fine')", "x = 1\nx.shape")
    before = path.read_bytes()
    assert main(["--quick", str(path)]) == 1
    assert path.read_bytes() == before
    said = capsys.readouterr().err
    assert "x.shape" in said
    assert "'int' object has no attribute 'shape'" in said


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "ATEN_CPU_CAPABILITY"])
def test_outputs_that_hang_on_the_setting_are_refused(
    variable: str, tmp_path: Path, capsys: Any
) -> None:
    path = write(tmp_path / "n.ipynb", "import os", f"print(os.environ[{variable!r}])")
    before = path.read_bytes()
    if len({setting[variable] for setting in settings()}) == 1:
        pytest.skip("PyTorch knows one level of instructions on this processor")
    assert main(["--force", str(path)]) == 1
    assert path.read_bytes() == before
    assert "cell 2" in capsys.readouterr().err


def test_uncommitted_edits_are_refused_but_new_outputs_are_not(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    path = write(tmp_path / "n.ipynb", "print(1)")
    refuse_uncommitted(path)  # no checkout, nothing to compare with
    git("init")
    git("commit", "--allow-empty", "-m", "empty")
    with pytest.raises(UserError, match="is not in the last commit"):
        refuse_uncommitted(path)
    git("add", "n.ipynb")
    git("commit", "-m", "a notebook")
    refuse_uncommitted(path)

    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].outputs = [new_output("stream", text="1\n")]
    notebook.cells[0].execution_count = 1
    nbformat.write(notebook, path)
    refuse_uncommitted(path)

    notebook.cells[0].source = "print(2)"
    nbformat.write(notebook, path)
    edited = path.read_bytes()
    with pytest.raises(UserError, match="uncommitted edits"):
        refuse_uncommitted(path)
    assert main([str(path)]) == 1
    assert path.read_bytes() == edited


# --- comparing outputs: nbval with nbval.cfg ---------------------------------------------------

PLOT = "plot_lines([1.0, 2.0, 3.0], {'y': [0.0, 0.52, 1.0]}, 'x', 'y')"
PRINT = "print(0.4917)"
CELLS = {
    "imports": "from attnbook.figures import plot_lines",
    "as drawn": PLOT,
    "tenth flipped": PLOT,
    "point moved": PLOT,
    "as printed": PRINT,
    "number changed": PRINT,
    "output cleared": PRINT,
}


def test_nbval_sees_a_changed_number_and_a_moved_point_but_no_flipped_tenth(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "n.ipynb", *CELLS.values())
    assert main(["--quick", str(path)]) == 0
    notebook = nbformat.read(path, as_version=4)
    cells = dict(zip(CELLS, notebook.cells, strict=True))

    def redraw(name: str, by: float) -> None:
        """Move the middle point of the curve down by some points, as another machine would."""
        drawn = cells[name].outputs[0].data
        text = drawn["image/svg+xml"]
        curve = re.search(r'(d="M [\d.]+ [\d.]+  L [\d.]+ )([\d.]+)(  L)', text)
        assert curve, "the curve is no longer drawn as a path of three points"
        assert re.search(r"\.[1-8]$", curve.group(2)), "choose a point with a tenth that can flip"
        moved = f"{curve.group(1)}{float(curve.group(2)) + by:.1f}{curve.group(3)}"
        text, marks = re.subn(r"(part\d+-)[0-9a-f]{6}", r"\g<1>0a1b2c", text)
        assert marks, "the ids no longer carry a mark of the picture"
        drawn["image/svg+xml"] = text.replace(curve.group(), moved)

    redraw("tenth flipped", by=0.1)
    redraw("point moved", by=1)
    cells["number changed"].outputs[0].text = "0.4918\n"
    cells["output cleared"].outputs = []
    nbformat.write(notebook, path)

    nbval = ["--nbval", "--nbval-current-env", f"--nbval-sanitize-with={SANITIZE}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rf", "-p", "no:cacheprovider", *nbval, path.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    failed = [int(cell) for cell in re.findall(r"^FAILED n\.ipynb::Cell (\d)", done.stdout, re.M)]
    names = [list(CELLS)[cell] for cell in failed]
    assert names == ["point moved", "number changed", "output cleared"], done.stdout
