"""Mark the predictions: paragraphs that begin with the bold words of manuscript/markers.py.

They get the class "predict", by which press/static/answers.js finds them and hides their answers. A
page with predictions also gets the button that shows all answers; it is in the page from the start,
because a button that a script inserts would move the text below it.
"""

from docutils import nodes
from sphinx.application import Sphinx

from attnbook.language import _
from manuscript import markers

IMPORTS = "tag_fold-imports"  # the class of the cell beside which the button is


def mark(app: Sphinx, page: nodes.document) -> None:
    """Mark the predictions on a page that Sphinx has read."""
    for paragraph in page.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.entry):  # a table that explains these words
            continue
        first = next((child for child in paragraph if child.astext()), None)
        if isinstance(first, nodes.strong) and first.astext().startswith(_(markers.PREDICT)):
            paragraph["classes"].append("predict")
            page["predictions"] = True
    if "predictions" in page:
        words = _("Show the answers to all predictions")
        button = f'<button class="guess all pst-js-only">{words}</button>'
        first = next((n for n in page.findall(nodes.container) if IMPORTS in n["classes"]), None)
        title = next(page.findall(nodes.title))
        at = first or title.parent[1]
        at.parent.insert(at.parent.index(at), nodes.raw("", button, format="html"))


def setup(app: Sphinx) -> None:
    """Mark the predictions of each page that Sphinx reads."""
    app.connect("doctree-read", mark)
