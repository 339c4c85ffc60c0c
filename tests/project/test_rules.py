"""Each rule for pages reports a page that breaks it. `make check` reads the book's own pages."""

import inspect
import json
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import attnbook
from manuscript import markers
from manuscript.common import ROOT, UserError
from manuscript.normal_form import INSTALL, METADATA
from tools.rules import complaints, contents_rules, file_rules, main

Cells = dict[str, Any]  # the cells of a notebook by id, in order
SVG = "image/svg+xml"
Edit = Callable[[Cells], Any]


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "outputs": list(outputs), "source": source}


def prints(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"name": name, "output_type": "stream", "text": [text]}


def displays(kind: str, text: str) -> dict[str, Any]:
    data = {kind: text if kind == "image/png" else [text]}
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def described(alt: str) -> dict[str, Any]:
    return {"mystnb": {"image": {"alt": alt}}}


def good_chapter() -> Cells:
    """A small chapter that breaks no rule."""
    cells = {
        "title": markdown(
            "# 3. A small chapter\n\n> **Before you start**\n>\n"
            "> **Question:** why?\n>\n> **Time:** 5 minutes.\n>\n> **You need:** chapter 2\n>\n"
            "> **Recap:** a word is a vector.\n>\n> **Goal:** to see [3.1](03_single_head.ipynb)."
        ),
        "two-minutes": markdown(
            '<details class="card">\n<summary>In two minutes</summary>\n\nA word.\n\n</details>'
        ),
        "install": code(INSTALL),
        "imports": code("import torch\nfrom attnbook import show_source"),
        "shapes": markdown(
            "## 3.1 The goal\n\n| name | shape |\n|---|---|\n| x | (2, 3) |\n\n$3!$"
        ),
        "library": code("show_source(torch.nn.Linear)", displays("text/plain", "class Linear")),
        "predict": markdown("## 3.2 An experiment\n\n**Predict before you run.** How many?"),
        "count": code("print(1 + 1)", prints("2\n")),
        "picture": code("draw()", displays(SVG, "<svg></svg>")),
        "seen": markdown("Two."),
        "check": code("torch.testing.assert_close(torch.ones(2), torch.ones(2))"),
        "summary": markdown("## 3.3 Summary\n\n1. One\n2. Two\n3. Three\n4. Four\n5. Five"),
        "sources": markdown("In none: [none](appendix_sources.ipynb#chapter-3)."),
    }
    cells["title"]["metadata"] = {"minutes": [5, 0]}
    cells["install"]["metadata"] = {"tags": ["remove-cell"]}
    cells["picture"]["metadata"] = described("A map of two words: each looks at the other.")
    for name in ("count", "picture", "seen"):
        cells[name]["metadata"]["tags"] = ["answer"]
    for count, cell in enumerate([c for c in cells.values() if "outputs" in c], start=1):
        cell["execution_count"] = count
    for name, cell in cells.items():
        cell["id"] = name
    return cells


def write(folder: Path, cells: Cells, name: str = "03_small.ipynb") -> Path:
    """Write the cells as tools/run.py would."""
    for cell in cells.values():
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
    notebook = {"cells": [*cells.values()], "metadata": METADATA, "nbformat": 4}
    notebook["nbformat_minor"] = 5
    path = folder / name
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def test_a_good_chapter_gives_no_complaints(tmp_path: Path) -> None:
    assert list(complaints(write(tmp_path, good_chapter()))) == []


def outputs(*new: dict[str, Any], of: str = "count") -> Edit:
    return lambda cells: cells[of].update(outputs=list(new))


def metadata(new: dict[str, Any], of: str = "count") -> Edit:
    return lambda cells: cells[of].update(metadata=new)


def source(new: str, of: str = "count") -> Edit:
    return lambda cells: cells[of].update(source=new)


def replaced(old: str, new: str, of: str) -> Edit:
    def edit(cells: Cells) -> None:
        assert old in cells[of]["source"]
        cells[of]["source"] = cells[of]["source"].replace(old, new)

    return edit


