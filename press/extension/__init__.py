"""What the HTML edition needs beyond Jupyter Book, in small parts.

links       to the repository, to Colab and Binder, as the environment says at build time
formulas    KaTeX at build time, so that no page needs a script to show a formula
cards       an exercise's hints and solution, folded, from the library
register    the table of all chapters
widgets     the scripts of interactive figures, on the pages that hold one
markup      visitors and a transform: pictures that know their size, roles, questions to the reader
search      an index that also finds Chinese, and the texts around what it finds
safety      a policy in each page: only the book's own files, and nothing sent anywhere
styles      one style sheet, with only the rules that the pages use, and the colours of the roles
unused      files that no page asks for are deleted
private     whatever of the above is not promised by Sphinx, its theme or its extensions

Templates that replace some of the theme's are in press/templates, style and script in press/static.
"""

from sphinx.application import Sphinx

from . import cards, formulas, links, markup, register, safety, search, styles, unused, widgets


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the parts with Sphinx."""
    for part in (links, formulas, cards, markup, register, widgets, search, safety, unused, styles):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
