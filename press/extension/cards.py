"""`:::{solution} 03.scores`: an exercise's hints and its solution, folded, from the library."""

import inspect
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.exercises.catalog import UsageError, find
from attnbook.exercises.exercise import Exercise


class OfExercise(SphinxDirective):
    """A directive that takes the id of an exercise."""

    required_arguments = 1

    def exercise(self, *uses: Any) -> Exercise:
        """The exercise; the page is read again when it, or what the page uses, has changed."""
        try:
            exercise = find(self.arguments[0])
        except UsageError as error:
            raise self.error(str(error)) from None
        for used in (exercise.reference, *uses):
            self.env.note_dependency(inspect.getsourcefile(used) or "")
        return exercise


class Solution(OfExercise):
    """Fold three hints and the reference under a summary each."""

    def run(self) -> list[nodes.Node]:
        exercise = self.exercise()
        code = exercise.solution()
        answer = nodes.literal_block(code, code, language="python")
        found: list[nodes.Node] = []
        for number, hint in enumerate(exercise.hints, 1):
            found += folded(f"Hint {number}", f"hint-{number}", self.parse_text_to_nodes(hint))
        insight = self.parse_text_to_nodes(exercise.insight)
        return found + folded("Solution", "solution", [answer, *insight])


def folded(summary: str, kind: str, inside: list[nodes.Node]) -> list[nodes.Node]:
    """Nodes inside a fold, which the reader opens."""
    opening = f'<details class="answer {kind}"><summary>{summary}</summary>'
    closing = nodes.raw("", "</details>", format="html")
    return [nodes.raw("", opening, format="html"), *inside, closing]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("solution", Solution)
