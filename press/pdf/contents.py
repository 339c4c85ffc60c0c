"""The contents of the printed book, and each chapter's sections at its start."""

import html
import json
import re

from lxml.html import HtmlElement

from press.pdf.page_numbers import page_number
from press.pdf.tags import inner, of_class, one, parsed, put_after

NUMBER = re.compile(r"^\w+\.\w* ")  # the number of a chapter or a section
NUMBERED = r'<span class="number">\g<0></span>'


def add_contents(book: HtmlElement) -> None:
    """List chapters and sections in the contents, and each chapter's sections at its start."""
    contents = one(book, of_class("contents"))
    for place, chapter in enumerate(book.find_class("chapter")):
        headings = list(chapter.iter("h1", "h2"))
        for heading in headings:
            numbered = parsed(f"<p>{NUMBER.sub(NUMBERED, inner(heading))}</p>")
            heading[:], heading.text = list(numbered), numbered.text
        if caption := chapter.get("data-part"):
            contents.append(parsed(f'<p class="part">{html.escape(caption, quote=False)}</p>'))
        opening = chapter.find_class("opening")
        contents.append(entries(headings if opening else headings[:1]))
        if opening:
            put_after(opening[0], entries(headings[1:]))
            running = json.dumps(headings[0].text_content(), ensure_ascii=False)
            style = one(book, ".//style")
            rule = f"@page c{place} {{ @top-left {{ content: {running} }} }}\n"
            style.text = (style.text or "") + rule
            chapter.set("style", f"page: c{place}")


def entries(headings: list[HtmlElement]) -> HtmlElement:
    """A table of contents."""
    lines = (
        f'<li class="of-{heading.tag}"><a href="#{heading.get("id")}">{inner(heading)}</a>'
        f"{page_number(heading.get('id'))}</li>"
        for heading in headings
    )
    return parsed(f'<ol class="entries">{"".join(lines)}</ol>')
