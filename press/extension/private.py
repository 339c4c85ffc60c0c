"""Non-public parts of Sphinx and its theme that the press uses.

All of them are here, so that a test can name those that an upgrade has removed.
"""

from logging import LogRecord
from pathlib import Path

import pydata_sphinx_theme
import sphinx
from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

SPHINX = Path(sphinx.__file__).parent
BASIC = SPHINX / "themes" / "basic"
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme"

# What our own files depend on: file → pieces of its text
NAMES = {
    SPHINX / "search" / "en.py": ("var Stemmer = function()", "this.stemWord = function"),
    # searchpage.js says which words to highlight, and book.js removes the highlights
    BASIC / "static" / "sphinx_highlight.js": (
        "const SphinxHighlight = {", "hideSearchWords: ", "highlight-link",
        'localStorage.getItem("sphinx_highlight_terms")',
    ),
    # search.py asks for no index
    SPHINX / "builders" / "html" / "__init__.py": ("    search = True", "if self.search:"),
    # translations.py rewrites translations.js, whose words book.js looks up with `_`
    BASIC / "static" / "doctools.js": (
        "TRANSLATIONS: ", "PLURAL_EXPR: ", "LOCALE: ", "const _ = Documentation.gettext",
    ),
    SPHINX / "locale" / "zh_CN" / "LC_MESSAGES" / "sphinx.js": (
        "Documentation.addTranslations(", '"messages": ', '"plural_expr": ',
    ),
    # press/templates/layout.html and search.html replace these blocks, and write the scripts
    BASIC / "layout.html": (
        "block css", "block linktags", "block scripts", "script_files", "js_tag(", "metatags",
    ),
    THEME / "layout.html": ("block extrahead", "block scripts_end"),
    THEME / "search.html": ("block docs_body", "components/search-field.html"),
    # not_about_copies looks for these words
    SPHINX / "util" / "osutil.py": ("getLogger(__name__)", "will overwrite data, "),
    # press/templates has components of the same names, which replace these
    THEME / "components" / "navbar-logo.html": ("navbar-brand",),
    THEME / "components" / "search-button-field.html": ("search-button__button",),
}  # fmt: skip


COPIES = "sphinx.sphinx.util.osutil"  # the logger of its copies


def not_about_copies(record: LogRecord) -> bool:
    """Return False for the message that a second build replaces a file that the first rewrote.

    This is intended, but "will overwrite data" sounds like damage.
    """
    return "will overwrite data" not in str(record.msg)


def theirs(self: HTML5Translator, node: nodes.Element) -> None:
    """Visit a node as the translator's class would; our visitors are set on the instance."""
    getattr(type(self), f"visit_{node.tagname}")(self, node)
