"""What runs on GitHub: that its steps fit this project. `make check` lints the files."""

import re

import yaml

from press import pack, pdf
from press.extension.links import LAUNCH_BRANCH, NOTEBOOKS
from tools.common import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.glob("*.yml")}


def test_no_code_of_strangers_runs_on_the_gpu() -> None:
    assert set(WORKFLOWS["gpu"][True]) == {"workflow_dispatch", "schedule"}  # "on" is true in YAML


def test_every_command_and_file_of_a_step_exists() -> None:
    steps = [
        step for w in WORKFLOWS.values() for job in w["jobs"].values() for step in job["steps"]
    ]
    scripts = "\n".join(step["run"] for step in steps if "run" in step)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    called = re.findall(r"^make ([a-z ]+)", scripts, re.M)
    assert set(" ".join(called).split()) <= set(targets)
    for path in re.findall(r"(?:\.ci|tests|tools)[\\/][\w./\\]+", scripts):
        assert (ROOT / path.replace("\\", "/")).exists()
    published = {p for step in steps for p in step.get("with", {}).get("path", "").split()}
    made = [path.relative_to(ROOT).as_posix() for path in (pdf.PDF, pack.ZIP)]
    assert {*made, "_build/dist/*.whl", "_build/html", f"_build/html/{NOTEBOOKS}"} <= published
    assert f" --initial-branch={LAUNCH_BRANCH}\n" in scripts
