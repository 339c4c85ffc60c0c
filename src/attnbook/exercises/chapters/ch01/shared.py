"""Shared by exercises of chapter 1: every mixture stays within the values."""

from torch import Tensor

from attnbook.exercises.exercise import Case, Property


def within_the_values(answer: Tensor, case: Case) -> bool:
    values = case.arguments[2]
    low, high = values.amin(0) - 1e-6, values.amax(0) + 1e-6
    return bool(((answer >= low) & (answer <= high)).all())


MIXTURE = Property(
    "A mixture stays between the smallest and the largest value. Are your weights positive, and "
    "do they sum to 1?",
    within_the_values,
)
