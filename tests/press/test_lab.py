"""Every chapter opens in JupyterLab, in the reader's own copy, and runs there from end to end.

The server has folders of its own for its settings, so that a reader's are neither read nor written.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tools.common import ROOT
from tools.copies import copy_notebooks

NOTEBOOKS = sorted(path.name for path in (ROOT / "book").glob("*.ipynb"))
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
SAVED = f"() => {{ {NOTEBOOK} return !notebook.dirty; }}"
SHUT_DOWN = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


@dataclass
class Lab:
    """A running JupyterLab."""

    address: str
    token: str

    def get(self, path: str) -> Any:
        """Ask the server."""
        request = urllib.request.Request(
            f"{self.address}{path}", headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=START) as answer:
            return json.load(answer)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab over copies made as `make lab` makes them; the book itself stays as it is."""
    book = {path: path.read_bytes() for path in (ROOT / "book").glob("*.ipynb")}
    folder = tmp_path_factory.mktemp("lab")
    assert copy_notebooks(ROOT / "book", folder / "my") == []
    own = {name: str(folder / name.lower()) for name in FOLDERS}
    token = secrets.token_hex()
    log = folder / "log.txt"
    with log.open("w") as said:
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", str(folder / "my"), "--no-browser"),
                *("--allow-root", "--expose-app-in-browser", f"--IdentityProvider.token={token}"),
                *(
                    "--LabApp.news_url=",
                    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
                ),
            ],
            env=os.environ | own | {"OMP_NUM_THREADS": "1", "JUPYTER_PREFER_ENV_PATH": "1"},
            stdout=said,
            stderr=said,
        )
    try:
        running = Lab(address_of(server, Path(own["JUPYTER_RUNTIME_DIR"]), log), token)
        yield running
        assert running.get("api/kernels") == []
    finally:
        server.terminate()
        try:
            server.wait(START)
        except subprocess.TimeoutExpired:
            server.kill()
            raise
    assert {path: path.read_bytes() for path in book} == book
    shutil.rmtree(folder)


def address_of(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Where the server listens, once it says so: it takes another port if its first is taken."""
    until = time.monotonic() + START
    while time.monotonic() < until and server.poll() is None:
        for note in runtime.glob("jpserver-*.json"):
            try:
                return str(json.loads(note.read_text("utf-8"))["url"])
            except ValueError:  # not written to its end
                pass
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text('utf-8')}")


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A browser window that reaches nothing but this machine."""
    window = browser.new_context(viewport={"width": 1280, "height": 900})
    window.route(
        "**/*",
        lambda route: (
            route.continue_()
            if "127.0.0.1" in route.request.url or "localhost" in route.request.url
            else route.abort()
        ),
    )
    window.set_default_timeout(1000 * START)
    yield window
    window.close()


def choose(page: Page, menu: str, entry: str) -> None:
    """Choose an entry of a menu, as a reader does."""
    page.locator(".lm-MenuBar-itemLabel", has_text=menu).first.click()
    page.get_by_text(entry, exact=True).click()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_chapter_opens_and_runs(lab: Lab, window: BrowserContext, name: str) -> None:
    book = json.loads((ROOT / "book" / name).read_text("utf-8"))["cells"]
    wanted = {cell["id"]: cell["outputs"] for cell in book if cell["cell_type"] == "code"}

    page = window.new_page()
    page.goto(f"{lab.address}lab/tree/{name}?reset&token={lab.token}")
    page.wait_for_function(READY)
    try:
        choose(page, "Edit", "Clear Outputs of All Cells")
        page.wait_for_function(CLEARED)
        choose(page, "Run", "Run All Cells")
        page.wait_for_function(DONE, timeout=1000 * RUN)
        found = {cell: (count, outputs) for cell, count, outputs in page.evaluate(OUTPUTS)}
        figures = [cell for cell in wanted if "image/svg+xml" in kinds(wanted[cell])]
        heights = {cell: page.evaluate(SHOWN, cell) for cell in figures}
        choose(page, "File", "Save Notebook")
        page.wait_for_function(SAVED)
    finally:
        page.evaluate(SHUT_DOWN)
        page.close()

    assert list(found) == list(wanted)
    assert [count for count, _ in found.values()] == list(range(1, len(wanted) + 1))
    for cell, (_, outputs) in found.items():
        assert kinds(outputs) == kinds(wanted[cell]), cell
        if cell.startswith("stub-"):
            assert text(outputs) == text(wanted[cell])
            assert text(outputs).startswith("○ ")
    assert {cell: height for cell, height in heights.items() if height < 20} == {}


def kinds(outputs: list[dict[str, Any]]) -> set[str]:
    """What kinds of output a cell has."""
    return {kind for o in outputs for kind in o.get("data", [o.get("name", o["output_type"])])}


def text(outputs: list[dict[str, Any]]) -> str:
    """What a cell printed."""
    return "".join("".join(output.get("text", "")) for output in outputs)
