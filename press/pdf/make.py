"""Make the PDF: join the pages, print them, and write the result."""

from lxml.html import tostring
from playwright.sync_api import Browser

from manuscript.common import ROOT
from manuscript.edition import ENDING
from press.pdf.outline import finish
from press.pdf.page_numbers import printed
from press.pdf.pages import joined

JOINED = ROOT / "_build" / "pdf" / "book.html"
PDF = ROOT / "_build" / f"attention-book{ENDING}.pdf"


def make(browser: Browser) -> None:
    """Join, print and write the book."""
    book = joined()
    JOINED.parent.mkdir(parents=True, exist_ok=True)
    JOINED.write_bytes(tostring(book, encoding="utf-8", doctype="<!doctype html>"))
    finish(printed(browser, JOINED), book, PDF)
