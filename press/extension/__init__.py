"""Additions to Jupyter Book for the HTML pages, in small parts.

to_directives   the plain Markdown of a notebook, turned into the directives of a page
anchors         the ids of a translated page's headings, equal to those of the English one
headings        the name of a part, the mark of a second reading
section_links   links to numbered sections
predictions     the class by which a page's script finds predictions, and the button for all answers
exercises       an exercise's questions, answered on the page with the checker's messages
solutions       an exercise's hints and solution, folded, from the library
folds           code that readers can skip at first
formulas        KaTeX at build time, so that no page needs a script to show a formula
tables          the name of the column at each cell, for phones
pictures        sizes, the numbers of figures, and the colors of the roles in drawings
figures         the figures of notebooks inside the page, and their font
widgets         the scripts of interactive figures, on the pages that use them
live            the models that run in a page (press/live), loaded on first use
output          an interactive figure of a chapter, shown on another page
chapters_table  the table of all chapters, a chapter's drawing, the minutes in links to a chapter
glossary        the Chinese words of each section, and a table sorted by pinyin
chinese         marks on Chinese text, for screen readers
search          what the search reads: the texts of all sections, the questions, the names of terms
translations    the words around the text of a page, in the language of the edition
repository      links to the repository, Colab and Binder, from the environment at build time
storage         what a page stores in the reader's browser: the keys, all in one place
descriptions    what search engines and links to a page show of it
safety          each page's Content Security Policy: it loads only the book's own files
styles          one style sheet: the theme's rules that are used, our own, and the colors
licenses        the license texts of the theme and the extensions
unused          the removal of files that no page uses
plain_formulas  formulas in a line of text, for the search
private         the non-public parts of Sphinx and its theme that the other parts use

Templates that replace the theme's are in press/templates; CSS and JavaScript are in press/static.
"""

import gc
import logging

from sphinx.application import Sphinx

from . import (
    anchors,
    chapters_table,
    chinese,
    descriptions,
    exercises,
    figures,
    folds,
    formulas,
    glossary,
    headings,
    licenses,
    live,
    output,
    pictures,
    predictions,
    private,
    repository,
    safety,
    search,
    section_links,
    solutions,
    storage,
    styles,
    tables,
    to_directives,
    translations,
    unused,
    widgets,
)

PARTS = (
    translations, anchors, repository, to_directives, formulas, solutions, exercises, predictions,
    headings, tables, folds, chapters_table, output, section_links, glossary, chinese, figures,
    pictures, widgets, live, search, storage, descriptions, safety, unused, styles, licenses,
)  # fmt: skip
ENVIRONMENT = 18  # raise this if a change in this folder requires reading every page again


def setup(app: Sphinx) -> dict[str, bool | int]:
    """Register the parts with Sphinx."""
    # Pages are large trees, and the collector would walk through them again and again.
    gc.set_threshold(50_000, 20, 20)
    logging.getLogger(private.COPIES).addFilter(private.not_about_copies)
    for part in PARTS:
        part.setup(app)
    return {
        "env_version": ENVIRONMENT,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
