"""Which row for which distance."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch07.shared import steps
from attnbook.exercises.exercise import Case, Exercise, Mistake


def table_rows(length: int, max_distance: int) -> Tensor:
    here = torch.arange(length)
    distance = here - here[:, None]  # j - i: (L, L)
    return distance.clamp(-max_distance, max_distance) + max_distance


def table_rows_moved_first(length: int, max_distance: int) -> Tensor:
    i, j = torch.meshgrid(torch.arange(length), torch.arange(length), indexing="ij")
    return (j - i + max_distance).clamp(0, 2 * max_distance)


def distance_cases(generator: Generator) -> list[Case]:
    sizes = ((6, 1), (9, 2), (4, 7), (5, 0), (1, 3))
    return [Case((n, far), {"L": n}, f"length {n}, max_distance {far}") for n, far in sizes]


EXERCISE = Exercise(
    title="Which row for which distance?",
    level=2,
    minutes=8,
    section="7.9",
    prompt="""
Shaw's table has 2 · max_distance + 1 rows: row 0 is for the distance −max_distance, the last for
+max_distance. Write `table_rows(length, max_distance)`: for each query i and key j, the row for the
distance j − i, clipped to ±max_distance. The answer is a tensor of whole numbers of shape (L, L).
""",
    reference=table_rows,
    cases=distance_cases,
    axes="L L",
    mistakes=(
        Mistake(
            lambda length, far: steps(length).T.clamp(-far, far) + far,
            "You took i − j. The distance is j − i, which is negative for a key to the left of its "
            "query.",
        ),
        Mistake(
            lambda length, far: steps(length) + far,
            "Distant keys get rows that the table does not have. Clip the distance.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far),
            "These are the clipped distances, not the rows. Row 0 belongs to −max_distance.",
        ),
        Mistake(
            lambda length, far: steps(length).abs().clamp(max=far),
            "You ignored the sign of the distance. Left and right need different rows.",
        ),
        Mistake(
            lambda length, far: steps(length).abs().clamp(max=far) + far,
            "You ignored the sign before the shift, so no key gets a row for the left side.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(0, 2 * far + 1),
            "You clipped to 2 · max_distance + 1, the number of rows. The index of the last row "
            "is one less.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(-far, far),
            "You shifted first and then clipped, as if the rows were still distances.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(max=far) + far,
            "You clipped only the large distances, so distant keys on the left get negative rows.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(min=-far) + far,
            "You clipped only the negative distances, so distant keys on the right get rows that "
            "do not exist.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far) + length - 1,
            "You shifted by length − 1. Distance 0 has the middle row of the table at any length.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(min=0).clamp(max=max(2 * far - 1, 0)),
            "Your last row is 2 · max_distance − 1, one too small. Distance 0 has a row, too.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far) + far + 1,
            "You count the rows from 1, so the last one does not exist.",
        ),
    ),
    hints=(
        "Use `torch.arange(length)` once as a row and once as a column. Their difference is "
        "(L, L).",
        "`clamp(-max_distance, max_distance)` clips. How do you make the smallest number 0?",
        "`(here - here[:, None]).clamp(-max_distance, max_distance) + max_distance`.",
    ),
    others=(table_rows_moved_first,),
    comes_back="Section 7.12 tests Shaw's vectors on deals four times as long as in training.",
    insight="The matrix for a long sentence contains the one for a short sentence. The same is "
    "true of sinusoids, but in section 7.12 they fail on longer deals.",
)
