"""Work through a chapter in JupyterLab, in the reader's own copy, as a student would.

The outputs are tested by nbval. The server is that of `make lab`, but has its own folders for
settings, so that a reader's settings are neither read nor written.
"""

import contextlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from attnbook.colors import ROLES
from attnbook.exercises.catalog import ALL
from manuscript.common import ROOT
from tests.support.pages import DESK, window
from tools.lab.copies import copy_book
from tools.lab.settings import FOLDER, STARTUP, arguments
from tools.rules import RAW

CHAPTER = "01_library.ipynb"
EXERCISE = "01.cosine"  # its stub has wrong lines to repair, below a `raise` to delete
FIGURE = "attn-softmax"  # an interactive figure of this chapter
START = 120  # seconds for the server, a page or a kernel to start on a busy machine
RUN = 600  # seconds for a notebook, as in `make nbval`
FOLDERS = """
IPYTHONDIR JUPYTER_CONFIG_DIR JUPYTER_DATA_DIR JUPYTER_RUNTIME_DIR JUPYTERLAB_SETTINGS_DIR
JUPYTERLAB_WORKSPACES_DIR ATTNBOOK_PROGRESS
""".split()
LEFT_RAW = "|".join([*RAW.values(), r":::|\{[\w:]+\}|\$\$|\\[a-z]+\{|\*\*|<\w+[ >]|\]\("])

# What the scripts below inspect: the notebook in front, and its cells.
PANEL = "const panel = window.jupyterapp?.shell.currentWidget, content = panel?.content;"
CELLS = PANEL + "const cells = (content?.widgets ?? []).filter(w => w.model.type === 'code');"
IDLE = "panel.sessionContext.session?.kernel?.status === 'idle'"
READY = f"() => {{ {CELLS} return cells.length && {IDLE}; }}"
STATE = f"""() => {{ {CELLS} return {{
    changed: content.model.dirty,
    mistrusted: cells.filter(w => !w.model.trusted).map(w => w.model.id),
    popups: document.querySelectorAll('.jp-Dialog, .Toastify__toast').length,
    kernel: panel.sessionContext.kernelDisplayName }}; }}"""
FOUND = f"{PANEL} const place = content.widgets.findIndex(w => w.model.id === id);"
TEXT = f"""async (id) => {{ {FOUND}
    await content.scrollToItem(place);
    const shown = content.widgets[place].node.querySelector('.jp-MarkdownOutput');
    const formulas = /\\$/.test(content.widgets[place].model.sharedModel.getSource());
    return new Promise(tell => {{
        const look = () => !shown.textContent.trim()
            || formulas && !shown.querySelector('mjx-container')
            ? requestAnimationFrame(look) : tell(shown.innerText);
        look(); }}); }}"""
HEIGHT = f"""async (id) => {{ {FOUND}
    await content.scrollToItem(place);
    const picture = content.widgets[place].node.querySelector('.jp-RenderedSVG :is(img, svg)');
    return picture ? picture.getBoundingClientRect().height : 0; }}"""
DONE = f"""() => {{ {CELLS}
    const failed = cells.some(w => w.model.outputs.toJSON().some(o => o.output_type === 'error'));
    const kernel = panel.sessionContext.session?.kernel?.status;
    return failed || kernel === 'dead' || kernel === undefined
        || kernel === 'idle' && cells.every((w, i) => w.model.executionCount === i + 1); }}"""
OUTPUTS = f"() => {{ {CELLS} return cells.map(w => [w.model.id, w.model.outputs.toJSON()]); }}"
SELECT = f"""([id, source]) => {{ {FOUND}
    content.activeCellIndex = place;
    content.activeCell.model.sharedModel.setSource(source);
    return content.activeCell.model.executionCount; }}"""
RAN = f"""([id, before]) => {{ {FOUND}
    const count = content.widgets[place].model.executionCount;
    return count !== null && count !== before && {IDLE}; }}"""
CARD = f"""async (id) => {{ {FOUND}
    await content.scrollToItem(place);
    return content.widgets[place].node.querySelector('.jp-OutputArea').innerText; }}"""
