"""Find errors that no run of the GitHub workflows would reveal. `make check` lints their files."""

from manuscript.common import ROOT
from press.extension.repository import LAUNCH_BRANCH, NOTEBOOKS

FOLDER = ROOT / ".github" / "workflows"


def test_no_code_from_pull_requests_runs_on_the_gpu() -> None:
    assert "pull_request" not in (FOLDER / "gpu.yml").read_text("utf-8")


def test_the_notebooks_are_pushed_to_where_their_links_lead() -> None:
    book = (FOLDER / "book.yml").read_text("utf-8")
    assert f"path: _build/html/{NOTEBOOKS}\n" in book
    assert "bash .ci/launch notebooks " in book
    script = (ROOT / ".ci" / "launch").read_text("utf-8")
    assert f" --initial-branch={LAUNCH_BRANCH}\n" in script
    assert script.endswith(f' "$repository" {LAUNCH_BRANCH}\n')
