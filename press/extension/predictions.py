"""Mark the predictions: paragraphs that begin with the bold words of manuscript/markers.py.

They get the class "predict", by which press/static/book.js finds them and hides their answers.
"""

from docutils import nodes
from sphinx.application import Sphinx

from attnbook.language import _
from manuscript import markers


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the predictions on a page that Sphinx has read."""
    for paragraph in doctree.findall(nodes.paragraph):
        first = next((child for child in paragraph if child.astext()), None)
        if isinstance(first, nodes.strong) and first.astext().startswith(_(markers.PREDICT)):
            paragraph["classes"].append("predict")


def setup(app: Sphinx) -> None:
    """Mark the predictions of each page that Sphinx reads."""
    app.connect("doctree-read", mark)
