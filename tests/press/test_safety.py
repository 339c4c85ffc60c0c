"""No page sends anything anywhere, and the browser is told to see to it.

Each page carries a content-security-policy. It has to be obeyed: tests/press/test_pages.py uses
each page, and the browser refuses nothing. And it has to bite: whatever a foreign script would
try, the browser refuses, and lets through once it is told to overlook the policy.
"""

import base64
import hashlib
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.pages import HTML, PAGES, Asked, Opened, parsed, serving, window

pytestmark = pytest.mark.usefixtures("book")

ALL = ["index.html", *PAGES]
MAY_COME_FIRST = [{"charset"}, {"name", "content"}]
POLICY = "Content-Security-Policy"


def test_these_are_all_pages() -> None:
    assert sorted(p.relative_to(HTML).as_posix() for p in HTML.rglob("*.html")) == sorted(ALL)


@pytest.mark.parametrize("address", ALL)
def test_the_policy_comes_first_and_the_page_keeps_to_it(address: str) -> None:
    page = parsed(HTML / address)
    (meta,) = page.select(f'head > meta[http-equiv="{POLICY}"]')
    before = [(element.name, set(element.attrs)) for element in meta.find_previous_siblings()]
    assert [e for e in before if e[0] != "meta" or e[1] not in MAY_COME_FIRST] == []

    policy = {part.split()[0]: part.split()[1:] for part in str(meta["content"]).split(";")}
    inline = [e.get_text() for e in page.find_all("script") if not e.get("src")]
    digests = [hashlib.sha256(script.encode()).digest() for script in inline]
    named = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert len(named) == (0 if address == "index.html" else 1)  # light or dark, before it is drawn
    assert policy == {
        "default-src": ["'none'"],
        "script-src": ["'self'", *named],
        "style-src": ["'self'"],
        "style-src-attr": ["'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "form-action": ["'self'", "file:"],
        "base-uri": ["'none'"],
    }

    # and nothing on the page that it would refuse
    assert page.select("style, iframe, object, embed, base, [href^='javascript:']") == []
    handlers = {name for e in page.find_all(True) for name in e.attrs if name.startswith("on")}
    assert handlers == set()
    links = {rel for e in page.find_all("link") for rel in e["rel"]}
    assert links <= {"stylesheet", "icon", "search", "canonical"}  # Firefox loads what is "next"
    for element in page.select("script[src], img, link:not([rel=canonical])"):
        loaded = str(element.get("src") or element.get("href"))
        assert not re.match(r"\w+:|//", loaded), loaded


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_first_page_leads_to_the_book(base: str, browser: Browser, scripts: bool) -> None:
    with window(browser, java_script_enabled=scripts) as context:
        page = context.new_page()
        page.goto(base + "index.html")
        page.wait_for_url(base + "book/index.html")
        expect(page.locator(".theme-switch-button")).to_be_visible(visible=scripts)


def test_the_first_page_alone_says_to_unpack_the_zip(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes((HTML / "index.html").read_bytes())
    with window(browser) as context:
        opened = Opened(context, "index.html", tmp_path.as_uri() + "/")
        opened.settle()  # its script is the last that it loads
        assert opened.page.url == (tmp_path / "index.html").as_uri()
        assert "Unpack the whole zip" in opened.page.locator("body").inner_text()


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
# What the browser says of a frame or a form does not have the whole address.
NOTE_REFUSED = """window.refused = [];
    addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
        refused.push(/^(frame|form)/.exec(effectiveDirective)?.[0] ?? blockedURI));"""


@pytest.mark.parametrize("overlooked", [False, True], ids=["policy", "no policy"])
def test_the_policy_bites(base: str, browser: Browser, overlooked: bool) -> None:
    """Everything is refused under the policy; without it everything goes through."""
    context = browser.new_context(bypass_csp=overlooked)
    context.add_init_script(NOTE_REFUSED)
    Asked.paths = set()
    with serving(Asked) as other:
        page = context.new_page()
        page.goto(base + "book/03_single_head.html")
        done = {
            name: bool(page.evaluate(attempt.replace("OTHER", other)))
            for name, attempt in ATTEMPTS.items()
        }
        for name, send in SENDS.items():
            page.evaluate(f"() => {{ const URL = '{other}{name}'; {send}; }}")
        # each of them arrives at the server, or is refused
        until = time.monotonic() + 30
        ended: set[str] = set()
        while not ended >= set(SENDS) and time.monotonic() < until:
            said = page.evaluate("new Promise(requestAnimationFrame).then(() => refused)")
            ended = Asked.paths | {address.rpartition("/")[2] for address in said}
        context.close()
    assert set(SENDS) - ended == set()
    assert done == dict.fromkeys(ATTEMPTS, overlooked)
    assert Asked.paths - {"favicon.ico"} == (set(SENDS) if overlooked else set())
