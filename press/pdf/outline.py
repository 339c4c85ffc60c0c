"""The outline of the PDF, by which a reader finds a section, and its title."""

import io
from pathlib import Path

import pikepdf
from lxml.html import HtmlElement

from press.extension.plain_formulas import BELOW
from press.pdf.tags import of_class, one


def finish(pdf: bytes, book: HtmlElement, path: Path) -> None:
    """Give the PDF its title and outline, compress it, and write it without a date."""
    with pikepdf.open(io.BytesIO(pdf)) as document:
        del document.docinfo
        document.docinfo["/Title"] = one(book, ".//title").text_content()
        for key in ("Author", "Subject"):
            document.docinfo[f"/{key}"] = one(book, of_class(key.lower())).text_content()
        document.Root.PageMode = pikepdf.Name.UseOutlines
        with document.open_outline() as outline:  # Chromium's outline repeats some headings
            places = document.Root.Dests
            for chapter in book.find_class("chapter"):
                opening = chapter.find_class("opening")
                first, *others = (
                    pikepdf.OutlineItem(
                        plain(heading), pikepdf.Array(places[f"/{heading.get('id')}"])
                    )
                    for heading in chapter.iter("h1", *(["h2"] if opening else []))
                )
                first.children, first.is_closed = others, True
                outline.root.append(first)
        packed = pikepdf.ObjectStreamMode.generate
        document.save(path, object_stream_mode=packed, deterministic_id=True)


def plain(heading: HtmlElement) -> str:
    """A heading as plain text for the outline, in which a subscript is a single character."""
    parts = (
        text.translate(BELOW) if text.is_text and text.getparent().tag == "sub" else text
        for text in heading.xpath(".//text()")
    )
    return "".join(parts)
