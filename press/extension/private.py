"""Non-public parts of Sphinx and its theme that the press uses.

All of them are here, so that a test can name those that an upgrade has removed.
"""

from pathlib import Path

import pydata_sphinx_theme
import sphinx
from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

SPHINX = Path(sphinx.__file__).parent / "themes" / "basic"
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"

# Names that our own files depend on: file → names in it
NAMES = {
    # press/static/search.js, not Sphinx's script, shows the results; book.js removes the highlights
    SPHINX / "static" / "searchtools.js": (
        "_index", "_parseQuery", "_performSearch", "_finishSearch", "splitQuery",
    ),
    SPHINX / "static" / "sphinx_highlight.js": ("hideSearchWords", "highlight-link"),
    # press/templates/layout.html and search.html replace these blocks, and write the scripts
    SPHINX / "layout.html": (
        "block css", "block linktags", "block scripts", "script_files", "js_tag(", "metatags",
    ),
    THEME / "layout.html": ("block extrahead", "block scripts_end"),
    THEME / "search.html": ("block docs_body", "components/search-field.html"),
    # press/templates has components of the same names, which replace these
    THEME / "components" / "navbar-logo.html": ("navbar-brand",),
    THEME / "components" / "search-button-field.html": ("search-button__button",),
}  # fmt: skip


def theirs(self: HTML5Translator, node: nodes.Element) -> None:
    """Visit a node as the translator's class would; our visitors are set on the instance."""
    getattr(type(self), f"visit_{node.tagname}")(self, node)
