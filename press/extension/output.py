"""`:::{output} 01_library.ipynb ask-library`: a chapter's interactive figure on another page."""

from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Output(SphinxDirective):
    """Insert the HTML that a cell of a notebook beside this page has displayed."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        name, cell_id = self.arguments
        path = Path(self.env.doc2path(self.env.docname)).with_name(name)
        self.env.note_dependency(str(path))
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []) if cell.id == cell_id else []:
                if page := output.get("data", {}).get("text/html"):
                    return [nodes.raw("", page, format="html")]
        raise self.error(f"{name} has no cell {cell_id!r} that displays HTML")


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("output", Output)
