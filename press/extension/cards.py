"""`:::{solution} 03.scores`: an exercise's hints and its solution, folded, from the library."""

import inspect

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.exercises.catalogue import find


class Solution(SphinxDirective):
    """Fold three hints and the reference under a summary each.

    The text inside the directive is for JupyterLab, which shows it as it stands, and is left out.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        try:
            exercise = find(self.arguments[0])
        except KeyError as error:
            raise self.error(error.args[0]) from None
        self.env.note_dependency(inspect.getsourcefile(exercise.reference) or "")
        found: list[nodes.Node] = []
        for number, hint in enumerate(exercise.hints, 1):
            found += self.folded(f"Hint {number}", self.parsed(hint))
        code = exercise.solution()
        answer = nodes.literal_block(code, code, language="python")
        return found + self.folded("Solution", [answer, *self.parsed(exercise.insight)])

    def parsed(self, text: str) -> list[nodes.Node]:
        box = nodes.container()
        self.state.nested_parse(StringList([text]), 0, box)
        return box.children

    def folded(self, summary: str, inside: list[nodes.Node]) -> list[nodes.Node]:
        opening = f'<details class="answer"><summary>{summary}</summary>'
        return [html(opening), *inside, html("</details>")]


def html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app: Sphinx) -> None:
    app.add_directive("solution", Solution)
