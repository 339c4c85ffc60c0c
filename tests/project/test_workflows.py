"""What runs on GitHub: that its steps fit this project. `make check` lints the files."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from press import pack, pdf
from press.extension.links import LAUNCH_BRANCH, NOTEBOOKS
from tools import bootstrap
from tools.common import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.glob("*.yml")}
STEPS = [
    step
    for workflow in WORKFLOWS.values()
    for job in workflow["jobs"].values()
    for step in job["steps"]
]
posix = pytest.mark.skipif(os.name == "nt", reason="these steps run on Linux")


def test_every_supported_python_is_tested_and_every_pytorch() -> None:
    rows = WORKFLOWS["check"]["jobs"]["test"]["strategy"]["matrix"]["include"]
    tested = {(row["system"].partition("-")[0], row["python"]) for row in rows}
    supported = range(bootstrap.OLDEST[1], bootstrap.NEWEST[1] + 1)
    assert {python for system, python in tested if system == "ubuntu"} == {
        f"3.{minor}" for minor in supported
    }
    assert {system for system, _ in tested} == {"ubuntu", "macos", "windows"}
    assert {row["torch"] for row in rows if "torch" in row} == {"oldest", "newest"}


def test_no_code_of_strangers_runs_on_the_gpu() -> None:
    assert set(WORKFLOWS["gpu"][True]) == {"workflow_dispatch", "schedule"}  # "on" is true in YAML


@posix
def test_every_command_of_a_step_exists() -> None:
    scripts = "\n".join(step["run"] for step in STEPS if "run" in step)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    called = re.findall(r"^make ([a-z ]+)", scripts, re.M)
    assert set(" ".join(called).split()) <= set(targets)
    for program in re.findall(r"\.venv/bin/(\w+)", scripts):
        assert shutil.which(program, path=ROOT / ".venv" / "bin"), program
    for path in re.findall(r"(?:\.ci|tests|tools)[\\/][\w./\\]+", scripts):
        assert (ROOT / path.replace("\\", "/")).exists()


def test_what_is_published_is_what_the_tools_make() -> None:
    steps = WORKFLOWS["book"]["jobs"]["build"]["steps"]
    uploads = [step["with"] for step in steps if "path" in step.get("with", {})]
    paths = {upload.get("name"): upload["path"] for upload in uploads}
    made = [path.relative_to(ROOT).as_posix() for path in (pdf.PDF, pack.ZIP)]
    assert paths["downloads"].split() == [*made, "_build/dist/*.whl"]
    assert paths["notebooks"] == f"_build/html/{NOTEBOOKS}"
    assert paths[None] == "_build/html"


@posix
def test_the_branch_for_colab_holds_the_notebooks_of_the_last_build_alone(tmp_path: Path) -> None:
    remote = tmp_path / "reader" / "attention"
    subprocess.run(["git", "init", "--bare", "--quiet", remote], check=True)
    steps = WORKFLOWS["book"]["jobs"]["launch"]["steps"]
    (script,) = [step["run"] for step in steps if "run" in step]
    where = {"GITHUB_SERVER_URL": tmp_path.as_uri(), "GITHUB_REPOSITORY": "reader/attention"}
    variables = {**os.environ, **where, "GIT_CONFIG_GLOBAL": os.devnull}

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", "-C", remote, *arguments], capture_output=True, text=True)
        return done.stdout.split()

    for number, notebook in enumerate(("01.ipynb", "02.ipynb")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / notebook).write_text("{}")
        subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=variables, check=True)
        assert git("ls-tree", "--name-only", LAUNCH_BRANCH) == [notebook]
        assert git("rev-list", "--count", LAUNCH_BRANCH) == ["1"]
