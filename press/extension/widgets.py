"""The scripts of interactive figures, which come from the library: attnbook/widgets/scripts.

What a cell printed brings its script along, for JupyterLab and its like. A page's policy lets no
text hold one: it is taken out here, and the page loads the files of the elements that stand on it.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def take_scripts_out(app: Sphinx, doctree: nodes.document) -> None:
    """Leave of a printed element what stands before its script: the numbers and the table."""
    for raw in list(doctree.findall(nodes.raw)):
        if raw.astext().startswith("<attn-"):
            element = raw.astext().partition("\n<script>")[0]
            raw.replace_self(nodes.raw("", element, format="html"))


def load_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Add the script of each element that the page holds, and before them what all are made of."""
    elements = sorted(set(re.findall(r"<(attn-[a-z-]+)[ >]", context.get("body", ""))))
    for name in ["base", *elements] if elements else []:
        app.add_js_file(f"{name}.js")


def setup(app: Sphinx) -> None:
    """Look at each page when it is read, and before its scripts are written."""
    app.connect("doctree-read", take_scripts_out)
    app.connect("html-page-context", load_scripts)
