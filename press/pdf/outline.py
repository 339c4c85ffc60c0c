"""The outline of the PDF, by which a reader finds a section, and its title."""

import io
from pathlib import Path

import pikepdf
from bs4 import BeautifulSoup, Tag

from press.extension.search import SUBSCRIPTS
from press.pdf.tags import one


def finish(pdf: bytes, book: BeautifulSoup, path: Path) -> None:
    """Give the PDF its title and outline, compress it, and write it without a date."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        del document.docinfo
        for key, selector in (("Title", "title"), ("Author", ".author"), ("Subject", ".subject")):
            document.docinfo[f"/{key}"] = one(book, selector).get_text()
        document.Root.PageMode = pikepdf.Name.UseOutlines
        with document.open_outline() as outline:  # Chromium's outline repeats some headings
            for chapter in book.select(".chapter"):
                first, *others = (
                    pikepdf.OutlineItem(
                        plain(heading), pikepdf.Array(document.Root.Dests[f"/{heading['id']}"])
                    )
                    for heading in chapter.select("h1, h2" if chapter.select(".opening") else "h1")
                )
                first.children, first.is_closed = others, True
                outline.root.append(first)
        packed = pikepdf.ObjectStreamMode.generate
        document.save(path, object_stream_mode=packed, deterministic_id=True)


def plain(heading: Tag) -> str:
    """A heading as plain text for the outline, in which a subscript is a single character."""
    parts = (
        text.translate(SUBSCRIPTS) if text.parent and text.parent.name == "sub" else text
        for text in heading.find_all(string=True)
    )
    return "".join(parts)
