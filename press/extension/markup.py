"""Change some of the HTML of Sphinx and docutils, with our own visitors.

A paragraph that begins with the bold words of a prediction (see manuscript/markers.py) gets the
class "predict"; "(second reading)" at the end of a heading gets the class "second-reading".
"""

import posixpath
import re
from html import escape
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from attnbook.language import _
from manuscript import markers

from . import private
from .chinese import LEFT_OUT, above

SIDE = r"([\d.]+)(?:(pt)|px)?"  # a width or height
ROOT_INDEX = re.compile(r"(?<=√[a-z])_([a-z])\b")
VERBATIM = (*LEFT_OUT, nodes.literal)  # code, formulas, and HTML that the author wrote
PHONE_LINE = 40  # characters of a table row that fit on a phone


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the questions to the reader, and "(second reading)" at the end of a heading.

    The latter then also stands out in the contents, and so does the name of a part.
    """
    for paragraph in doctree.findall(nodes.paragraph):
        first = next((child for child in paragraph if child.astext()), None)
        if isinstance(first, nodes.strong) and first.astext().startswith(_(markers.PREDICT)):
            paragraph["classes"].append("predict")
    parts, second_readings = (app.env.temp_data.get(x, {}) for x in ("parts", "second readings"))
    for title in doctree.findall(nodes.title):
        heading = title.rawsource or title.astext()
        if heading in second_readings:
            title[-1:] = [
                nodes.Text(f"{title[-1].removesuffix(markers.second_reading())} "),
                nodes.inline("", _(markers.SECOND_READING), classes=["second-reading"]),
            ]
        if part := parts.get(heading):
            title.insert(0, nodes.inline("", part, classes=["part"]))


def lower_indices(app: Sphinx, doctree: nodes.document) -> None:
    """Write the k of √d_k as a subscript, mainly in headings, which have no formulas."""
    for text in list(doctree.findall(nodes.Text)):
        pieces = ROOT_INDEX.split(text)  # every other piece is a subscript
        if len(pieces) > 1 and not any(isinstance(n, VERBATIM) for n in above(text)):
            found = [
                nodes.subscript(piece, piece) if place % 2 else nodes.Text(piece)
                for place, piece in enumerate(pieces)
            ]
            text.parent.replace(text, [node for node in found if node.astext()])


def label_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Label the cells of a wide table with their columns, because a phone stacks a row's cells."""
    for table in doctree.findall(nodes.table):
        head, body = (list(table.findall(part)) for part in (nodes.thead, nodes.tbody))
        names = [entry.astext() for part in head for entry in part.findall(nodes.entry)]
        rows = [row.children for part in body for row in part.children]
        longest = [
            max(len(entry.astext()) for entry in column) for column in zip(*rows, strict=True)
        ]
        if len(names) > 2 and sum(longest) > PHONE_LINE:
            table["classes"].append("stack")
            for row in rows:
                for name, entry in zip(names, row, strict=True):
                    entry["label"] = name


def svg_size(path: Path) -> tuple[int, int] | None:
    """The width and height that an SVG file states, in pixels, or None if it states none."""
    attributes = next(iter(ElementTree.iterparse(path, ["start"])))[1].attrib
    sides = [re.fullmatch(SIDE, attributes.get(name, "")) for name in ("width", "height")]
    width, height = (round(float(s[1]) * (96 / 72 if s[2] else 1)) if s else 0 for s in sides)
    return (width, height) if width and height else None


def size_pictures(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each SVG its size, so that the text below does not jump when the picture loads.

    Sphinx turns a picture whose size is set into a link to its file.
    """
    for image in doctree.findall(nodes.image):
        file = Path(app.srcdir, image["uri"])
        drawing = file.suffix == ".svg" and file.exists() and "width" not in image
        if drawing and (size := svg_size(file)):
            image["pixels"] = image["width"], image["height"] = [str(side) for side in size]


def visit_image(self: HTML5Translator, node: nodes.image) -> None:
    """Write the size as attributes, since the style sheet could not override an inline style.

    On a phone, a wide picture scrolls, because it would be too small to read if it were shrunk.
    """
    if "pixels" not in node:
        private.theirs(self, node)
        return
    width, height = node["pixels"]
    source = posixpath.join(self.builder.imgpath, quote(self.builder.images[node["uri"]]))
    attributes = {"src": source, "alt": node.get("alt", source), "width": width, "height": height}
    self.body.append(f'<span class="picture" style="--width: {width}px">')
    self.body.append(self.emptytag(node, "img", "", loading="lazy", decoding="async", **attributes))
    self.body.append("</span>")


def visit_entry(self: HTML5Translator, node: nodes.entry) -> None:
    """Write a table's empty corner as an ordinary cell; give other cells their column's name."""
    if node.astext() or not isinstance(node.parent.parent, nodes.thead):
        private.theirs(self, node)
        if label := node.get("label"):
            tag = self.body[-1].replace(">", f' data-label="{escape(label)}">', 1)
            self.body[-1] = tag
        return
    node.parent.column += 1
    self.body.append("<td></td>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the visitors, which replace the translator's visit but not its depart methods."""
    app.connect("doctree-read", mark, priority=400)  # before Sphinx collects the headings
    app.connect("doctree-read", lower_indices, priority=400)
    app.connect("doctree-read", label_cells)
    app.connect("doctree-resolved", size_pictures)
    for visit in (visit_image, visit_entry):
        node = getattr(nodes, visit.__name__.removeprefix("visit_"))
        app.add_node(node, override=True, html=(visit, None))
