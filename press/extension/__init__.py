"""What the HTML edition needs beyond Jupyter Book, in small parts.

links       to the repository, to Colab and Binder, as the environment says at build time
formulas    KaTeX at build time, so that no page needs a script to show a formula
cards       an exercise's hints and solution, folded, from the library
search      an index that also finds Chinese, and the texts around what it finds
safety      a policy in each page: only the book's own files, and nothing sent anywhere
assets      only the scripts and files that the pages use; pictures that know their size
styles      one style sheet: what the pages use of the theme's, the book's own, the colours
licences    of those who wrote the theme and the extensions

Templates that replace some of the theme's are in press/templates, style and script in press/static.
"""

from sphinx.application import Sphinx

from . import assets, cards, formulas, licences, links, safety, search, styles


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the parts with Sphinx."""
    for part in (links, formulas, cards, search, safety, assets, styles, licences):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
