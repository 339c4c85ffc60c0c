"""Tables: the name of its column at each cell, for phones; no heading in an empty corner.

On a phone, a row of a wide table becomes a list. A matrix, whose columns are all of one kind, stays
a matrix, because what is in it has to be compared along its columns, too.
"""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from . import private

PHONE_LINE = 40  # characters of a table row that fit on a phone


def label_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Label the cells of a wide table with their columns, because a phone stacks a row's cells."""
    for table in doctree.findall(nodes.table):
        head, body = (list(table.findall(part)) for part in (nodes.thead, nodes.tbody))
        names = [entry.astext() for part in head for entry in part.findall(nodes.entry)]
        rows = [row.children for part in body for row in part.children]
        longest = [
            max(len(entry.astext()) for entry in column) for column in zip(*rows, strict=True)
        ]
        if is_matrix(names):
            table["classes"].append("matrix")
        elif len(names) > 2 and sum(longest) > PHONE_LINE:
            table["classes"].append("stack")
            for row in rows:
                for name, entry in zip(names, row, strict=True):
                    entry["label"] = name


def is_matrix(names: list[str]) -> bool:
    """Whether the columns are numbered, or those after the first have names of one kind.

    Such as "key of 苹果", "key of 很", "key of 甜", or 苹果的键, 很的键, 甜的键.
    """
    numbered = all(name.isdecimal() for name in names)
    starts = {name.partition(" ")[0] for name in names[1:]}
    ends = {name.rpartition("的")[2] for name in names[1:]}
    return len(names) > 3 and (numbered or 1 in (len(starts), len(ends)))


def visit_entry(self: HTML5Translator, node: nodes.entry) -> None:
    """Write a table's empty corner as an ordinary cell; give other cells their column's name."""
    if node.astext() or not isinstance(node.parent.parent, nodes.thead):
        private.theirs(self, node)
        if label := node.get("label"):
            tag = self.body[-1].replace(">", f' data-label="{escape(label)}">', 1)
            self.body[-1] = tag
        return
    node.parent.column += 1
    self.body.append("<td></td>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the visitor, which replaces the translator's visit but not its depart method."""
    app.connect("doctree-read", label_cells)
    app.add_node(nodes.entry, override=True, html=(visit_entry, None))
