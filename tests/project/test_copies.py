"""The reader's copies: what they contain, how they are updated, and what `make lab` opens."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attnbook.colors import ROLES
from attnbook.exercises import log
from attnbook.exercises.catalog import ALL
from manuscript.chapters import chapters
from manuscript.common import ROOT
from manuscript.normal_form import INSTALL, METADATA
from tools.lab.copies import copy_book, readers_folder
from tools.lab.settings import arguments, to_do
from tools.rules import RAW

OPENING = "# 1. Library\n\n**Question:** Why?\n\n**Time:** 5 minutes"
STUB = "def my_answer():\n    raise NotImplementedError\n\n\ncheck(my_answer)"
ANSWER = "def my_answer():\n    return 1\n\n\ncheck(my_answer)"
NAME = "01_library.ipynb"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tests away from the signatures and the progress of the person who runs them."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ATTNBOOK_PROGRESS", str(tmp_path / "progress"))


def ran(id: str, source: str) -> NotebookNode:
    """Make a cell that has printed something."""
    shown = new_output("stream", text=f"of {id}")
    return new_code_cell(source, id=id, execution_count=1, outputs=[shown])


def answering(cell: NotebookNode) -> NotebookNode:
    """Tag a cell that answers a prediction."""
    cell.metadata.tags = ["answer"]
    return cell


def write_chapter(root: Path, text: str, **stubs: str) -> None:
    """Write a book: a chapter with this text, a page, and these stubs (by default two)."""
    stubs = stubs or {"answer": STUB, "other": STUB}
    (root / "book").mkdir(exist_ok=True)
    cells = [
        new_markdown_cell(OPENING, id="opening", metadata={"minutes": [5, 0]}),
        new_code_cell(INSTALL, id="install"),
        new_markdown_cell(text, id="text"),
        ran("seen", "1"),
        new_markdown_cell("**Predict before you run.** What?", id="question"),
        answering(ran("experiment", "2")),
        new_markdown_cell("*A caption.*", id="caption", metadata={"tags": ["caption"]}),
        answering(ran("more", "3")),
        answering(new_markdown_cell("That is why.", id="why")),
        ran("after", "4"),
        *(new_code_cell(stub, id=f"stub-{name}") for name, stub in stubs.items()),
    ]
    metadata = json.loads(json.dumps(METADATA))
    nbformat.write(new_notebook(cells=cells, metadata=metadata), root / "book" / NAME)
    (root / "book" / "page.md").write_text("# Page\n")
    (root / "_toc.yml").write_text("root: book/page\nchapters: [{file: book/01_library}]\n")


def cells(path: Path) -> dict[str, NotebookNode]:
    """Return the cells of a notebook by their ids."""
    return {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}


def answer(copy: Path, text: str) -> None:
    """Type an answer into a copy."""
    notebook = nbformat.read(copy, as_version=4)
    next(cell for cell in notebook.cells if cell.id == "stub-answer").source = text
    nbformat.write(notebook, copy)


def names(folder: Path) -> list[str]:
    """List the notebooks in a folder."""
    return sorted(path.name for path in folder.glob("*.ipynb"))


def test_a_copy_is_trusted_folded_and_leaves_predictions_open(tmp_path: Path) -> None:
    write_chapter(tmp_path, "one")
    assert copy_book(tmp_path, tmp_path / "my") == []
    copy = nbformat.read(tmp_path / "my" / NAME, as_version=4)
    assert NotebookNotary().check_signature(copy)
    assert copy.metadata.kernelspec.display_name == "Python 3 (ipykernel)"
    assert copy.metadata.language_info.version
    found = cells(tmp_path / "my" / NAME)
    assert found["install"].metadata.jupyter.source_hidden
    assert [c.id for c in copy.cells if c.get("outputs")] == ["seen", "after"]
    assert found["experiment"].execution_count is None


def test_a_copy_has_the_colors_of_the_roles_that_its_formulas_name(tmp_path: Path) -> None:
    named = r"$\textcolor{query}{Q} = \textcolor{other}{x}$, and `{query}` is no formula"
    write_chapter(tmp_path, named)
    (tmp_path / "book" / "page.md").write_text(named)
    copy_book(tmp_path, tmp_path / "my")
    colored = named.replace("color{query}", f"color{{{ROLES['query'].light}}}")
    assert colored != named
    assert cells(tmp_path / "my" / NAME)["text"].source == colored
    assert (tmp_path / "my" / "page.md").read_text() == colored


@pytest.mark.skipif(os.name == "nt", reason="Binder runs Linux")
def test_notebooks_in_binder_are_colored_and_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chapter(tmp_path, r"$\textcolor{value}{V}$")
    folder = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    subprocess.run(["sh", ROOT / "binder" / "postBuild"], cwd=tmp_path, check=True)
    notebook = nbformat.read(tmp_path / "book" / NAME, as_version=4)
    color = ROLES["value"].light
    assert rf"$\textcolor{{{color}}}{{V}}$" in [cell.source for cell in notebook.cells]
    assert NotebookNotary().check_signature(notebook)


def test_a_changed_copy_stays_and_a_newer_version_is_put_beside_it(tmp_path: Path) -> None:
    mine = tmp_path / "my"
    old, new = (mine / f"01_library{mark}.ipynb" for mark in ("", " (new)"))
    write_chapter(tmp_path, "one")
    copy_book(tmp_path, mine)
    write_chapter(tmp_path, "two")
    assert copy_book(tmp_path, mine) == []  # nothing was typed there, so it is replaced
    assert cells(old)["text"].source == "two"

    answer(old, ANSWER)
    (mine / "page.md").write_text("my notes")
    kept = old.read_bytes()
    assert copy_book(tmp_path, mine) == []  # the chapter has not changed
    write_chapter(tmp_path, "three")
    for _ in range(2):
        assert [line.partition(":")[0] for line in copy_book(tmp_path, mine)] == [f"my/{new.name}"]
    assert (old.read_bytes(), (mine / "page.md").read_text()) == (kept, "my notes")
    found = cells(new)
    assert next(iter(found)) == "newer"
    assert f"`{NAME}`" in found["newer"].source
    assert (found["text"].source, found["stub-answer"].source) == ("three", ANSWER)
    assert found["stub-answer"].outputs == []
    assert found["stub-other"].source == STUB

    answer(new, ANSWER + "  # better")  # the reader continues there
    write_chapter(tmp_path, "four")
    kept = new.read_bytes()
    (line,) = copy_book(tmp_path, mine)
    assert line.endswith("remove this copy or '01_library (new).ipynb'")
    assert new.read_bytes() == kept

    old.unlink()
    assert len(copy_book(tmp_path, mine)) == 1
    assert (old.read_bytes(), names(mine)) == (kept, sorted([old.name, new.name]))
    assert cells(new)["text"].source == "four"
    assert cells(new)["stub-answer"].source == ANSWER + "  # better"


def test_an_answer_without_its_stub_is_kept_through_every_later_version(tmp_path: Path) -> None:
    mine = tmp_path / "my"
    old, new = (mine / f"01_library{mark}.ipynb" for mark in ("", " (new)"))
    write_chapter(tmp_path, "one")
    copy_book(tmp_path, mine)
    answer(old, ANSWER)

    # The exercise's function gets an argument: the old answer is put below the new stub.
    changed = STUB.replace("()", "(x)", 1)
    write_chapter(tmp_path, "two", answer=changed, other=STUB)
    for _ in range(2):  # the second time, both copies exist
        copy_book(tmp_path, mine)
        found = cells(new)
        ids = [*found]
        (kept,) = (id for id in ids if id.startswith("kept-"))
        assert ids.index(kept) == ids.index("stub-answer") + 1
        assert found["stub-answer"].source == changed
        assert found[kept].cell_type == "markdown"
        assert "The function to write has changed" in found[kept].source
        assert f"````python\n{ANSWER}\n````" in found[kept].source
        write_chapter(tmp_path, "two, corrected", answer=changed, other=STUB)

    # The exercise moves to another chapter, once the newer copy has taken the old one's place.
    old.unlink()
    write_chapter(tmp_path, "three", other=STUB)
    assert copy_book(tmp_path, mine) == []
    assert names(mine) == [NAME]
    after = cells(old)
    assert (after["text"].source, [*after][-1]) == ("three", kept)
    assert after[kept].source == found[kept].source


def test_the_answer_to_a_dropped_exercise_is_kept(tmp_path: Path) -> None:
    write_chapter(tmp_path, "one")
    copy_book(tmp_path, tmp_path / "my")
    answer(tmp_path / "my" / NAME, ANSWER)
    write_chapter(tmp_path, "two", other=STUB)
    copy_book(tmp_path, tmp_path / "my")
    kept = [*cells(tmp_path / "my" / "01_library (new).ipynb").values()][-1].source
    assert kept.endswith(f"no longer in this chapter.\n\n````python\n{ANSWER}\n````")


def test_a_draft_is_not_copied(tmp_path: Path) -> None:
    write_chapter(tmp_path, "one")
    (tmp_path / "book" / "02_begun.ipynb").write_text("not a notebook yet")
    (tmp_path / "book" / "notes.md").write_text("# Notes")
    with (tmp_path / "_toc.yml").open("a") as contents:
        contents.write("meta: {drafts: [{file: book/02_begun}, {file: book/notes}]}\n")
    copy_book(tmp_path, tmp_path / "my")
    assert names(tmp_path / "my") == [NAME]
    assert not (tmp_path / "my" / "notes.md").exists()


def test_the_books_own_copies_have_no_dead_links_no_raw_text_and_the_colors_of_all_roles(
    tmp_path: Path,
) -> None:
    assert copy_book(ROOT, tmp_path / "my") == []
    colors = set()
    for path in (tmp_path / "my").glob("[!.]*.*"):
        text = path.read_text("utf-8")
        colors |= set(re.findall(r"textcolor\{(.*?)\}", text))
        for link in re.findall(r"\]\((?!https?:)([\w/-]+\.(?:md|ipynb|html|svg|png))", text):
            assert (path.parent / link).is_file(), f"{path.name} links to {link}"
        if path.suffix == ".md":  # `make check` checks notebooks for this
            assert not [p for p in RAW.values() if re.search(p, text, re.M)], path.name
    assert colors == {role.light for role in ROLES.values()}


def test_readers_of_a_read_only_installation_have_their_copies_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert readers_folder() == ROOT / "my"
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: not Path(path).is_relative_to(ROOT))
    assert readers_folder() == tmp_path / "attention-book"
    write_chapter(tmp_path, "Old.")
    copy_book(tmp_path, readers_folder())
    answer(readers_folder() / NAME, ANSWER)
    write_chapter(tmp_path, "New.")
    (line,) = copy_book(tmp_path, readers_folder())
    assert line.startswith("attention-book/01_library (new).ipynb: ")


def test_the_lab_opens_the_first_chapter_with_an_exercise_to_do(tmp_path: Path) -> None:
    assert to_do(tmp_path) == NAME
    for exercise in ALL:
        if exercise.startswith("01"):
            assert to_do(tmp_path) == NAME
            log.record(exercise, "pass")
    assert to_do(tmp_path).startswith("02_")
    for exercise in ALL:
        log.record(exercise, "pass")
    assert to_do(tmp_path) == chapters()[-1].path.name


def test_the_lab_opens_a_chapter_of_a_translation(tmp_path: Path) -> None:
    code = "import sys, pathlib; from tools.lab import settings; "
    code += "print(settings.to_do(pathlib.Path(sys.argv[1])))"
    environment = {**os.environ, "ATTNBOOK_LANGUAGE": "zh_CN"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    opened = subprocess.check_output(command, cwd=ROOT, env=environment, text=True)
    assert opened.strip() == NAME


def test_the_lab_opens_the_newer_of_two_copies(tmp_path: Path) -> None:
    for name in (NAME, "01_library (new).ipynb"):
        (tmp_path / name).touch()
    assert "--LabApp.default_url=/lab/tree/01_library%20%28new%29.ipynb" in arguments(tmp_path)
