"""Windows for the built pages, and a web server for tests that do not open them from a folder."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.support.pages import DESK, HTML, PHONE, THEMES, window


class Quiet(SimpleHTTPRequestHandler):
    """A file server that prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a web server that serves the built book."""
    handler = partial(Quiet, directory=str(HTML))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def screens(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """A desktop window for each theme, and a phone's window."""
    found = {theme: window(browser, color_scheme=theme, viewport=DESK) for theme in THEMES}
    found["phone"] = window(browser, viewport=PHONE, is_mobile=True)
    yield found
    for context in found.values():
        context.close()
