"""The figures of the notebooks, drawn inside the page, and the font that their words need.

A page that showed a figure as a picture could neither give it a font nor let a reader search and
select its words. So the SVG itself is in the page, with its description for those who can't see it.
The font is the library's own (src/attnbook/fonts), reduced to the characters that figures of this
edition use; press/static/css/fonts.css names the files.
"""

import html
import re
from pathlib import Path

from docutils import nodes
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

from attnbook.language import HAN
from manuscript.common import ROOT
from manuscript.edition import LANGUAGE

from .pictures import REM, svg_size

FONTS = {"regular": "NotoSansCJKsc-Regular", "bold": "NotoSansCJKsc-Bold"}
WORDS = re.compile(r"<text [^>]*>([^<]*)</text>")


def draw_inside(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace each picture that a cell has displayed as SVG with the SVG itself."""
    for image in list(doctree.findall(nodes.image)):
        file = Path(app.srcdir, image["uri"])
        if file.suffix == ".svg" and file.exists() and displayed(image):
            image.replace_self(nodes.raw("", inside(file, image.get("alt", "")), format="html"))


def displayed(image: nodes.Node) -> bool:
    """Whether a picture is an output of a cell."""
    while image := image.parent:
        if "cell_output" in getattr(image, "attributes", {}).get("classes", []):
            return True
    return False


def inside(file: Path, alt: str) -> str:
    """The SVG of a file as a part of a page."""
    drawn = file.read_text("utf8")
    width, _height = svg_size(file) or (0, 0)
    described = f'<svg role="img" aria-label="{html.escape(alt)}" '
    if not LANGUAGE.startswith("zh"):
        drawn = re.sub(rf"<text (?=[^>]*>[^<]*[{HAN}])", '<text lang="zh-Hans" ', drawn)
    # a word found by the search is marked in text only: a mark would take a label's place
    drawn = drawn.replace("<text ", '<text class="nohighlight" ')
    style = f' style="--width: {width / REM:.3g}rem"' if width else ""
    return f'<span class="picture"{style}>{drawn.replace("<svg ", described, 1)}</span>'


def cut_fonts(app: Sphinx, exception: Exception | None) -> None:
    """Write the fonts of the figures with the characters that the pages' figures have.

    An English build leaves out the Chinese pages that press/editions.py has put beside its own.
    """
    if exception or app.builder.format != "html":
        return
    characters: set[str] = set()
    for name in app.env.found_docs:
        page = Path(app.outdir, f"{name}.html").read_text("utf8")
        characters.update(*map(html.unescape, WORDS.findall(page)))
    for style, name in FONTS.items():
        font = TTFont(ROOT / "src" / "attnbook" / "fonts" / f"{name}.otf", recalcTimestamp=False)
        subsetter = Subsetter(Options(layout_features=["kern"], name_IDs=[0, 1, 2, 4, 6, 13, 14]))
        subsetter.populate(text="".join(sorted(characters)))
        subsetter.subset(font)
        font.flavor = "woff"
        path = Path(app.outdir, "_static", "fonts", f"figures-{style}.woff")
        path.parent.mkdir(parents=True, exist_ok=True)
        font.save(path)


def setup(app: Sphinx) -> None:
    """Draw the figures before `pictures` sizes what is left; cut the fonts when pages are there."""
    app.connect("doctree-resolved", draw_inside, priority=400)
    app.connect("build-finished", cut_fonts)
