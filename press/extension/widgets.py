"""The scripts of interactive figures, which come from the library: attnbook/widgets/scripts.

A cell's output contains colors and a script, which JupyterLab and other programs need. A page's
policy forbids both inside the page, so they are taken out here: the page loads the script files of
the elements that it contains, and site.css has the colors.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def take_scripts_out(app: Sphinx, doctree: nodes.document) -> None:
    """Keep only the first line of a printed element: its data and its table."""
    for raw in list(doctree.findall(nodes.raw)):
        if raw.astext().startswith("<attn-"):
            element = raw.astext().partition("\n<style>")[0]
            raw.replace_self(nodes.raw("", element, format="html"))


def load_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Add the script of each element on the page, and before them the shared base."""
    elements = sorted(set(re.findall(r"<(attn-[a-z-]+)[ >]", context.get("body", ""))))
    for name in ["base", *elements] if elements else []:
        app.add_js_file(f"{name}.js")


def setup(app: Sphinx) -> None:
    """Change each page when it is read, and before its scripts are written."""
    app.connect("doctree-read", take_scripts_out)
    app.connect("html-page-context", load_scripts)
