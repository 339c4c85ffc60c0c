"""The built book in a browser, and small books built for a test."""

import io
import json
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from lxml import html
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from manuscript.chapters import pages
from manuscript.common import ROOT
from press.extension.storage import KEYS

HTML = ROOT / "_build" / "html"
FOLDER = HTML.as_uri() + "/"
AXE = ROOT / "tests" / "support" / "vendor" / "axe.min.js"
COLORS = ("color-contrast", "link-in-text-block")  # axe-core's rules about colors
THEMES = ("light", "dark")
THEME = "document.documentElement.dataset.theme"  # of an open page
PATIENCE = 120_000  # milliseconds, for a browser on a busy machine
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

expect.set_options(timeout=PATIENCE)
CHAPTERS = [f"book/{page.stem}.html" for page in pages()]
PAGES = [*CHAPTERS, "search.html"]

# Report what the page's Content Security Policy (CSP) blocks, even if the browser does not.
REPORT = """
    addEventListener("securitypolicyviolation", (event) =>
        console.error(`refused: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""

# Show every section and every picture, including those that load only when scrolled to. (The
# page's CSP does not apply to a style sheet that is constructed in this way.)
SHOW_ALL = """async () => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("section { content-visibility: visible !important }");
    document.adoptedStyleSheets.push(sheet);
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map((image) => image.decode().catch(() => {})));
    await document.fonts.ready;
}"""

# Axe-core spends most of its time on parts of formulas and figures, and on colored code. It cannot
# judge a formula; a figure is one picture to it, and the colors of its words are not in their CSS.
# So empty both, and keep only one span of code of each style.
STRIP = """() => {
    for (const drawn of document.querySelectorAll(".katex-html, svg[role=img]")) {
        drawn.replaceChildren();
    }
    for (const said of document.querySelectorAll("math")) said.replaceChildren(said.textContent);
    const kinds = new Set();
    for (const piece of document.querySelectorAll(":is(pre, code) span")) {
        const kind = piece.parentElement.localName + piece.className + piece.style.cssText;
        if (kinds.has(kind)) piece.replaceWith(...piece.childNodes);
        kinds.add(kind);
    }
}"""

SHOW_ANSWERS = f"try {{ localStorage.setItem('{KEYS['answers']}', 'shown'); }} catch {{}}"


def window(browser: Browser, answers: bool = True, **options: Any) -> BrowserContext:
    """Open a browser context without network access; by default, all answers are shown."""
    context = browser.new_context(**options)
    if answers:
        context.add_init_script(SHOW_ANSWERS)
    context.set_default_timeout(PATIENCE)
    context.route(
        re.compile(r"^(?!file:|data:|http://(127\.0\.0\.1|localhost):)"),
        lambda route: route.abort(),
    )
    return context


class Opened:
    """A page that is open in the browser, with its requests and its errors."""

    def __init__(self, window: BrowserContext, address: str, base: str = FOLDER) -> None:
        self.base = base
        self.requested: list[str] = []
        self.errors: list[str] = []
        self.page: Page = window.new_page()
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("requestfailed", self.lost)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self.note)
        self.page.add_init_script(REPORT)
        self.page.goto(base + address)

    def lost(self, request: Request) -> None:
        """Record a failed request, unless leaving the page interrupted it."""
        if request.failure != "net::ERR_ABORTED":
            self.errors.append(f"lost: {request.url} ({request.failure})")

    def note(self, message: ConsoleMessage) -> None:
        """Record a console message if it is an error or a warning."""
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def settle(self) -> None:
        """Wait for everything that the page loads, before it is inspected or left."""
        self.page.wait_for_load_state("load")
        self.page.evaluate(SHOW_ALL)

    def search(self, words: str) -> None:
        """Search for words with the keyboard, as a reader would."""
        self.settle()
        self.page.keyboard.press("Control+k")
        self.page.keyboard.type(words)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url(re.compile(r"search\.html\?q="))
        self.page.locator("#search-results li").first.wait_for()
        self.settle()

    def violations(
        self, rules: tuple[str, ...] = (), within: str = "html", but: tuple[str, ...] = ()
    ) -> list[tuple[str, str]]:
        """Strip the page, and return the violations that axe-core finds.

        By default, axe-core applies all its rules to the whole page.
        """
        self.page.evaluate(STRIP)
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text("utf8"))
        options: dict[str, Any] = {"preload": False, "resultTypes": ["violations"]}
        options["rules"] = {rule: {"enabled": False} for rule in but}
        if rules:
            options["runOnly"] = rules
        run = "([within, options]) => axe.run(within, options).then(f => f.violations)"
        found = self.page.evaluate(run, [within, options])
        return [(rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]]

    def outside(self) -> list[str]:
        """List the requests that went outside the book."""
        return [url for url in self.requested if not url.startswith((self.base, "data:"))]

    def wide(self) -> bool:
        """Return whether the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth > innerWidth")

    def close(self) -> list[str]:
        """Close the page; return its errors."""
        self.settle()
        errors = list(self.errors)
        self.page.close()
        return errors


def wait_until(page: Page, true: str) -> None:
    """Wait until an expression is true. (A page's CSP may block the eval in wait_for_function.)"""
    for _ in range(PATIENCE // 20):
        if page.evaluate(true):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never true on {page.url}: {true}")


@cache
def parsed(path: Path) -> BeautifulSoup:
    """Parse a page so that CSS selectors can find its elements."""
    return BeautifulSoup(path.read_bytes(), "html.parser")


@cache
def tree(path: Path) -> html.HtmlElement:
    """Parse a page ten times faster than `parsed` does."""
    return html.fromstring(path.read_text("utf8"))


@cache
def ids(path: Path) -> set[str]:
    """Return the ids on a page."""
    return set(tree(path).xpath("//@id"))


def addresses(path: Path) -> set[str]:
    """Return the targets of a page's links, and the files that it loads."""
    return set(tree(path).xpath("//@href | //@src"))


def notebook(title: str, code: str) -> str:
    """Return the text of a notebook with a title and one code cell."""
    cells = [
        {"cell_type": "markdown", "id": "title", "metadata": {}, "source": f"# {title}"},
        {"cell_type": "code", "id": "code", "metadata": {}, "source": code}
        | {"execution_count": 1, "outputs": []},
    ]
    language = {"language_info": {"name": "python", "pygments_lexer": "python"}}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": language, "cells": cells}
    return json.dumps(content)


def build(folder: Path, pages: dict[str, str], parts: str, builder: str = "html", **settings: Any):
    """Build a small book with some parts of our extension; return the warnings."""
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf8")
    extensions = ["myst_nb", *(f"press.extension.{part}" for part in parts.split())]
    said = io.StringIO()
    settings = {
        "extensions": extensions,
        "myst_enable_extensions": ["attrs_block", "colon_fence", "dollarmath"],
        "nb_execution_mode": "off",
        "nitpicky": True,
        **settings,
    }
    with warnings.catch_warnings(), patch_docutils(), docutils_namespace():
        warnings.simplefilter("ignore")
        app = Sphinx(
            folder, None, folder / "out", folder / "doctrees", builder, settings,
            status=None, warning=said,
        )  # fmt: skip
        app.build()
    return said.getvalue()
