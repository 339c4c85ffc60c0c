"""Headings: the name of a part, the mark of a second reading, and the subscript of √d_k.

What a heading's id is made from is in anchors.py.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from attnbook.language import _
from manuscript import markers

from .chinese import LEFT_OUT, above

ROOT_INDEX = re.compile(r"(?<=√[a-z])_([a-z])\b")
VERBATIM = (*LEFT_OUT, nodes.literal)  # code, formulas, and HTML that the author wrote


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Mark "(second reading)" at the end of a heading, and the name of a part that begins there.

    Both then also stand out in the contents. to_directives.py has found them.
    """
    parts, second_readings = (app.env.temp_data.get(x, {}) for x in ("parts", "second readings"))
    for title in doctree.findall(nodes.title):
        heading = title.rawsource or title.astext()
        if heading in second_readings:
            title[-1:] = [
                nodes.Text(f"{title[-1].removesuffix(markers.second_reading())} "),
                nodes.inline("", _(markers.SECOND_READING), classes=["second-reading"]),
            ]
        if part := parts.get(heading):
            of, name, sections, minutes = part
            range_ = [nodes.inline("", f" · {sections}", classes=["range"])] if sections else []
            pieces = [nodes.Text(f"{of} · {name}"), *range_, nodes.Text(f" · {minutes}")]
            title.insert(0, nodes.inline("", "", *pieces, classes=["part"]))


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


def setup(app: Sphinx) -> None:
    """Change the headings before Sphinx collects them."""
    app.connect("doctree-read", mark, priority=400)
    app.connect("doctree-read", lower_indices, priority=400)
