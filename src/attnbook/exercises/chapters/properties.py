"""Properties of right answers, for all exercises whose answers have them."""

from torch import Tensor

from attnbook.exercises.exercise import Case, Property


def rows_sum_to_one(answer: Tensor, case: Case) -> bool:
    return bool((answer.sum(-1) - 1).abs().max() < 1e-6)


ROWS_SUM_TO_ONE = Property(
    "Each row of weights has to sum to 1, and yours do not.", rows_sum_to_one
)
