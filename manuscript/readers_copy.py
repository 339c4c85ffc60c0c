"""What readers need in a copy of a page, in my/ and for Colab, and the book's own files do without.

The install cell is folded, and the outputs below a prediction are cleared. Formulas have the colors
of the roles that they name, because only the book's build knows those names. A Chinese glossary
shows no pinyin.
"""

import re

from nbformat import NotebookNode

from attnbook.colors import ROLES
from manuscript.edition import LANGUAGE
from manuscript.normal_form import INSTALL_ID

BLOCK = re.compile(r"^(:::|```)\{([\w-]+)\} *([^\n]*)\n(.*?)^\1\n?", re.M | re.S)
LABEL = re.compile(r"^\([\w-]+\)=\n", re.M)
GLOSSARY = re.compile(r"^\| English \| 中文 \|.*\n(?:\|.*\n)+", re.M)
PINYIN = re.compile(r"^(\| [^|]+ \| [^|*]+) \*[^|*]+\*(?= \|)", re.M)  # after a row's Chinese word
EMPTY = re.compile(r"^## [^\n]*\s*(?=^## |\Z)", re.M)  # a section that held only a directive
ROLE = re.compile(rf"(?<=color\{{)({'|'.join(ROLES)})(?=\}})")  # in a formula: \textcolor{query}{Q}


def for_readers(notebook: NotebookNode) -> None:
    """Fold the install cell, clear outputs that answer a prediction, and color formulas."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = colored(cell.source)
        elif "answer" in cell.metadata.get("tags", []):
            cell.outputs, cell.execution_count = [], None
        if cell.id == INSTALL_ID:
            cell.metadata.jupyter = {"source_hidden": True}


def without_directives(page: str, contents: str) -> str:
    """Return the text of a page without Sphinx's directives and labels."""

    def resolved(block: re.Match[str]) -> str:
        name, argument, body = block.groups()[1:]
        if name == "chapters":
            return contents
        return body if (name, argument) == ("only", "not repository") else ""

    return colored(EMPTY.sub("", LABEL.sub("", BLOCK.sub(resolved, without_pinyin(page)))))


def without_pinyin(page: str) -> str:
    """The page without the pinyin of the glossary, which a reader of Chinese does not need."""
    if LANGUAGE == "en":
        return page
    return GLOSSARY.sub(lambda table: PINYIN.sub(r"\1", table[0]), page)


def colored(text: str) -> str:
    """The text with the roles in its formulas replaced by colors, because MathJax has no roles."""
    return ROLE.sub(lambda name: ROLES[name[0]].light, text)
