"""What the HTML edition needs beyond Jupyter Book, in small parts.

links           to the repository, to Colab and Binder, as the environment says at build time
formulas        KaTeX at build time, so that no page needs a script to show a formula
to_directives   the plain Markdown of a notebook becomes the directives of a page
cards           an exercise's hints and solution, folded, from the library
practice        an exercise's questions, answered on the page with the checker's sentences
chapters_table  the table of all chapters, and their minutes in the links to them
output          an interactive figure of a chapter on another page
widgets         the scripts of interactive figures, on the pages that hold one
folds           code that a reader can do without at first
live            the models that run in a page, loaded at first use
sections        links that name a section lead to it
glossary        its Chinese words below the headings, in the search index, in a second order
chinese         Chinese is marked as such, for screen readers
markup          visitors, and classes: pictures that know their size, questions, second readings
pictures        the colors of the roles in drawings
search          an index that also finds Chinese, and the texts around what it finds
safety          a policy in each page: only the book's own files, and nothing sent anywhere
styles          one style sheet: what the pages use of the theme's, the book's own, the colors
licenses        of those who wrote the theme and the extensions
unused          files that no page asks for are deleted
private         whatever of the above is not promised by Sphinx, its theme or its extensions

Templates that replace some of the theme's are in press/templates, style and script in press/static.
"""

from sphinx.application import Sphinx

from . import (
    cards,
    chapters_table,
    chinese,
    folds,
    formulas,
    glossary,
    licenses,
    links,
    live,
    markup,
    output,
    pictures,
    practice,
    safety,
    search,
    sections,
    styles,
    to_directives,
    unused,
    widgets,
)

PARTS = (
    links, to_directives, formulas, cards, practice, markup, folds, chapters_table,
    output, sections, glossary, chinese, pictures, widgets, live, search, safety, unused, styles,
    licenses,
)  # fmt: skip
ENVIRONMENT = 7  # raise it where a change of this folder has to read every page anew


def setup(app: Sphinx) -> dict[str, bool | int]:
    """Register the parts with Sphinx."""
    for part in PARTS:
        part.setup(app)
    return {
        "env_version": ENVIRONMENT,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
