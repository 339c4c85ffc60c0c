"""Pictures: their sizes and numbers, and the colors of the roles in the drawings in book/images.

A page shows a drawing as a picture, which cannot use the variables of the page's style sheet. So
a drawing names a color as `var(--role-query-dark, skyblue)`, and the build replaces this with the
color. (The second name is a fallback for programs that open the drawing itself.)
"""

import posixpath
import re
import struct
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from attnbook.colors import ROLES

from . import private

REM = 17  # pixels: the size of type on most screens; pictures grow with it (css/colors.css)
SIDE = r"([\d.]+)(?:(pt)|px)?"  # a width or height
COLORS = {
    f"{name}-{kind}": color
    for name, role in ROLES.items()
    for kind, color in role._asdict().items()
}
VARIABLE = re.compile(r"var\(--role-([\w-]+)[^()]*\)")

logger = logging.getLogger(__name__)


def svg_size(path: Path) -> tuple[int, int] | None:
    """The width and height that an SVG file states, in pixels, or None if it states none."""
    attributes = next(iter(ElementTree.iterparse(path, ["start"])))[1].attrib
    sides = [re.fullmatch(SIDE, attributes.get(name, "")) for name in ("width", "height")]
    width, height = (round(float(s[1]) * (96 / 72 if s[2] else 1)) if s else 0 for s in sides)
    return (width, height) if width and height else None


def png_size(path: Path) -> tuple[int, int]:
    """The width and height of a PNG file in pixels, which are in its first chunk."""
    return struct.unpack(">II", path.read_bytes()[16:24])


def size_pictures(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give each picture its size, so that the text below does not jump when the picture loads.

    Sphinx turns a picture whose size is set into a link to its file.
    """
    for image in doctree.findall(nodes.image):
        file = Path(app.srcdir, image["uri"])
        size_of = {".svg": svg_size, ".png": png_size}.get(file.suffix)
        if size_of and file.exists() and "width" not in image and (size := size_of(file)):
            image["pixels"] = image["width"], image["height"] = [str(side) for side in size]


def number_figures(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Number the figures of each page from 1, as its sections: the first of chapter 6 is 6.1."""
    for page, kinds in env.toc_fignumbers.items():
        chapter = re.match(r"\d\d(?=_)", page.rpartition("/")[2])
        before = (int(chapter[0]),) if chapter else ()
        for name, figures in kinds.items():
            kinds[name] = {id: (*before, n) for n, id in enumerate(figures, 1)}
    return []


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
    self.body.append(f'<span class="picture" style="--width: {int(width) / REM:.3g}rem">')
    self.body.append(self.emptytag(node, "img", "", loading="lazy", decoding="async", **attributes))
    self.body.append("</span>")


def color(app: Sphinx, exception: Exception | None) -> None:
    """Replace the variables in all drawings that the pages show."""
    for drawing in Path(app.outdir).glob("_*/*.svg"):
        text = drawing.read_text(encoding="utf8")
        for name in sorted({*VARIABLE.findall(text)} - {*COLORS}):
            logger.warning("%s: --role-%s is not a color of a role", drawing.name, name)
        colored = VARIABLE.sub(lambda match: COLORS.get(match[1], match[0]), text)
        if colored != text:
            drawing.write_text(colored, encoding="utf8")


def setup(app: Sphinx) -> None:
    """Size the pictures, and color the drawings after they have been copied.

    The visitor replaces the translator's visit but not its depart method.
    """
    app.connect("env-get-updated", number_figures, priority=900)  # after Sphinx has numbered them
    app.connect("doctree-resolved", size_pictures)
    app.add_node(nodes.image, override=True, html=(visit_image, None))
    app.connect("build-finished", color)
