"""The contents of the printed book, and each chapter's sections at its start."""

import json
import re

from bs4 import BeautifulSoup, Tag

from press.pdf.page_numbers import page_number
from press.pdf.tags import inner, one, parsed

NUMBER = re.compile(r"^\w+\.\w* ")  # the number of a chapter or a section


def add_contents(book: BeautifulSoup) -> None:
    """List chapters and sections in the contents, and each chapter's sections at its start."""
    contents = one(book, ".contents")
    for place, chapter in enumerate(book.select(".chapter")):
        headings = chapter.find_all(["h1", "h2"])
        for heading in headings:
            numbered = NUMBER.sub(r'<span class="number">\g<0></span>', inner(heading))
            heading.clear()
            heading.extend(list(parsed(f"<p>{numbered}</p>").contents))
        if chapter["data-part"]:
            contents.append(parsed(f'<p class="part">{chapter["data-part"]}</p>'))
        opening = chapter.select_one("h1 + .opening")
        contents.append(entries(headings if opening else headings[:1]))
        if opening:
            opening.insert_after(entries(headings[1:]))
            running = json.dumps(headings[0].get_text(), ensure_ascii=False)
            rule = f"@page c{place} {{ @top-left {{ content: {running} }} }}\n"
            one(book, "style").append(rule)
            chapter["style"] = f"page: c{place}"


def entries(headings: list[Tag]) -> Tag:
    """A table of contents."""
    lines = (
        f'<li class="of-{heading.name}"><a href="#{heading["id"]}">{inner(heading)}</a>'
        f"{page_number(heading['id'])}</li>"
        for heading in headings
    )
    return parsed(f'<ol class="entries">{"".join(lines)}</ol>')
