"""`:::{solution} 03.scores`: the folded hints and solution of an exercise, from the library."""

from docutils import nodes
from sphinx.application import Sphinx

from attnbook.language import _

from .exercises import ExerciseDirective
from .folds import folded


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
