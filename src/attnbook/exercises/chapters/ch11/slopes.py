"""ALiBi's bias."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property


def my_alibi(n_heads: int, lq: int, lk: int) -> Tensor:
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)  # (H,)
    keys = torch.arange(lk)
    distance = (keys[lk - lq :, None] - keys).abs()  # (Lq, Lk)
    return -slopes[:, None, None] * distance


def alibi_by_loops(n_heads: int, lq: int, lk: int) -> Tensor:
    bias = torch.zeros(n_heads, lq, lk)
    for h in range(n_heads):
        for i in range(lq):
            for j in range(lk):
                bias[h, i, j] = -abs(lk - lq + i - j) / 256 ** ((h + 1) / n_heads)
    return bias


def alibi_cases(generator: Generator) -> list[Case]:
    def case(note: str, h: int, lq: int, lk: int) -> Case:
        sizes = {"H": h, "Lk": lk} if lq == lk else {"H": h, "Lq": lq, "Lk": lk}
        return Case((h, lq, lk), sizes, note)

    return [
        case("4 heads, 3 words", 4, 3, 3),
        case("2 heads, the newest of 6 words", 2, 1, 6),
        case("2 heads, the 3 newest of 7 words", 2, 3, 7),
        case("16 heads, the 5 newest of 9 words", 16, 5, 9),
        case("1 head, 5 words", 1, 5, 5),
        case("8 heads, the 2 newest of 5 words", 8, 2, 5),
    ]


def alibi(
    slopes: Callable[[Tensor, int], Tensor] = lambda h, n: 2.0 ** (-8 * h / n),
    distance: Callable[[Tensor, Tensor], Tensor] = lambda i, j: (i - j).abs(),
    first: Callable[[int, int], int] = lambda lq, lk: lk - lq,
) -> Callable[[int, int, int], Tensor]:
    """ALiBi's bias, right unless a part is replaced.

    `slopes` gets 1 … H and the number of heads; `distance` gets the query and key positions.
    """

    def wrong(n_heads: int, lq: int, lk: int) -> Tensor:
        slope = slopes(torch.arange(1, n_heads + 1), n_heads)
        queries = torch.arange(lq)[:, None] + first(lq, lk)
        return -slope[:, None, None] * distance(queries, torch.arange(lk))

    return wrong


EXERCISE = Exercise(
    title="ALiBi's bias",
    level=2,
    minutes=10,
    section="11.8",
    prompt="""
Write `my_alibi(n_heads, lq, lk)`, which returns the bias that ALiBi adds to the scores. The queries
belong to the newest `lq` of `lk` words. Head h of H, counted from 1, has the slope 2^(−8h/H), and
its bias for the query at position i and the key at position j is −slope · |i − j|. The answer has
shape (H, Lq, Lk) and PyTorch's default dtype. H is a power of two.
""",
    asks_for_dtype=True,
    reference=my_alibi,
    cases=alibi_cases,
    axes="H Lq Lk",
    mistakes=(
        Mistake(
            alibi(first=lambda lq, lk: 0),
            "Your first query is at position 0, but there are lk − lq words before it.",
        ),
        Mistake(
            alibi(distance=lambda i, j: -(i - j).abs()),
            "Your bias is positive, so the scores of distant keys rise. ALiBi reduces them.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-8 * (h - 1) / n)),
            "You counted the heads from 0. Counted from 1, the last has the slope 2^−8.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (8 * h / n)),
            "Your slopes are larger than 1: the minus sign in the exponent −8h/H is missing.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-8 * h.flip(0) / n)),
            "Your slopes are in reverse order. Head 1 has the largest, 2^(−8/H).",
        ),
        Mistake(
            alibi(lambda h, n: (-8 * h / n).exp()),
            "You raised e to the power. The slopes are powers of 2.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-h / n)),
            "Your slope is 2^(−h/H). The 8 in the exponent is missing.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0**-h),
            "Your slope halves from head to head, which is right only for 8 heads.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-8 * h // n)),
            "You rounded −8h/H to a whole number. With 16 heads it is −1/2 for the first head.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-8 // n * h)),
            "You rounded −8/H to a whole number. With 16 heads it is −1/2.",
        ),
        Mistake(
            alibi(distance=lambda i, j: i - j),
            "This is right for earlier keys, but you give later keys a negative distance, so their "
            "scores rise.",
        ),
        Mistake(
            alibi(distance=lambda i, j: torch.where(j > i, torch.inf, i - j)),
            "Your bias for later keys is −∞. The card asks for |i − j| on both sides.",
        ),
    ),
    properties=(
        Property(
            "The bias of a word for itself is 0. The first query is at position lk − lq.",
            lambda answer, case: (
                not answer.diagonal(case.arguments[2] - case.arguments[1], 1, 2).any()
            ),
        ),
    ),
    hints=(
        "The bias has two parts: H slopes, and a matrix of distances, (Lq, Lk).",
        "The positions of the queries are `torch.arange(lk - lq, lk)`, as a column, and those of "
        "the keys are `torch.arange(lk)`, as a row.",
        "`-slopes[:, None, None] * distance` has shape (H, Lq, Lk).",
    ),
    insight="Nothing is learned, and nothing depends on the length: a new word adds a row and a "
    "column, and the rest stays the same.",
    comes_back="Section 11.9 measures whether that is enough to read longer texts.",
    others=(alibi_by_loops,),
)
