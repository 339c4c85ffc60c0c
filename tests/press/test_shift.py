"""What a new reader gets: a page that does not move while it loads, even where its fonts come late.

No answer to a prediction is shown yet, so no code may be shown below an introduction
that is hidden.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

from tests.press.conftest import Quiet
from tests.support.pages import DESK, HTML, PAGES, PHONE, window

pytestmark = pytest.mark.usefixtures("book")

LATE = 0.6  # seconds
# What web.dev calls the cumulative layout shift: "good" is at most 0.1
SUM = """globalThis.shift = 0;
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });"""

BARE_CODE = """[...document.querySelectorAll('article .cell')].filter(cell => {
    let before = cell.previousElementSibling;
    return before?.matches('div.answer[hidden], .cell[hidden]') && !cell.hasAttribute('hidden');
}).map(cell => cell.innerText.slice(0, 80))"""


class Late(Quiet):
    """A server whose fonts come late."""

    def do_GET(self) -> None:
        """Answer a request, one for a font only after a while."""
        if self.path.partition("?")[0].endswith(".woff2"):
            time.sleep(LATE)
        with suppress(ConnectionError):  # the page was closed in the meantime
            super().do_GET()


@pytest.fixture(scope="module")
def late() -> Iterator[str]:
    """The address of a web server whose fonts come late."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Late, directory=str(HTML))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("address", PAGES)
def test_nothing_moves_and_no_code_lacks_its_introduction(
    browser: Browser, late: str, address: str
) -> None:
    moved = {}
    for size in (DESK, PHONE):
        # a window of its own, since a font that another page has loaded would come at once
        with window(browser, answers=False, viewport=size) as context:
            page = context.new_page()
            page.add_init_script(SUM)
            page.goto(late + address)
            page.evaluate("document.fonts.ready")
            page.wait_for_timeout(300)
            moved[size["width"]] = page.evaluate("shift")
            assert page.evaluate(BARE_CODE) == []
    assert max(moved.values()) <= 0.02, moved
