"""A chapter is worked through in JupyterLab, in the reader's own copy, as a student would.

Its outputs are nbval's business. The server has folders of its own for its settings, so that a
reader's are neither read nor written.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support.pages import DESK, window
from tools.common import ROOT
from tools.copies import copy_notebooks

CHAPTER = "01_library.ipynb"
NO_UPDATES = "jupyterlab.NeverCheckForUpdate"
START = 120  # seconds for the server, a page or a kernel to come up on a busy machine
RUN = 600  # seconds for a notebook, as in `make nbval`
FOLDERS = """
IPYTHONDIR JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTERLAB_SETTINGS_DIR
JUPYTERLAB_WORKSPACES_DIR ATTNBOOK_PROGRESS
""".split()

# What the page's scripts look at: the notebook in front, and its code cells.
NOTEBOOK = "const panel = window.jupyterapp?.shell.currentWidget, notebook = panel?.content?.model;"
CELLS = NOTEBOOK + "const cells = [...(notebook?.cells ?? [])].filter(c => c.type === 'code');"
READY = f"""() => {{ {CELLS}
    return cells.length && panel.sessionContext.session?.kernel?.status === 'idle'; }}"""
CLEARED = f"() => {{ {CELLS} return cells.every(c => c.executionCount === null); }}"
DONE = f"""() => {{ {CELLS}
    const failed = cells.some(c => c.outputs.toJSON().some(o => o.output_type === 'error'));
    const kernel = panel.sessionContext.session?.kernel?.status;
    return failed || kernel === 'dead' || kernel === undefined
        || kernel === 'idle' && cells.every((c, i) => c.executionCount === i + 1); }}"""
OUTPUTS = f"""() => {{ {CELLS}
    return cells.map(c => [c.id, c.executionCount, c.outputs.toJSON()]); }}"""
SHOWN = """async (id) => {
    const { content } = window.jupyterapp.shell.currentWidget;
    const place = content.widgets.findIndex(cell => cell.model.id === id);
    await content.scrollToItem(place);
    const picture = content.widgets[place].node.querySelector('.jp-RenderedSVG :is(img, svg)');
    return picture ? picture.getBoundingClientRect().height : 0; }"""
TYPED = """([id, source]) => {
    const { content } = window.jupyterapp.shell.currentWidget;
    content.activeCellIndex = content.widgets.findIndex(cell => cell.model.id === id);
    content.activeCell.model.sharedModel.setSource(source);
    return content.activeCell.model.executionCount; }"""
RUN_AGAIN = f"""([id, before]) => {{ {CELLS}
    const count = cells.find(c => c.id === id).executionCount;
    return count !== null && count !== before
        && panel.sessionContext.session?.kernel?.status === 'idle'; }}"""
SAVED = f"() => {{ {NOTEBOOK} return !notebook.dirty; }}"
SHUT_DOWN = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where JupyterLab runs, over copies as `make lab` makes them; the book stays as it is."""
    book = {path: path.read_bytes() for path in (ROOT / "book").glob("*.ipynb")}
    folder = tmp_path_factory.mktemp("lab")
    assert copy_notebooks(ROOT / "book", folder / "my") == []
    own = {name: str(folder / name.lower()) for name in FOLDERS}
    own |= {"OMP_NUM_THREADS": "1", "JUPYTER_PREFER_ENV_PATH": "1"}
    command = [sys.executable, "-m", "jupyterlab", str(folder / "my"), "--no-browser"]
    command += ["--allow-root", "--expose-app-in-browser", "--IdentityProvider.token=book"]
    command += ["--LabApp.news_url=", f"--LabApp.check_for_updates_class={NO_UPDATES}"]
    log = folder / "log.txt"
    with log.open("w") as said:
        server = subprocess.Popen(command, env=os.environ | own, stdout=said, stderr=said)
    try:
        yield address_of(server, Path(own["JUPYTER_RUNTIME_DIR"]), log)
    finally:
        server.terminate()
        server.wait(START)
    assert {path: path.read_bytes() for path in book} == book


def address_of(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Where the server listens, once it says so: it takes another port if its first is taken."""
    until = time.monotonic() + START
    while time.monotonic() < until and server.poll() is None:
        for note in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # not written to its end
                return str(json.loads(note.read_text("utf-8"))["url"])
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text('utf-8')}")


def choose(page: Page, menu: str, entry: str) -> None:
    """Choose an entry of a menu, as a reader does."""
    page.locator(".lm-MenuBar-itemLabel", has_text=menu).first.click()
    page.get_by_text(entry, exact=True).click()


@pytest.fixture(scope="module")
def chapter(lab: str, browser: Browser) -> Iterator[Page]:
    """The chapter, open, with its outputs cleared and run again from the menus."""
    context = window(browser, viewport=DESK)
    context.set_default_timeout(1000 * START)
    page = context.new_page()
    page.goto(f"{lab}lab/tree/{CHAPTER}?reset&token=book")
    page.wait_for_function(READY)
    choose(page, "Edit", "Clear Outputs of All Cells")
    page.wait_for_function(CLEARED)
    choose(page, "Run", "Run All Cells")
    page.wait_for_function(DONE, timeout=1000 * RUN)
    yield page
    choose(page, "File", "Save Notebook")
    page.wait_for_function(SAVED)
    page.evaluate(SHUT_DOWN)
    context.close()


def outputs(page: Page) -> dict[str, list[dict[str, Any]]]:
    """The outputs of each code cell, by its id."""
    return {cell: found for cell, _, found in page.evaluate(OUTPUTS)}


def test_every_cell_runs_and_shows_what_the_book_shows(chapter: Page) -> None:
    book = json.loads((ROOT / "book" / CHAPTER).read_text("utf-8"))["cells"]
    wanted = {cell["id"]: cell["outputs"] for cell in book if cell["cell_type"] == "code"}
    found = outputs(chapter)
    assert {cell: kinds(shown) for cell, shown in found.items()} == {
        cell: kinds(shown) for cell, shown in wanted.items()
    }
    assert "stderr" not in set().union(*map(kinds, found.values()))
    figures = [cell for cell in wanted if "image/svg+xml" in kinds(wanted[cell])]
    heights = {cell: chapter.evaluate(SHOWN, cell) for cell in figures}
    assert heights
    assert {cell: height for cell, height in heights.items() if height < 20} == {}


def test_an_answer_is_checked_where_it_is_typed(chapter: Page) -> None:
    cell = "stub-cosine"  # "repair the lines below, then delete this one"
    book = json.loads((ROOT / "book" / CHAPTER).read_text("utf-8"))["cells"]
    stub = next("".join(c["source"]) for c in book if c["id"] == cell)
    wrong = re.sub(r".*NotImplementedError.*\n", "", stub)
    right = wrong.replace("dim=0", "dim=-1, keepdim=True")
    assert stub != wrong != right
    for source, sign in (stub, "○"), (wrong, "✗"), (right, "✓"):
        before = chapter.evaluate(TYPED, [cell, source])
        choose(chapter, "Run", "Run Selected Cell")
        chapter.wait_for_function(RUN_AGAIN, arg=[cell, before])
        assert text(outputs(chapter)[cell]).startswith(sign)


def kinds(outputs: list[dict[str, Any]]) -> set[str]:
    """What kinds of output a cell has."""
    return {kind for o in outputs for kind in o.get("data", [o.get("name", o["output_type"])])}


def text(outputs: list[dict[str, Any]]) -> str:
    """What a cell printed, or shows."""
    shown = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return "".join("".join(part) for part in shown)
