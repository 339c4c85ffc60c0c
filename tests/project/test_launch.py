"""The branch `launch` grows by commits, so that nbgitpuller can merge it into readers' copies."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from manuscript.common import ROOT

WHO = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "x"), ("EMAIL", "x@example.org"))
}


def run(*command: str | Path) -> str:
    """Run a command in the checkout and return what it prints."""
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | WHO, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(os.name == "nt" or not shutil.which("bash"), reason="needs bash")
def test_the_second_push_can_be_merged_into_a_copy(tmp_path: Path) -> None:
    notebooks, remote, copy = tmp_path / "notebooks", tmp_path / "remote", tmp_path / "copy"
    notebooks.mkdir()
    run("git", "init", "--quiet", "--bare", remote)
    for number in ("1", "2", "2"):  # the third time, nothing is new
        (notebooks / "chapter.ipynb").write_text(number)
        (notebooks / f"file{number}").write_text(number)
        run("bash", ".ci/launch", notebooks, remote.as_uri())
        if not copy.exists():
            run("git", "clone", "--quiet", "--branch=launch", remote.as_uri(), copy)
    run("git", "-C", copy, "pull", "--quiet", "--no-rebase", "-Xours")  # as nbgitpuller does
    assert (copy / "chapter.ipynb").read_text() == "2"
    assert (copy / "file1").exists()
    assert run("git", "-C", copy, "rev-list", "--count", "HEAD").strip() == "2"
    assert {path.name for path in notebooks.iterdir()} == {"chapter.ipynb", "file1", "file2"}