def never_run(cells: Cells) -> None:
    cells["count"].update(execution_count=None, outputs=[])


def png_alone(cells: Cells) -> None:
    outputs(displays("image/png", "iVBO"), of="picture")(cells)
    cells["check"]["source"] = "2"


COPY = inspect.getsource(attnbook.softmax)
# The body of another function, without its last line, as loose lines with new comments.
ATTENTION = inspect.getsource(attnbook.scaled_dot_product_attention)
BODY = textwrap.dedent(ATTENTION.partition('"""\n')[2]).splitlines()
LOOSE = [line + "  # mine" for line in BODY[:-1]]

NO_WORDS = "needs a sentence on what it shows"
BROKEN: dict[str, tuple[Edit, str]] = {
    # what nbval does not find
    "never run": (never_run, "have run as [1, 2, 3, None, 5, 6]"),
    "run out of order": (lambda c: c["count"].update(execution_count=7), "[1, 2, 3, 7, 5, 6]"),
    "stderr": (outputs(prints("oh\n", "stderr")), "prints to stderr"),
    "PNG": (png_alone, "holds a PNG or JPEG"),
    "no alt text": (metadata({}, of="picture"), NO_WORDS),
    "short alt text": (metadata(described("A map."), of="picture"), NO_WORDS),
    "file name as alt text": (metadata(described("map " * 9 + "words.svg"), "picture"), NO_WORDS),
    "comparison off by comment": (source("# NBVAL_SKIP\nprint(1 + 1)"), "the comparison off"),
    "comparison off by tag": (metadata({"tags": ["nbval-skip"]}), "the comparison off"),
    # the file
    "editor's metadata": (metadata({"collapsed": False}), "is not in its normal form"),
    "no id": (lambda c: c["count"].pop("id"), "is not in its normal form"),
    "id of a machine": (lambda c: c["count"].update(id="bf8d14db"), "was made by a machine"),
    # the install cell, the import cell, and cells in general
    "nothing installs": (lambda c: c.pop("install"), "is not in its normal form"),
    "no import cell": (source("x = 1", of="imports"), "the second code cell has to be the import"),
    "second import cell": (source("import math"), "a later cell, 'import math'"),
    "search path": (source("s.sys.path.append('..')"), "sets up the machine"),
    "installs": (source("%pip install x"), "'%pip install x' is not plain Python"),
    "long cell": (source("\n".join(f"x = {n}" for n in range(16))), "has 16 lines"),
    "long line": (
        source(f"print(2)\nx = 1  # {'long ' * 15}x"),
        "cell count: line 2 has 85 characters: 84 at most",
    ),
    # copies of the library
    "copied function": (source(COPY), "copies scaled_dot_product.py"),
    "short copy": (source(inspect.getsource(attnbook.merge_heads)), "copies heads.py"),
    "renamed copy": (
        source(COPY.replace("def softmax", "def weigh")),
        "copies scaled_dot_product.py",
    ),
    "copied lines": (source("\n".join(LOOSE)), "copies scaled_dot_product.py"),
    # the form of a chapter
    "title of another chapter": (replaced("# 3.", "# 4.", of="title"), "begin with its title"),
    "no card": (lambda cells: cells.pop("two-minutes"), "needs a cell 'two-minutes'"),
    "no time": (replaced("**Time:** 5 minutes.", "", of="title"), "needs a line '**Time:** ...'"),
    "vague time": (replaced("5 minutes", "not long", of="title"), "not in its normal form"),
    "wrong section number": (replaced("3.2", "3.3", of="predict"), "has to be number 3.2"),
    "no summary": (replaced("Summary", "Wrap-up", of="summary"), "has to close with"),
    "four lines of summary": (replaced("\n5. Five", "", of="summary"), "five numbered lines"),
    "another chapter's sources": (
        replaced("chapter-3", "chapter-4", of="sources"),
        "links to its part of the appendix, appendix_sources.ipynb#chapter-3",
    ),
    "library not shown": (source("2", of="library"), "never calls show_source()"),
    "nothing checked": (source("2", of="check"), "never calls assert_close()"),
    # what answers a prediction
    "output in sight": (
        lambda c: c["count"]["metadata"].pop("tags"),
        "count: answers a prediction",
    ),
    "text in sight": (lambda c: c["seen"]["metadata"].pop("tags"), "seen: answers a prediction"),
    "no prediction": (source("## 3.2 An experiment", of="predict"), "count: has the tag 'answer'"),
    "the next one in the answer": (
        source("Two.\n\n**Predict before you run.** And now?", of="seen"),
        "not only an answer",
    ),
    "more than the answer": (source("Two.\n\n### And now", of="seen"), "not only an answer"),
    "text about hidden code": (
        source("About it.", of="summary"),
        "summary: is about code that is hidden",
    ),
    # second readings
    "tag of a second reading": (
        metadata({"tags": ["second-reading"]}, of="predict"),
        "predict: has to have both the tag",
    ),
    "words of a second reading": (
        replaced("experiment", "experiment (second reading)", of="predict"),
        "and (second reading) at the end of its heading",
    ),
    # references
    "no such section": (replaced("[3.1]", "[3.99]", of="title"), "names section 3.99, which 03_"),
    "no such chapter": (replaced("(03_s", "(30_s", of="title"), "names section 3.1, which 30_s"),
    # what works only on a built page
    "directive": (source(":::{note} Look\nText\n:::", of="predict"), "a directive, ':::'"),
    "fence": (source("```{figure} a.svg\n```", of="predict"), "a directive, '```{'"),
    "option": (source("> Text\n\n:class: tip\n", of="predict"), "a directive, ':class: '"),
    "role": (source("See {numref}`fig-1`.", of="predict"), "has a role, '{numref}`'"),
    "label": (source("(here)=\n\nText", of="predict"), "has a label, '(here)='"),
    # the voice
    "filler": (replaced("In none", "It is simply so", of="sources"), "says 'simply'"),
    "exclamation": (replaced("In none", "In none!", of="sources"), "exclaims: 'In none!'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named(name: str, tmp_path: Path) -> None:
    edit, expected = BROKEN[name]
    cells = good_chapter()
    edit(cells)
    found = list(complaints(write(tmp_path, cells)))
    assert any(expected in line for line in found), found


def test_a_picture_in_pixels_is_fine_beside_a_cell_that_asserts(tmp_path: Path) -> None:
    cells = good_chapter()
    png_alone(cells)
    cells["check"]["source"] = "assert 1 + 1 == 2; torch.testing.assert_close(1.0, 1.0)"
    assert list(complaints(write(tmp_path, cells))) == []


def test_a_single_step_of_the_library_is_not_a_copy(tmp_path: Path) -> None:
    cells = good_chapter()
    cells["count"]["source"] = "\n".join(LOOSE[:2])
    assert list(complaints(write(tmp_path, cells))) == []


def test_a_page_without_code_keeps_the_voice(tmp_path: Path) -> None:
    page = tmp_path / "index.md"
    page.write_text("# A book\n\nThis is simply so.\n")
    assert list(complaints(page)) == [f"{page}: says 'simply'"]


def test_a_page_that_the_contents_do_not_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    for name in ("01_one.ipynb", "02_two.ipynb", "03_three.ipynb", "notes.md"):
        (tmp_path / "book" / name).touch()
    files = [{"file": "book/02_two"}, {"file": "book/notes"}]
    being_written = [{"file": "book/02_two"}, {"file": "book/03_three"}]
    contents = {"chapters": files, "meta": {"drafts": being_written}}
    (tmp_path / "_toc.yml").write_text(json.dumps(contents))
    one, two = contents_rules(tmp_path)
    assert one.endswith(
        "01_one.ipynb: is not in _toc.yml: add it to the chapters, or to meta: drafts:"
    )
    assert two.endswith("02_two.ipynb: is in _toc.yml twice, as a page and as a draft")


def begun(cells: Cells) -> None:
    """Reduce a chapter to what its author writes on the first day."""
    cells["title"]["source"] = "# 3. A small chapter"
    cells["summary"]["source"] = "## 3.3 To be continued"
    for name in ("library", "check"):
        cells[name]["source"] = "2"
    del cells["sources"]


def test_a_draft_needs_no_form_yet_and_the_other_rules_apply(tmp_path: Path) -> None:
    cells = good_chapter()
    begun(cells)
    path = write(tmp_path, cells)
    assert list(complaints(path, draft=True)) == []
    assert len(list(complaints(path))) == len(markers.OPENING) + 3  # the ending and two calls
    for name in ("never run", "stderr", "no alt text", "editor's metadata", "second import cell",
                 "long cell", "copied function", "title of another chapter", "role", "filler",
                 "wrong section number", "no such section"):  # fmt: skip
        edit, expected = BROKEN[name]
        cells = good_chapter()
        edit(cells)
        lines = list(complaints(write(tmp_path, cells), draft=True))
        assert any(expected in line for line in lines), (name, lines)


def test_the_command_applies_fewer_rules_to_a_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = good_chapter()
    begun(cells)
    path = write(tmp_path, cells)
    monkeypatch.setattr("tools.rules.drafts", lambda: [path])
    monkeypatch.chdir(tmp_path)
    assert main([path.name]) == 0
    monkeypatch.setattr("tools.rules.drafts", list)
    assert main([path.name]) == 1


def test_the_message_names_the_command_that_writes_the_normal_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(source: str) -> str:
        cells = json.loads((ROOT / "book" / "01_library.ipynb").read_text("utf-8"))["cells"]
        by_id = {cell["id"]: cell for cell in cells}
        by_id["exercise-lookup"]["source"] += source
        by_id["imports"]["metadata"] = {"collapsed": True}
        (line,) = file_rules(write(tmp_path / "book", by_id, "01_library.ipynb"))
        return line

    (tmp_path / "book").mkdir()
    monkeypatch.setattr("manuscript.cells.ROOT", tmp_path)
    end = f" {tmp_path / 'book' / '01_library.ipynb'}"
    run = "is not in its normal form: run .venv/bin/python -m tools.run"
    assert command("") == f"{run} --form{end}"
    assert command("by hand") == f"{run} --form{end}"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (None, "attention book: _toc.yml names book/01_gone, but there is no book/01_gone.ipynb"),
        ("{", "is not a readable notebook (Expecting"),
    ],
)
def test_missing_or_broken_pages_are_reported_without_a_traceback(
    page: str | None, message: str, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "setup.py", tmp_path)
    for folder in ("manuscript", "tools"):  # they read the book beside them
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "book").mkdir()
    if page:
        (tmp_path / "book" / "01_gone.ipynb").write_text(page)
    (tmp_path / "_toc.yml").write_text("root: book/01_gone")
    command = [sys.executable, "-m", "tools.rules"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_an_appendix_needs_no_opening_and_no_summary(tmp_path: Path) -> None:
    cells = good_chapter()
    for name in ("title", "summary", "sources"):
        del cells[name]
    assert list(complaints(write(tmp_path, cells, "appendix_sources.ipynb"))) == []
    assert list(complaints(write(tmp_path, cells))) != []


def test_the_command_accepts_a_folder(tmp_path: Path, capsys: Any) -> None:
    write(tmp_path, good_chapter())
    (tmp_path / "page.md").write_text("# A page\n")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == "2 pages, 0 complaints\n"
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty contains no pages"):
        main([str(tmp_path / "empty")])


def test_the_command_prints_the_complaints_and_fails(tmp_path: Path, capsys: Any) -> None:
    cells = good_chapter()
    path = write(tmp_path, cells)
    assert main([str(path)]) == 0
    never_run(cells)
    assert main([str(write(tmp_path, cells))]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "1 page, 0 complaints"
    assert printed[1].startswith(f"{path}: its cells have run as [1, 2, 3, None")
