"""Change some of the HTML of Sphinx and docutils, with our own visitors.

And two classes, by the words of tools/markers.py: a paragraph that opens with the bold words of a
question to the reader gets "predict", and the words at the end of a heading that say that a section
may be left out at first get "second-reading".

The code of some cells is folded: of imports where it stands, of what only draws below its picture.
"""

import posixpath
import re
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from tools import markers

from . import private

SIDE = r"([\d.]+)(?:(pt)|px)?"  # of a picture


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the questions to the reader, and at the end of a heading the words of a second reading.

    So they are set apart in the contents too.
    """
    for paragraph in doctree.findall(nodes.paragraph):
        first = next((child for child in paragraph if child.astext()), None)
        if isinstance(first, nodes.strong) and first.astext().startswith(markers.PREDICT):
            paragraph["classes"].append("predict")
    for title in doctree.findall(nodes.title):
        last, ends = title[-1], f"({markers.SECOND_READING})"
        if isinstance(last, nodes.Text) and last.endswith(ends):
            title[-1:] = [
                nodes.Text(last.removesuffix(ends)),
                nodes.inline("", markers.SECOND_READING, classes=["second-reading"]),
            ]


def fold_code(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the code of the cells that to_directives.py has tagged."""
    for words, first in ("imports", True), ("code", False):
        for cell in doctree.findall(nodes.container):
            if f"tag_fold-{words}" in cell["classes"]:
                opening = f'<details class="code"><summary>{words}</summary>'
                folded = [nodes.raw("", opening, format="html"), cell[0]]
                folded.append(nodes.raw("", "</details>", format="html"))
                cell.children = [*folded, *cell[1:]] if first else [*cell[1:], *folded]


def svg_size(path: Path) -> tuple[int, int] | None:
    """Width and height in pixels that an SVG file gives itself, or None if it gives none."""
    attributes = next(iter(ElementTree.iterparse(path, ["start"])))[1].attrib
    sides = [re.fullmatch(SIDE, attributes.get(name, "")) for name in ("width", "height")]
    width, height = (round(float(s[1]) * (96 / 72 if s[2] else 1)) if s else 0 for s in sides)
    return (width, height) if width and height else None


def size_pictures(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each SVG its size, so that the text below does not jump when it loads.

    Sphinx makes a picture whose size is set a link to its file.
    """
    for image in doctree.findall(nodes.image):
        file = Path(app.srcdir, image["uri"])
        drawing = file.suffix == ".svg" and file.exists() and "width" not in image
        if drawing and (size := svg_size(file)):
            image["pixels"] = image["width"], image["height"] = [str(side) for side in size]


def visit_image(self: HTML5Translator, node: nodes.image) -> None:
    """Write the size as attributes, since the style sheet could not shrink a style.

    On a phone a wide picture scrolls, because it would be too small to read if it were shrunk.
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
    """Write the empty corner of a table as no heading: it heads nothing."""
    if node.astext() or not isinstance(node.parent.parent, nodes.thead):
        private.theirs(self, node)
        return
    node.parent.column += 1
    self.body.append("<td></td>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Put the visitors in their places; what follows a node is left to the translator's own."""
    app.connect("doctree-read", mark, priority=400)  # before Sphinx takes the headings
    app.connect("doctree-read", fold_code)
    app.connect("doctree-resolved", size_pictures)
    for visit in (visit_image, visit_entry):
        node = getattr(nodes, visit.__name__.removeprefix("visit_"))
        app.add_node(node, override=True, html=(visit, None))
