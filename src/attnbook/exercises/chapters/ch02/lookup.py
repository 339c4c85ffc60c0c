"""An embedding look-up is a matrix product."""

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, named_sizes


def my_look_up(ids: Tensor, table: Tensor) -> Tensor:
    one_hot = F.one_hot(ids, num_classes=len(table))  # (..., L, N)
    return one_hot.to(table.dtype) @ table


def look_up_by_comparing(ids: Tensor, table: Tensor) -> Tensor:
    one_hot = ids[..., None] == torch.arange(len(table), device=ids.device)
    return one_hot.to(table) @ table


def lookup_cases(generator: Generator) -> list[Case]:
    def case(note: str, n: int, d: int, *shape: int) -> Case:
        ids = torch.randint(1, n - 1, shape, generator=generator)  # never the first or last row
        sizes = named_sizes("A B L", shape) | {"N": n, "D": d}
        return Case((ids, draw(generator, n, d)), sizes, note)

    known = case("2 tokens, a table of 3 rows", 3, 5, 2)
    known.arguments[0][:] = torch.tensor([2, 0])
    return [
        known,
        case("5 tokens, none of them the table's last word", 7, 6, 5),
        case("a batch of 2 sentences", 6, 3, 2, 5),
        case("two leading axes", 11, 6, 2, 3, 5),
    ]


EXERCISE = Exercise(
    title="A look-up is a product",
    level=2,
    minutes=8,
    section="2.4",
    prompt="""
Write `my_look_up(ids, table)`: fetch a row of `table` (N, D) for each id, by a matrix product with
one-hot rows. `ids` holds whole numbers and has shape (..., L), with any number of leading axes in
place of the dots. The answer has shape (..., L, D) and the dtype of the table. (Indexing also
passes; the point is to see that the product gives the same result.)
""",
    asks_for_dtype=True,
    reference=my_look_up,
    cases=lookup_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)) @ table,
            "`one_hot` gives whole numbers, but both factors of a matrix product need the same "
            "dtype: the table's.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).float() @ table,
            "`.float()` gives float32, but this table is float64. Take the dtype from the table.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids).to(table.dtype) @ table,
            "Without `num_classes`, the one-hot rows are only as long as the largest id requires. "
            "They need N numbers, one for each row of the table.",
        ),
        Mistake(
            lambda ids, table: table.mT @ F.one_hot(ids, len(table)).to(table.dtype).mT,
            "In your answer the columns belong to the words. Put the one-hot rows first in the "
            "product.",
        ),
        Mistake(
            lambda ids, table: F.one_hot(ids, len(table)).to(table.dtype).mT @ table,
            "The one-hot matrix is transposed. Each of its *rows* picks a row of the table.",
        ),
        Mistake(
            lambda ids, table: ids[..., None] * table[0],
            "You multiplied by the ids. Ids are names: twice the id is not twice the word.",
        ),
    ),
    hints=(
        "Each id becomes a row of N numbers: a single 1, and zeros elsewhere.",
        "`F.one_hot(ids, num_classes=...)` makes whole numbers. How many columns are needed?",
        "Convert them with `.to(table.dtype)`, then multiply: `@ table`.",
    ),
    others=(look_up_by_comparing,),
    comes_back="Chapter 9's last layer is the reverse: vectors in, words out.",
    properties=(
        Property(
            "A look-up copies rows, but one of your rows is not in the table. Was it rounded, or "
            "does it come from another table?",
            lambda answer, case: bool(
                (answer[..., None, :] == case.arguments[1]).all(-1).any(-1).all()
            ),
        ),
    ),
    insight="The table's gradient is the transposed one-hot matrix times the incoming gradient: "
    "each token adds its part to its row.",
)
