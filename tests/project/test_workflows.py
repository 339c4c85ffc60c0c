"""What runs on GitHub: a linter refuses what is unsafe, and the rest is tried as far as it can be.

Where a step is a script, the test takes it out of its file and runs it, with stand-ins for what
only GitHub has.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from press import pack as make_zip
from press import pdf as make_pdf
from press.extension.links import LAUNCH_BRANCH, NOTEBOOKS
from tools import bootstrap
from tools.common import ROOT
from tools.workflows import main

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.glob("*.yml")}
JOBS = {
    f"{workflow}: {name}": job
    for workflow, content in WORKFLOWS.items()
    for name, job in content["jobs"].items()
}
STEPS = {
    f"{name}, step {number}": step
    for name, job in JOBS.items()
    for number, step in enumerate(job["steps"], start=1)
}
CHECKOUT = "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0"
posix = pytest.mark.skipif(os.name == "nt", reason="these steps run on Linux")


def test_the_workflows_as_they_are_pass(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "")  # zizmor refuses one that is empty
    assert main([]) == 0, capsys.readouterr().err
    assert set(WORKFLOWS) == {"book", "check", "gpu", "weekly"}


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("workflows/check.yml", CHECKOUT, "actions/checkout@v5", "unpinned-uses"),
        (
            "workflows/book.yml",
            "permissions: {}",
            "permissions: write-all",
            "excessive-permissions",
        ),
        (
            "workflows/book.yml",
            'upload "$TAG"',
            "upload ${{ github.event.release.tag_name }}",
            "template-injection",
        ),
        ("workflows/check.yml", "  pull_request:", "  pull_request_target:", "dangerous-triggers"),
        (
            "workflows/weekly.yml",
            "with:\n          persist-credentials: false\n      - uses: actions/setup",
            "with:\n          show-progress: false\n      - uses: actions/setup",
            "artipacked",
        ),
        ("workflows/weekly.yml", "concurrency:\n  group: weekly", "env:\n  X: y", "concurrency"),
        ("workflows/gpu.yml", "timeout-minutes: 60", "timeout-minute: 60", "timeout-minute"),
        ("workflows/gpu.yml", "jobs:", "job:", "'job'"),
        ("workflows/gpu.yml", "- cron:", "- corn:", "corn"),
        ("dependabot.yml", "monthly", "sometimes", "sometimes"),
        ("dependabot.yml", "    cooldown:\n      default-days: 7\n", "", "dependabot-cooldown"),
    ],
)
def test_a_workflow_that_is_unsafe_or_misspelt_is_refused(
    file: str, old: str, new: str, said: str, tmp_path: Path, capsys: Any
) -> None:
    copy = tmp_path / ".github"
    shutil.copytree(ROOT / ".github", copy)
    text = (copy / file).read_text("utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new), "utf-8")
    assert main([str(copy)]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", JOBS)
def test_every_job_ends_and_says_what_it_may_do(name: str) -> None:
    job = JOBS[name]
    assert 5 <= job["timeout-minutes"] <= 60
    assert WORKFLOWS[name.partition(":")[0]]["permissions"] == {}
    writes = {scope for scope, level in job.get("permissions", {}).items() if level == "write"}
    allowed = {
        "book: pages": {"pages", "id-token"},
        "book: launch": {"contents"},
        "book: release": {"contents"},
    }
    assert writes == allowed.get(name, set())


def test_every_supported_system_python_and_torch_is_tried() -> None:
    rows = WORKFLOWS["check"]["jobs"]["test"]["strategy"]["matrix"]["include"]
    pinned = {
        (row["system"].partition("-")[0], row["python"]) for row in rows if "torch" not in row
    }
    oldest, newest = bootstrap.OLDEST, bootstrap.NEWEST
    supported = [f"3.{minor}" for minor in range(oldest[1], newest[1] + 1)]
    ends = {(system, python) for system in ("macos", "windows") for python in ("3.11", "3.13")}
    assert pinned == ends | {("ubuntu", python) for python in supported}
    assert {row["torch"] for row in rows if "torch" in row} == {"oldest", "newest"}
    nightly = WORKFLOWS["check"]["jobs"]["nightly"]
    assert nightly["continue-on-error"] is True
    assert {"ATTNBOOK_TORCH": "nightly"} in [step.get("env") for step in nightly["steps"]]


def test_no_strangers_code_comes_to_the_gpu() -> None:
    assert set(WORKFLOWS["gpu"][True]) == {"workflow_dispatch", "schedule"}  # "on" is true in YAML
    run, skip = (WORKFLOWS["gpu"]["jobs"][name]["if"] for name in ("gpu", "skipped"))
    assert run == "${{ inputs.runner || vars.ATTNBOOK_GPU_RUNNER }}"
    assert skip == "${{ !inputs.runner && !vars.ATTNBOOK_GPU_RUNNER }}"


@posix
@pytest.mark.parametrize("name", [name for name in STEPS if "run" in STEPS[name]])
def test_every_command_of_a_step_is_there(name: str) -> None:
    script = STEPS[name]["run"]
    if script.startswith((".ci\\", "python tools\\")):
        assert (ROOT / script.removeprefix("python ").replace("\\", "/")).is_file()
        return
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    targets = re.findall(r"^([\w ]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for called in re.findall(r"^make ([\w ]+)", script, re.M):
        assert set(called.split()) - {"DEVICE"} <= set(" ".join(targets).split())
    for program in re.findall(r"\.venv/bin/(\w+)", script):
        assert shutil.which(program, path=ROOT / ".venv" / "bin"), program
    for path in re.findall(r"(?:bash|pytest) ([\w./]+)", script):
        assert (ROOT / path).exists()


def step(workflow: str, job: str, name: str) -> str:
    """The script of a named step."""
    steps = WORKFLOWS[workflow]["jobs"][job]["steps"]
    return next(step["run"] for step in steps if step.get("name") == name)


def run(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does, with what stands in for its `gh` first on the path."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, **environment, "PATH": path, "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
    )


def stand_in(folder: Path, name: str, script: str) -> None:
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / name).chmod(0o755)


@posix
@pytest.mark.parametrize("published", [True, False])
def test_the_address_of_the_pages_is_asked_for(published: bool, tmp_path: Path) -> None:
    address = "https://reader.github.io/attention/"
    stand_in(
        tmp_path, "gh", f"echo {address}" if published else 'echo \'{"status":"404"}\'; exit 1'
    )
    done = run(
        step("book", "build", "Where the pages are published"),
        tmp_path,
        GITHUB_REPOSITORY="reader/attention",
        GITHUB_OUTPUT=str(tmp_path / "output"),
    )
    assert done.returncode == 0
    if published:
        assert (tmp_path / "output").read_text() == f"address={address}\n"
    else:
        assert not (tmp_path / "output").exists()
        assert "::notice title=The pages are not published::" in done.stdout


@posix
def test_the_branch_for_colab_holds_the_notebooks_of_the_last_build_alone(tmp_path: Path) -> None:
    remote = tmp_path / "reader" / "attention"
    subprocess.run(["git", "init", "--bare", "--quiet", remote], check=True)

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", "-C", remote, *arguments], capture_output=True, text=True)
        return done.stdout.split()

    for number, notebook in enumerate(("01.ipynb", "02.ipynb")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / notebook).write_text("{}")
        script = step("book", "launch", "Replace the branch launch")
        where = {"GITHUB_SERVER_URL": tmp_path.as_uri(), "GITHUB_REPOSITORY": "reader/attention"}
        done = run(script, folder, **where)
        assert done.returncode == 0, done.stderr
        assert git("ls-tree", "--name-only", LAUNCH_BRANCH) == [notebook]
        assert git("rev-list", "--count", LAUNCH_BRANCH) == ["1"]


@posix
def test_a_release_gets_every_download(tmp_path: Path) -> None:
    stand_in(tmp_path, "gh", 'printf "%s\\n" "$@"')
    names = [
        "attention-book.pdf",
        "attention-book-html.zip",
        "dist/attnbook-0.1.0-py3-none-any.whl",
    ]
    for name in names:
        (tmp_path / "downloads" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "downloads" / name).touch()
    done = run(step("book", "release", "Attach"), tmp_path, TAG="v1; echo")
    said = done.stdout.splitlines()
    assert said[:4] == ["release", "upload", "v1; echo", "--clobber"]
    assert sorted(said[4:]) == sorted(f"downloads/{name}" for name in names)


def test_what_is_published_is_what_the_tools_make() -> None:
    steps = WORKFLOWS["book"]["jobs"]["build"]["steps"]
    kept = {
        step["with"].get("name"): step["with"]["path"]
        for step in steps
        if "with" in step and "path" in step["with"]
    }
    made = [path.relative_to(ROOT).as_posix() for path in (make_pdf.PDF, make_zip.ZIP)]
    assert kept["downloads"].split() == [*made, "_build/dist/*.whl"]
    assert kept["notebooks"] == f"_build/html/{NOTEBOOKS}"
    assert kept[None] == "_build/html"
    assert LAUNCH_BRANCH in step("book", "launch", "Replace the branch launch")


def test_windows_runs_the_commands_of_make_test() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    variables = dict(re.findall(r"^(\w+) := (.*)$", makefile, re.M))

    def recipe(target: str) -> list[str]:
        lines = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.M)
        assert lines
        return [line.strip("\t@").partition(" ||")[0] for line in lines[1].splitlines()]

    wanted = recipe("check") + recipe("book") + recipe("test")
    for name, value in {**variables, "BIN": ".venv/Scripts"}.items():
        wanted = [line.replace(f"$({name})", value) for line in wanted]
    script = (ROOT / ".ci" / "run.cmd").read_text("utf-8")
    commands = re.findall(r"^(\.venv.*) \|\| exit /b 1$", script, re.M)
    assert [line.replace("\\", "/") for line in commands] == wanted
