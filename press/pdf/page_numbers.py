"""The page numbers in the PDF: in the contents, and wherever the text refers to a page.

A browser cannot fill them in, so the book is printed twice. The first print shows which page
everything is on, and the second contains these page numbers.
"""

import io
from pathlib import Path

import pikepdf
from playwright.sync_api import Browser

FILL_IN = "(links, pages) => links.forEach(link => link.textContent = pages[link.hash.slice(1)])"
# Before it is printed, the document is not laid out for a screen, so its fonts load only if asked.
UNSEEN = """
const sheet = new CSSStyleSheet();
sheet.replaceSync("@media screen { body { display: none } }");
document.adoptedStyleSheets.push(sheet);
"""
FONTS = "() => Promise.allSettled([...document.fonts].map(font => font.load())).then(() => null)"
# Nothing is drawn in the first print, which takes half the time that way.
HIDDEN = "* { visibility: hidden !important } svg > * { display: none !important }"


def page_number(target: object) -> str:
    """A link to an id, which shows a page number: 000 until the first print gives the right one."""
    return f'<a class="page-number" href="#{target}">000</a>'


def printed(browser: Browser, joined: Path) -> bytes:
    """The joined document as a PDF with its page numbers."""
    with browser.new_page(offline=True, color_scheme="light") as page:
        page.set_default_timeout(0)  # a slow machine needs minutes
        page.add_init_script(UNSEEN)
        page.goto(joined.as_uri())
        page.evaluate(FONTS)
        hidden = page.add_style_tag(content=HIDDEN)
        first = page.pdf(prefer_css_page_size=True)
        hidden.evaluate("style => style.remove()")
        page.eval_on_selector_all("a.page-number", FILL_IN, destinations(first))
        return page.pdf(prefer_css_page_size=True, print_background=True, tagged=True)


def destinations(pdf: bytes) -> dict[str, int]:
    """The page number of each id that something links to."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        pages = {page.obj.objgen: number for number, page in enumerate(document.pages, 1)}
        places = document.Root.Dests.items()
        return {name.removeprefix("/"): pages[place[0].objgen] for name, place in places}
