"""Write the exercise cells of a chapter, which are never edited by hand.

Each exercise has three cells: its card, its stub with the check, and its solution. The cells of all
exercises come before the cell `summary`, in the order of the catalog. A line above them, which
pages omit, says what to do after a restart. `tools/run.py` writes these cells whenever it writes a
notebook, and `make check` rejects a notebook in which they differ from the library.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from attnbook.language import _
from manuscript.common import ROOT, UserError

if TYPE_CHECKING:
    from attnbook.exercises.exercise import Exercise

STUB = "stub-"  # the ids of cells for answers begin with this
GENERATED = re.compile(rf"exercise-|{STUB}|solution-|restart$")
RESTART = _(
    "*After a restart, run the first two code cells, up to the imports; the exercises need no "
    "others. If your answer uses other names from the chapter, select this cell, then* Run > Run "
    "All Above Selected Cell. *In Colab it is* Runtime > Run before, *in VS Code* Execute Above "
    "Cells *on the cell.*"
)
STUCK = _("Stuck? Remove the # from a line and run it: the next hint, or the solution.")
SOLUTION = """\
# {stuck}
# hint("{id}")
# solution("{id}")"""


def exercises_of(path: Path) -> "list[Exercise]":
    """Return the exercises of a chapter, found by its number; other notebooks have none."""
    if path.resolve().parent != ROOT / "book" or not re.match(r"\d\d_", path.name):
        return []
    from attnbook.exercises.catalog import ALL  # imported only here, because it imports PyTorch

    return [exercise for exercise in ALL.values() if exercise.id[:2] == path.name[:2]]


def write_exercises(notebook: NotebookNode, exercises: "Sequence[Exercise]") -> None:
    """Write the cells of these exercises into the notebook, and keep their outputs.

    Raises:  UserError if there is no cell `summary` to put them before
    """
    if not exercises:
        return
    old = {cell.id: cell for cell in notebook.cells}
    others = [cell for cell in notebook.cells if not GENERATED.match(cell.id)]
    position = next((i for i, cell in enumerate(others) if cell.id == "summary"), None)
    if position is None:
        raise UserError("has no cell with the id 'summary', before which its exercises are placed")
    restart = new_markdown_cell(RESTART, id="restart", metadata={"tags": ["remove-cell"]})
    new = [restart, *(cell for exercise in exercises for cell in cells_of(exercise))]
    for cell in new:
        if cell.id in old and old[cell.id].cell_type == cell.cell_type:
            cell.update(old[cell.id], source=cell.source, metadata=cell.metadata)
    notebook.cells = others[:position] + new + others[position:]


def cells_of(exercise: "Exercise") -> tuple[NotebookNode, NotebookNode, NotebookNode]:
    """Make the cells of an exercise: the card, the stub with its check, and the solution."""
    name = exercise.id.partition(".")[2]
    stub = f'{exercise.reader_stub()}\n\n\ncheck({exercise.name}, "{exercise.id}")'
    return (
        new_markdown_cell(exercise.card(), id=f"exercise-{name}", metadata={"tags": ["exercise"]}),
        new_code_cell(stub, id=STUB + name),
        new_code_cell(
            SOLUTION.format(stuck=STUCK, id=exercise.id),
            id=f"solution-{name}",
            metadata={"tags": ["solution"]},
        ),
    )
