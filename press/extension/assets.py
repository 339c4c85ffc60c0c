"""Only what the pages use: scripts, files; and pictures that reserve their space.

The theme loads 1.5 MB of icons, Bootstrap's scripts and the whole search index on every page. The
templates in press/templates leave those out, and press/static/book.js does in 130 lines what is
left of their work. This module drops what else is not needed, lets scripts wait until the page
stands, deletes files that nothing asks for, and adds the page that leads on to the book.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html._assets import _JavaScript

# book.js does what these do for us, and the settings that the theme writes into pages are for them
UNUSED_SCRIPT = "_static/scripts/sphinx-book-theme.js"
LATER_IN_SEARCH = ("search", "_static/sphinx_highlight.js")  # the page's template brings it
UNUSED_INLINE = "DOCUMENTATION_OPTIONS."
UNUSED_FILES = (  # in _build/html/_static
    "**/*.map",
    "**/*.LICENSE.txt",
    "katex/katex.min.js",  # typesets while the book is built; no page loads it
    "check-solid.svg",
    "copy-button.svg",
    "copybutton_funcs.js",
    "minus.png",
    "plus.png",
    "pygments.css",
    "scripts",
    "styles/theme.css",
    "vendor",
    "locales",
    "images",
    "webpack-macros.html",
    "sbt-webpack-macros.html",
)
PIXELS_PER_UNIT = {"pt": 96 / 72, "px": 1.0, "": 1.0, "in": 96.0}

# Where the writers of HTML under us err or say too little: a pattern, and what has to stand there
MENDED = (
    # a picture has its size as attributes, since the style sheet could not shrink a style, and may
    # scroll on a phone, where one wider than the screen would be too small to read
    (
        r'(<img [^>]*)style="width: (\d+)px; height: (\d+)px;"([^>]*>)',
        r'<span class="picture" style="--width: \2px">'
        r'\1width="\2" height="\3" loading="lazy" decoding="async"\4</span>',
    ),
    # a question to the reader stands out
    (r"<p>(?=<strong>Predict before you run)", '<p class="predict">'),
    # the bar of a folded cell is named differently from what stands on it
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    # the corner of a table heads nothing
    (r"<th[^>]*><p></p></th>", "<td></td>"),
    # the entries of a list are its items
    (r'role="doc-biblioentry"', 'role="listitem"'),
)


def trim_page(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Leave out what the page has no use for, and let script files wait until it stands."""
    scripts = []
    for script in context["script_files"]:
        if script.filename == UNUSED_SCRIPT or (page, script.filename) == LATER_IN_SEARCH:
            continue
        if script.filename:
            wait = script.attributes | {"defer": "defer"}
            scripts.append(_JavaScript(script.filename, priority=script.priority, **wait))
        elif not script.attributes["body"].startswith(UNUSED_INLINE):
            scripts.append(script)
    context["script_files"] = scripts
    for pattern, right in MENDED:
        context["body"] = re.sub(pattern, right, context.get("body", ""))


def first_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Have index.html written, which leads on to the book."""
    yield "index", {}, "start.html"


def svg_size(path: Path) -> tuple[int, int] | None:
    """Width and height in pixels that an SVG file gives itself, or None if it gives none."""
    attributes = next(iter(ElementTree.iterparse(path, ["start"])))[1].attrib
    sizes = []
    for name in ("width", "height"):
        match = re.fullmatch(r"([\d.]+)(\D*)", attributes.get(name, ""))
        if not match or match[2] not in PIXELS_PER_UNIT:
            return None
        sizes.append(round(float(match[1]) * PIXELS_PER_UNIT[match[2]]))
    return sizes[0], sizes[1]


def size_pictures(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write each SVG's size beside it, so that the text below does not jump when it arrives."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".svg" and path.exists() and "width" not in image:
            size = svg_size(path)
            if size:
                image["width"], image["height"] = (f"{pixels}px" for pixels in size)


def clean_up(app: Sphinx, exception: Exception | None) -> None:
    """Delete what no page asks for; after a warning, let the next build start from scratch.

    Sphinx warns about a page when it reads or writes it, so a second build that finds the page
    unchanged would pass in silence.
    """
    if app._warncount:
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)
    for pattern in UNUSED_FILES:
        for path in Path(app.outdir, "_static").glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def setup(app: Sphinx) -> None:
    """Trim pages late, after the theme; delete before `styles` looks at what is left."""
    app.connect("html-page-context", trim_page, priority=900)
    app.connect("doctree-resolved", size_pictures)
    app.connect("html-collect-pages", first_page)
    app.connect("build-finished", clean_up, priority=700)