COLORS = """() => [...new Set([...document.querySelectorAll('mjx-container [style*="color:"]')]
    .map(part => getComputedStyle(part).color))]"""
DARK = (
    "() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
)
IS_DARK = "() => document.body.dataset.jpThemeLight === 'false'"
RESTARTED = f"() => {{ {PANEL} return panel.sessionContext.restartKernel(); }}"
SAVED = f"() => {{ {PANEL} return !content.model.dirty; }}"
SHUT_DOWN = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run JupyterLab on the copies that `make lab` makes; check that the book is unchanged."""
    book = {path: path.read_bytes() for path in (ROOT / "book").iterdir() if path.is_file()}
    folder = tmp_path_factory.mktemp("lab")
    log = folder / "log.txt"
    with pytest.MonkeyPatch.context() as environment, log.open("w") as said:
        for name in FOLDERS:
            environment.setenv(name, str(folder / name.lower()))
        environment.setenv("OMP_NUM_THREADS", "1")
        environment.setenv("JUPYTER_PREFER_ENV_PATH", "1")
        environment.setenv("PYTHONSTARTUP", str(folder / "my" / FOLDER / STARTUP))
        assert copy_book(ROOT, folder / "my") == []
        command = [sys.executable, "-m", "jupyterlab", *arguments(folder / "my"), "--no-browser"]
        command += ["--allow-root", "--expose-app-in-browser", "--IdentityProvider.token=book"]
        server = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            yield address_of(server, folder / "jupyter_runtime_dir", log)
        finally:
            server.terminate()
            server.wait(START)
    assert "[I " not in log.read_text("utf-8")  # only warnings and errors
    assert {path: path.read_bytes() for path in book} == book


def address_of(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Wait for the server's address: it uses another port if the first one is taken."""
    until = time.monotonic() + START
    while time.monotonic() < until and server.poll() is None:
        for note in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # not yet completely written
                return str(json.loads(note.read_text("utf-8"))["url"])
        time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text('utf-8')}")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A browser page that can reach nothing but this machine."""
    context = window(browser, viewport=DESK)
    context.set_default_timeout(1000 * START)
    yield context.new_page()
    context.close()


