"""Additions to Jupyter Book for the HTML pages, in small parts.

edition         the words around the text of a page, in the language of the edition
anchors         the ids of a translated page, equal to those of the English one
links           to the repository, Colab and Binder, from the environment at build time
formulas        KaTeX at build time, so that no page needs a script to show a formula
to_directives   the plain Markdown of a notebook, turned into the directives of a page
cards           an exercise's hints and solution, folded, from the library
practice        an exercise's questions, answered on the page with the checker's messages
chapters_table  the table of all chapters, and the minutes in links to a chapter
output          an interactive figure of a chapter, shown on another page
widgets         the scripts of interactive figures, on the pages that use them
folds           code that readers can skip at first
live            the models that run in a page, loaded on first use
sections        links to numbered sections
glossary        the Chinese words below headings and in the search, and a table sorted by pinyin
chinese         marks on Chinese text, for screen readers
markup          changes to the HTML: sizes of pictures, questions, second readings
pictures        the colors of the roles in drawings
search          a search that also finds Chinese, and shows excerpts
safety          each page's Content Security Policy: it loads only the book's own files
styles          one style sheet: the theme's rules that are used, our own, and the colors
licenses        the license texts of the theme and the extensions
unused          the removal of files that no page uses
private         the non-public parts of Sphinx and its theme that the other parts use

Templates that replace the theme's are in press/templates; CSS and JavaScript are in press/static.
"""

from sphinx.application import Sphinx

from . import (
    anchors,
    cards,
    chapters_table,
    chinese,
    edition,
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
    edition, anchors, links, to_directives, formulas, cards, practice, markup, folds,
    chapters_table, output, sections, glossary, chinese, pictures, widgets, live, search,
    safety, unused, styles, licenses,
)  # fmt: skip
ENVIRONMENT = 11  # raise this if a change in this folder requires reading every page again


def setup(app: Sphinx) -> dict[str, bool | int]:
    """Register the parts with Sphinx."""
    for part in PARTS:
        part.setup(app)
    return {
        "env_version": ENVIRONMENT,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
