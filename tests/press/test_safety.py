"""No page sends anything anywhere, and the browser enforces it.

Each page has a Content Security Policy (CSP) and has to obey it: tests/press/test_pages.py uses
each page, and fails if the browser blocks anything. These tests check that the policy is the right
one, and that it comes first.
"""

import base64
import hashlib
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.pages import FOLDER, HTML, PAGES, Opened, tree, window

pytestmark = pytest.mark.usefixtures("book")

ALL = ["index.html", *PAGES]
MAY_COME_FIRST = [{"charset"}, {"name", "content"}]
POLICY = "Content-Security-Policy"


def test_these_are_all_pages() -> None:
    found = {path.relative_to(HTML).as_posix() for path in HTML.rglob("*.html")}
    assert {name for name in found if not name.startswith("zh_CN/")} == {*ALL}  # other editions


@pytest.mark.parametrize("address", ALL)
def test_the_policy_comes_first_and_the_page_keeps_to_it(address: str) -> None:
    page = tree(HTML / address)
    (meta,) = page.xpath(f'//head/meta[@http-equiv="{POLICY}"]')
    before = [(element.tag, set(element.attrib)) for element in meta.itersiblings(preceding=True)]
    assert [e for e in before if e[0] != "meta" or e[1] not in MAY_COME_FIRST] == []

    policy = {part.split()[0]: part.split()[1:] for part in meta.get("content").split(";")}
    inline = [e.text for e in page.iter("script") if not e.get("src")]
    digests = [hashlib.sha256(script.encode()).digest() for script in inline]
    named = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    assert len(named) == (0 if address == "index.html" else 1)  # the script that sets light or dark
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

    # and nothing on the page violates the policy
    assert list(page.iter("style", "iframe", "object", "embed", "base")) == []
    assert page.xpath("//@href[starts-with(., 'javascript:')]") == []
    assert [name for e in page.iter() for name in e.attrib if name.startswith("on")] == []
    links = {rel for e in page.iter("link") for rel in e.get("rel").split()}
    assert links <= {"stylesheet", "icon", "search", "canonical"}  # Firefox prefetches rel="next"
    for loaded in page.xpath("//script/@src | //img/@src | //link[not(@rel='canonical')]/@href"):
        assert not re.match(r"\w+:|//", loaded), loaded


def test_the_first_page_leads_to_the_book_without_scripts_too(browser: Browser) -> None:
    with window(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(FOLDER + "index.html")
        page.wait_for_url(FOLDER + "book/index.html")
        expect(page.locator(".theme-switch-button")).not_to_be_visible()


def test_only_the_first_page_asks_to_unpack_the_zip(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes((HTML / "index.html").read_bytes())
    with window(browser) as context:
        opened = Opened(context, "index.html", tmp_path.as_uri() + "/")
        opened.settle()  # the page's script is the last to load
        assert opened.page.url == (tmp_path / "index.html").as_uri()
        assert "Unpack the whole zip" in opened.page.locator("body").inner_text()
