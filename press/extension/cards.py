"""`:::{solution} 03.scores`: the folded hints and solution of an exercise, from the library."""

import inspect
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.exercises.catalog import UsageError, find
from attnbook.exercises.exercise import Exercise
from attnbook.language import _

from .folds import folded


class ExerciseDirective(SphinxDirective):
    """A directive whose argument is the id of an exercise."""

    required_arguments = 1

    def exercise(self, *dependencies: Any) -> Exercise:
        """Return the exercise that the argument names.

        Sphinx reads the page again when the source of the exercise or of a dependency has changed.

        Raises:  a Sphinx error if there is no such exercise
        """
        try:
            exercise = find(self.arguments[0])
        except UsageError as error:
            raise self.error(str(error)) from None
        for source in (exercise.reference, *dependencies):
            self.env.note_dependency(inspect.getsourcefile(source) or "")
        return exercise


class Solution(ExerciseDirective):
    """Insert the hints and the reference solution, each folded under a summary."""

    def run(self) -> list[nodes.Node]:
        exercise = self.exercise()
        code = exercise.solution()
        block = nodes.literal_block(code, code, language="python")
        hints: list[nodes.Node] = []
        for number, hint in enumerate(exercise.hints, 1):
            hints += folded(
                _("Hint {number}").format(number=number),
                f"answer hint-{number}",
                self.parse_text_to_nodes(_(hint)),
            )
        insight = self.parse_text_to_nodes(_(exercise.insight))
        content = hints + folded(_("Solution"), "answer solution", [block, *insight])
        return [nodes.container("", *content, classes=["hints"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("solution", Solution)
