"""Exercises in the pages: hints and solutions are folded, and come from the library."""

import html
import re
import subprocess
import sys
from pathlib import Path

from attnbook.exercises.catalogue import ALL
from tools.common import ROOT


def build(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Build one page with nothing but our directive, strictly."""
    (folder / "conf.py").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "extensions = ['myst_parser', 'press.extension.cards']\n"
        "myst_enable_extensions = ['colon_fence']\n",
        encoding="utf8",
    )
    (folder / "index.md").write_text(text, encoding="utf8")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", ".", "out"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_hints_and_solution_are_folded_and_the_librarys(tmp_path):
    done = build(tmp_path, "# Title\n\n:::{solution} 03.scores\nStuck?\n:::\n")
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "out" / "index.html").read_text("utf8")
    folded = re.findall(
        r'<details class="answer"><summary>(.*?)</summary>(.*?)</details>', page, re.S
    )
    assert [summary for summary, _ in folded] == ["Hint 1", "Hint 2", "Hint 3", "Solution"]
    plain = [re.sub(r"<[^>]+>|\s", "", html.unescape(inside)) for _, inside in folded]
    exercise = ALL["03.scores"]
    for hint, inside in zip(exercise.hints, plain, strict=False):
        assert re.sub(r"[`\s]", "", hint) in inside
    assert "query@key.mT/math.sqrt(query.size(-1))" in plain[3]
    assert "Stuck?" not in page


def test_an_unknown_exercise_stops_the_build(tmp_path):
    done = build(tmp_path, "# Title\n\n:::{solution} 03.nothing\n:::\n")
    assert done.returncode != 0
    assert "there is no exercise '03.nothing'" in done.stderr
