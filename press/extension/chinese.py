"""Mark Chinese as `<span lang="zh-Hans">`, so that screen readers pronounce it correctly.

Text, headings, tables and inline code are marked. Code blocks and outputs are not, because the
marks would interfere with highlighting and copying; nor are interactive figures, whose scripts
write their own text.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from attnbook.language import HAN
from manuscript.edition import LANGUAGE

CHINESE = re.compile(rf"[{HAN}](?:[{HAN},，、。：:；;？！（）《》“”…·]*[{HAN}])?")
CLASS = "language-zh-Hans"  # docutils turns this class into the attribute `lang`
SPAN = r'<span lang="zh-Hans">\g<0></span>'
LEFT_OUT = (nodes.literal_block, nodes.doctest_block, nodes.math, nodes.math_block, nodes.raw)
TAG = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")


def in_chinese(text: str) -> list[nodes.Node]:
    """A text as nodes, with Chinese parts marked."""
    found: list[nodes.Node] = []
    end = 0
    for match in CHINESE.finditer(text):
        found.append(nodes.Text(text[end : match.start()]))
        found.append(nodes.inline(match[0], match[0], classes=[CLASS]))
        end = match.end()
    return [node for node in [*found, nodes.Text(text[end:])] if node.astext()]


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the Chinese in a page that Sphinx has read, and in HTML that the author wrote there."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.raw):
            html = text.parent
            if html["format"] == "html" and not re.search("<(attn-|svg|style|script)", text):
                pieces = TAG.split(text)  # every second piece is a tag
                pieces[::2] = [CHINESE.sub(SPAN, piece) for piece in pieces[::2]]
                html.replace_self(nodes.raw("", "".join(pieces), **html.attributes))
        elif CHINESE.search(text) and not any(isinstance(n, LEFT_OUT) for n in above(text)):
            text.parent.replace(text, in_chinese(text))


def above(node: nodes.Node) -> list[nodes.Node]:
    """The nodes that contain a node."""
    found = []
    while node := node.parent:
        found.append(node)
    return found


def setup(app: Sphinx) -> None:
    """Mark Chinese after the scripts are removed, and before Sphinx collects the headings.

    In a Chinese edition, the whole page is marked as Chinese instead.
    """
    if not LANGUAGE.startswith("zh"):
        app.connect("doctree-read", mark, priority=450)
