"""Fold code that readers can skip at first.

Imports are folded in place, and the code of a cell that only draws goes below its picture
(to_directives.py finds both). A listing of the library shows only the computation; the whole
source, with its docstring and checks, is folded below it.
"""

import ast
import re

from docutils import nodes
from sphinx.application import Sphinx

from attnbook.language import _


def fold_code(app: Sphinx, doctree: nodes.document) -> None:
    """Fold the code of the cells that to_directives.py has tagged."""
    for kind, words, first in ("imports", _("imports"), True), ("code", _("code"), False):
        for cell in doctree.findall(nodes.container):
            if f"tag_fold-{kind}" in cell["classes"]:
                code = folded(words, "code", [cell[0]])
                cell.children = [*code, *cell[1:]] if first else [*cell[1:], *code]


def fold_listings(app: Sphinx, doctree: nodes.document) -> None:
    """Shorten the listings of the cells that call show_source."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") == "cell_code" and "show_source(" in cell[0].astext():
            for block in list(cell[-1].findall(nodes.literal_block)):
                if (short := without_checks(block.astext())) != block.astext():
                    brief = nodes.literal_block(short, short, language="python")
                    whole = folded(_("docstring and checks"), "code listing", [block.deepcopy()])
                    block.replace_self([brief, *whole])


def folded(summary: str, kind: str, content: list[nodes.Node]) -> list[nodes.Node]:
    """Return nodes folded under a summary, which the reader opens; `kind` is their HTML class."""
    opening = f'<details class="{kind}"><summary>{summary}</summary>'
    closing = nodes.raw("", "</details>", format="html")
    return [nodes.raw("", opening, format="html"), *content, closing]


def without_checks(source: str) -> str:
    """Return source code without its docstrings and its checks of the input."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the listing shows only a part of the code
        return source
    dropped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and all(map(is_a_check, node.body)):
            return source  # it does nothing else, so the checks are what there is to see
        if isinstance(node, ast.stmt) and node.end_lineno and is_a_check(node):
            dropped |= {*range(node.lineno, node.end_lineno + 1)}
    lines = enumerate(source.splitlines(), start=1)
    kept = "\n".join(line for number, line in lines if number not in dropped)
    return re.sub(r"(:\n)\n+", r"\1", kept)


def is_a_check(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, calls a check, or raises an error under a condition.

    So is a block that contains nothing else.
    """
    if isinstance(node, ast.If) and node.orelse:
        return False
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
        return True
    if isinstance(node, ast.If | ast.For | ast.While | ast.With):
        return all(map(is_a_check, node.body))
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    named = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id
    return isinstance(value, ast.Constant) or (bool(named) and "check" in str(named))


def setup(app: Sphinx) -> None:
    """Fold the code of each page that Sphinx reads."""
    app.connect("doctree-read", fold_code)
    app.connect("doctree-read", fold_listings)