def test_a_student_works_through_a_chapter(lab: str, page: Page) -> None:
    book = json.loads((ROOT / "book" / CHAPTER).read_text("utf-8"))["cells"]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    # She opens her copy: nothing pops up, the network is not used, and nothing counts as changed.
    page.goto(f"{lab}?token=book")
    page.wait_for_function(READY)
    kernel = "Python 3 (ipykernel)"
    calm = {"changed": False, "mistrusted": [], "popups": 0, "kernel": kernel}
    assert page.evaluate(STATE) == calm

    # She reads: the text is rendered in the colors of the theme, and the pictures are shown.
    page.evaluate(DARK)
    page.wait_for_function(IS_DARK)
    texts = {c["id"]: page.evaluate(TEXT, c["id"]) for c in book if c["cell_type"] == "markdown"}
    raw = {cell: re.search(LEFT_RAW, text, re.M) for cell, text in texts.items()}
    assert {cell: match[0] for cell, match in raw.items() if match} == {}
    colors = set(page.evaluate(COLORS))
    assert colors
    assert colors <= {rgb(role.dark) for role in ROLES.values()}
    pictures = [cell for cell, shown in outputs(page).items() if "image/svg+xml" in kinds(shown)]
    assert pictures
    assert [cell for cell in pictures if page.evaluate(HEIGHT, cell) < 20] == []
    shot = page.locator(".jp-RenderedSVG img").last.screenshot()
    paper = Image.open(io.BytesIO(shot)).convert("RGB").getpixel((2, 2))
    assert max(paper) < 30  # it is dark, like the theme

    # She follows a link to a page, which is rendered like the chapter, and comes back.
    linking = next(cell["id"] for cell in book if "](bibliography.md#" in "".join(cell["source"]))
    page.evaluate(TEXT, linking)
    page.locator(".jp-MarkdownOutput a[href*='bibliography.md']").first.click()
    page.locator(".jp-MarkdownViewer h1").wait_for()
    page.locator(".lm-DockPanel-tabBar .lm-TabBar-tabLabel", has_text=CHAPTER).click()

    # She predicts: the answer is not there yet.
    ids = [cell["id"] for cell in book]
    question = next(c["id"] for c in book if '<details class="choice"' in "".join(c["source"]))
    experiment = ids[ids.index(question) + 1]
    assert outputs(page)[experiment] == []
    page.evaluate(TEXT, question)
    choice = page.locator(".jp-MarkdownOutput details").first
    choice.locator("summary").click()
    assert choice.get_attribute("open") is not None

    # She runs all cells, and sees what the book shows.
    choose(page, "Run", "Run All Cells")
    page.wait_for_function(DONE, timeout=1000 * RUN, polling=500)  # else in each frame
    wanted = {c["id"]: kinds(c["outputs"]) for c in book if c["cell_type"] == "code"}
    found = {cell: kinds(shown) for cell, shown in outputs(page).items()}
    assert found == wanted
    assert outputs(page)[experiment] != []

    # She moves an interactive figure, which follows her theme.
    moved = next(cell for cell, shown in outputs(page).items() if f"<{FIGURE}" in json.dumps(shown))
    page.evaluate(CARD, moved)
    figure = page.locator(f"{FIGURE}[data-theme=dark]")
    before = figure.locator(".weight").all_inner_texts()
    figure.locator("input[type=range]").press("End")
    assert figure.locator(".weight").all_inner_texts() != before

    # She gives a wrong answer, reads the message, takes a hint, and gives the right answer.
    stub, solution = (f"{kind}-{EXERCISE.partition('.')[2]}" for kind in ("stub", "solution"))
    source = next("".join(cell["source"]) for cell in book if cell["id"] == stub)
    wrong = re.sub(r".*NotImplementedError.*\n", "", source)
    right = f"{ALL[EXERCISE].solution()}\n\n{source.splitlines()[-1]}"
    assert run(page, stub, source).startswith("○")
    assert run(page, stub, wrong).startswith("✗")
    first_hint = ALL[EXERCISE].hints[0].partition("`")[0]  # code comes after it
    assert first_hint in run(page, solution, f'hint("{EXERCISE}")')
    assert run(page, stub, right).startswith("✓")

    # She restarts the kernel, and learns which cell she has to run for this exercise.
    page.evaluate(RESTARTED)
    told = run(page, stub, right)
    imports = next("".join(cell["source"]) for cell in book if cell["id"] == "imports")
    assert f"it starts with `{imports.splitlines()[0]}`, below “1. " in told
    assert "This exercise needs no other cell." in told

    # She saves. All this time, there has been no request for news or updates.
    choose(page, "File", "Save Notebook")
    page.wait_for_function(SAVED)
    page.evaluate(SHUT_DOWN)
    assert [url for url in asked if re.search("api/(news|update)", url)] == []
    assert [url for url in asked if not url.startswith((lab, "data:", "blob:"))] == []


def choose(page: Page, menu: str, entry: str) -> None:
    """Choose an entry in a menu, as a reader does."""
    page.locator(".lm-MenuBar-itemLabel", has_text=menu).first.click()
    page.get_by_text(entry, exact=True).click()


def run(page: Page, cell: str, source: str) -> str:
    """Type something into a cell, run it, and read its output."""
    before = page.evaluate(SELECT, [cell, source])
    choose(page, "Run", "Run Selected Cell")
    page.wait_for_function(RAN, arg=[cell, before])
    return str(page.evaluate(CARD, cell)).strip()


def outputs(page: Page) -> dict[str, list[dict[str, Any]]]:
    """Return the outputs of each code cell, by its id."""
    return dict(page.evaluate(OUTPUTS))


def kinds(outputs: list[dict[str, Any]]) -> set[str]:
    """Return the kinds of output that a cell has."""
    return {kind for o in outputs for kind in o.get("data", [o.get("name", o["output_type"])])}


def rgb(color: str) -> str:
    """Convert a color to the form that a browser reports."""
    return "rgb({}, {}, {})".format(*bytes.fromhex(color[1:]))
