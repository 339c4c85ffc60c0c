"""Does a summary notice the order?"""

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from attnbook.exercises.exercise import Case, Exercise

Summary = Callable[[Tensor], Tensor]


def notices_order(summary: Summary) -> bool:
    X = torch.randn(4, 3, dtype=torch.float64)
    answers = [summary(X[list(order)]) for order in itertools.permutations(range(4))]
    return not all(torch.allclose(answer, answers[0]) for answer in answers)


# Each summary, whether it notices the order, and the message for readers who say the opposite.
SUMMARIES: dict[str, tuple[Summary, bool, str]] = {
    "the sum of the rows": (
        lambda X: X.sum(0),
        False,
        "A sum does not depend on the order. Check whether two answers are close, not equal, "
        "and use exactly the same rows.",
    ),
    "the largest number of each column": (
        lambda X: X.amax(0),
        False,
        "A maximum does not depend on the order. Do both sentences have exactly the same rows?",
    ),
    "the columns, each sorted": (
        lambda X: X.sort(0).values,
        False,
        "A sorted column does not show the original order. Do both sentences have exactly the same "
        "rows?",
    ),
    "the first row": (
        lambda X: X[0],
        True,
        "The summary is the first row. Did you move that one?",
    ),
    "the last row": (
        lambda X: X[-1],
        True,
        "The summary is the last row. Did you move that one?",
    ),
    "the row in the middle": (
        lambda X: X[len(X) // 2],
        True,
        "Reversing an odd number of rows leaves the middle row in place. Try other orders.",
    ),
    "the differences between neighbors, added up": (
        lambda X: (X[1:] - X[:-1]).abs().sum(0),
        True,
        "A reversed sentence has the same neighbors. Try other orders.",
    ),
    "each row times the next, in a circle, added up": (
        lambda X: (X * X.roll(1, 0)).sum(0),
        True,
        "In a circle of three, all rows are neighbors, and rotating or reversing a longer circle "
        "changes nothing. Shuffle more rows.",
    ),
    "the mean plus a thousandth of the first row": (
        lambda X: X.mean(0) + X[0] / 1000,
        True,
        "The summary contains a thousandth of the first row. Rounding errors are much smaller, so "
        "your tolerance can be much smaller, too.",
    ),
    "all rows, one after the other": (
        lambda X: X.flatten(),
        True,
        "The summary contains all rows, in order. Do the rows of your sentence differ?",
    ),
    "the second number of the first row": (
        lambda X: X[0, 1:2],
        True,
        "The summary is one number, the second of the first row. Do all your numbers differ?",
    ),
}

EXERCISE = Exercise(
    title="An experiment that cannot be fooled",
    level=3,
    minutes=15,
    section="2.10",
    prompt="""
In 02.order you predicted what a summary keeps. Now find out by experiment, for summaries whose code
is hidden. Write `notices_order(summary)`. The function `summary(X)` takes an embedded sentence of
your choice, `X` of shape (L, D) with L ≥ 2, and returns a tensor. Call it as often as you like.
Return `True` if it gives different answers for the same rows in different orders, and `False` if it
never does. Rounding differences do not count.
""",
    reference=notices_order,
    cases=lambda generator: [Case((f,), note=name) for name, (f, *_) in SUMMARIES.items()],
    choices={(f, not notices): message for f, notices, message in SUMMARIES.values()},
    hints=(
        "One reordering that changes nothing proves little. Which summaries ignore a swap, or a "
        "reversal?",
        "Take four random rows, and try every order.",
        "`itertools.permutations(range(4))` gives all orders, `X[list(order)]` the reordered "
        "rows, and `torch.allclose` ignores rounding.",
    ),
    comes_back="Chapters 6 and 7 ask the same question about masks and about whole layers.",
    insight="Eight of these summaries notice the order. If you only reverse a sentence of odd "
    "length, you miss three of them. A negative result proves little if the experiment could "
    "hardly have found anything.",
)
