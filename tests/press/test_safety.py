"""No page sends anything anywhere, and the browser is told to see to it.

Each page carries a content-security-policy. It has to be obeyed: from a folder and from a server a
page does all it can do, and the browser refuses nothing. And it has to bite: whatever a foreign
script would try, the browser refuses, and lets through once it is told to overlook the policy.
"""

import base64
import hashlib
import re
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.press.test_pages import HTML, PAGES, THEMES, Opened

pytestmark = pytest.mark.usefixtures("book")

ALL = ["index.html", *PAGES]
MAY_COME_FIRST = [("meta", {"charset"}), ("meta", {"name", "content"})]


class Elements(HTMLParser):
    """The elements of a page in their order, and the texts of its inline scripts."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.feed(path.read_text("utf8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        """Note the text of a script."""
        if self.found and self.found[-1][0] == "script" and data.strip():
            self.scripts.append(data)

    def policy(self) -> dict[str, list[str]]:
        """What the page may do: the sources behind each word of its policy."""
        name = "Content-Security-Policy"
        (text,) = [a["content"] for _, a in self.found if a.get("http-equiv") == name]
        return {part.split()[0]: part.split()[1:] for part in text.split(";")}


def test_these_are_all_pages() -> None:
    assert sorted(p.relative_to(HTML).as_posix() for p in HTML.rglob("*.html")) == sorted(ALL)


@pytest.mark.parametrize("address", ALL)
def test_the_policy_comes_first_and_allows_only_the_books_own_files(address: str) -> None:
    page = Elements(HTML / address)
    head = [element for element in page.found if element[0] not in ("html", "head")]
    tags = [attributes.get("http-equiv", tag) for tag, attributes in head]
    before = head[: tags.index("Content-Security-Policy")]
    assert [
        element for element in before if (element[0], set(element[1])) not in MAY_COME_FIRST
    ] == []

    policy = page.policy()
    digests = [hashlib.sha256(script.encode()).digest() for script in page.scripts]
    named = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert len(named) == (0 if address == "index.html" else 1)  # light or dark, before it is drawn
    assert policy.pop("script-src") == ["'self'", *named]
    assert policy.pop("style-src-attr") == ["'unsafe-inline'"]
    assert policy.pop("form-action") == ["'self'", "file:"]
    assert policy.pop("img-src") == ["'self'", "data:"]
    assert policy == {
        "default-src": ["'none'"],
        "style-src": ["'self'"],
        "font-src": ["'self'"],
        "base-uri": ["'none'"],
    }


@pytest.mark.parametrize("address", ALL)
def test_no_page_has_what_its_policy_would_refuse(address: str) -> None:
    for tag, attributes in Elements(HTML / address).found:
        assert tag not in {"style", "iframe", "object", "embed", "base"}
        assert [name for name in attributes if name.startswith("on")] == []
        assert not attributes.get("href", "").startswith("javascript:")
        if tag == "link":  # Firefox loads what is "next"
            assert attributes["rel"] in {"stylesheet", "icon", "search", "canonical"}
        if tag in {"script", "img", "link"} and attributes.get("rel") != "canonical":
            address = attributes.get("src", attributes.get("href", ""))
            assert not re.match(r"\w+:|//", address), address


# --- what a reader does -------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    """A web server that prints nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def serving(handler: object) -> Iterator[str]:
    """The address of a server, until it is no longer needed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module", params=["folder", "server"])
def base(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the book is opened: its folder, then a server."""
    if request.param == "folder":
        yield HTML.as_uri() + "/"
    else:
        yield from serving(partial(Quiet, directory=str(HTML)))


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A window from which nothing beyond this machine can be reached."""
    window = browser.new_context()
    window.route(re.compile(r"^(?!file:|data:|http://127\.0\.0\.1:)"), lambda route: route.abort())
    yield window
    window.close()


def use(page: Page) -> None:
    """Use what a page has: the theme, what folds, a button that copies, contents, print, search."""
    switch = page.locator(".theme-switch-button")
    themes = set()
    for _ in range(3):  # dark, light, the system's
        switch.click()
        themes.add(page.evaluate("document.documentElement.dataset.theme"))
    assert themes == set(THEMES)
    for summary in page.locator("summary").all():
        summary.evaluate("summary => summary.click()")
    assert bool(page.locator("details[open]").count()) == bool(page.locator("details").count())
    for button in page.locator(".copybtn").all()[:1]:
        button.click(force=True)
        expect(button).to_have_attribute("data-tooltip", "Copied!")
    page.locator(".primary-toggle").click()
    expect(page.locator("#pst-primary-sidebar")).to_have_class(re.compile("hidden"))
    page.evaluate(
        "for (const type of ['before', 'after']) dispatchEvent(new Event(type + 'print'))"
    )
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    expect(page.locator("#search-results mark").first).to_have_text("softmax")


@pytest.mark.parametrize("address", PAGES)
def test_a_page_works_asks_only_for_the_books_files_and_is_refused_nothing(
    base: str, window: BrowserContext, address: str
) -> None:
    opened = Opened(window, base + address)
    use(opened.page)
    opened.page.close()
    assert opened.errors == []
    assert [url for url in opened.requested if not url.startswith((base, "data:"))] == []


def test_the_first_page_leads_to_the_book(base: str, window: BrowserContext) -> None:
    page = window.new_page()
    page.goto(base + "index.html")
    page.wait_for_url(base + "book/index.html")
    page.close()


def test_the_first_page_leads_to_the_book_without_scripts(base: str, browser: Browser) -> None:
    window = browser.new_context(java_script_enabled=False)
    page = window.new_page()
    page.goto(base + "index.html")
    page.wait_for_url(base + "book/index.html")
    assert not page.locator(".theme-switch-button").is_visible()
    window.close()


def test_the_first_page_alone_says_to_unpack_the_zip(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes((HTML / "index.html").read_bytes())
    window = browser.new_context()
    page = window.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_timeout(200)
    assert page.url == (tmp_path / "index.html").as_uri()
    assert "Unpack the whole zip" in page.locator("body").inner_text()
    window.close()


# --- what a foreign script would try ------------------------------------------------------------

# Each says whether it had success; what it sends to OTHER, that server notes.
ATTEMPTS = {
    "inline script": """() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
        return window.ran;
    }""",
    "handler": """() => {
        document.body.insertAdjacentHTML("beforeend", "<b onclick='window.handled = true'>b</b>");
        document.body.lastChild.click();
        return window.handled;
    }""",
    "eval": """() => new Promise((done) =>
        setTimeout(() => { try { done(eval("1") === 1) } catch { done(false) } }))""",
    "style": """() => {
        document.head.insertAdjacentHTML("beforeend", "<style>html { zoom: 3 }</style>");
        return getComputedStyle(document.documentElement).zoom === "3";
    }""",
    "base": """() => {
        document.head.insertAdjacentHTML("beforeend", "<base href='OTHER'>");
        const moved = document.baseURI.startsWith("OTHER");
        document.querySelector("base").remove();
        return moved;
    }""",
}
SENDS = {
    "script": "document.head.append(Object.assign(document.createElement('script'), {src: URL}))",
    "image": "document.body.append(Object.assign(new Image(), {src: URL}))",
    "style": "document.head.append(Object.assign(document.createElement('link'), "
    "{rel: 'stylesheet', href: URL}))",
    "font": "document.fonts.add(new FontFace('x', `url(${URL})`)), "
    "document.fonts.forEach(font => font.family === 'x' && font.load().catch(() => 0))",
    "frame": "document.body.append(Object.assign(document.createElement('iframe'), {src: URL}))",
    "fetch": "fetch(URL).catch(() => 0)",
    "beacon": "navigator.sendBeacon(URL)",
    "events": "new EventSource(URL)",
    "socket": "new WebSocket(URL.replace('http', 'ws'))",
    "video": "document.body.append(Object.assign(document.createElement('video'), {src: URL}))",
    "form": "document.body.insertAdjacentHTML('beforeend', "
    "`<form action='${URL}' target='other'>`), document.body.lastChild.submit()",
}


@pytest.fixture(scope="module")
def other() -> Iterator[tuple[str, set[str]]]:
    """Another server, which answers everybody, and what it was asked for."""
    asked: set[str] = set()

    class Other(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked.add(self.path.strip("/?"))
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    for address in serving(Other):
        yield address, asked


@pytest.mark.parametrize("overlooked", [False, True], ids=["policy", "no policy"])
def test_the_policy_bites(
    base: str, browser: Browser, other: tuple[str, set[str]], overlooked: bool
) -> None:
    """Everything is refused under the policy; without it everything goes through."""
    address, asked = other
    asked.clear()
    window = browser.new_context(bypass_csp=overlooked)
    page = window.new_page()
    page.goto(base + "book/03_single_head.html")
    done = {
        name: bool(page.evaluate(attempt.replace("OTHER", address)))
        for name, attempt in ATTEMPTS.items()
    }
    for name, send in SENDS.items():
        page.evaluate(f"() => {{ const URL = '{address}{name}'; {send}; }}")
    page.wait_for_timeout(1000)
    window.close()
    assert done == dict.fromkeys(ATTEMPTS, overlooked)
    assert asked - {"favicon.ico"} == (set(SENDS) if overlooked else set())
