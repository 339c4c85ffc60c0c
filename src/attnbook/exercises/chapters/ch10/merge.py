"""Merge the outputs of two chunks."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch10.shared import Pair, lies_between
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _


def my_merge(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> Tensor:
    share = torch.stack((lse_a, lse_b)).softmax(dim=0)[..., None]  # (2, ..., Lq, 1)
    return share[0] * output_a + share[1] * output_b


def merge_by_a_sigmoid(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> Tensor:
    share = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    return output_b + share * (output_a - output_b)


def merge_cases(generator: Generator) -> list[Case]:
    def chunk(*sizes: int, level: float | Tensor = 0.0, empty: int | None = None) -> list[Tensor]:
        output, lse = draw(generator, *sizes), draw(generator, *sizes[:-1]) + level
        if empty is not None:
            gone = torch.arange(sizes[-2]) == empty
            lse = lse.masked_fill(gone, -torch.inf)
            output = output.masked_fill(gone[:, None], 0.0)
        return [output, lse]

    def case(note: str, *sizes: int, b: dict[str, int] | None = None, **a: float | Tensor) -> Case:
        names = ("A", "B", "H", "Lq", "Dv")[-len(sizes) :]
        arguments = (*chunk(*sizes, **a), *chunk(*sizes, **(a if b is None else b)))  # type: ignore[arg-type]
        return Case(arguments, dict(zip(names, sizes, strict=True)), note)

    lq, dv = some_sizes(generator, 2)
    levels = torch.tensor([900.0, -900.0, 0.0])
    return [
        case("3 queries", 3, 5),
        case(_("{n} queries").format(n=lq), lq, dv),
        case("2 sentences, 3 heads", 2, 3, 5, 7),
        case("one more leading axis", 4, 2, 3, 5, 6),
        case("large scores: every lse is near 1000", 3, 6, level=1000.0),
        case("query 0 has very large scores, query 1 very low ones", 3, 7, level=levels),
        case("query 2 has no key in chunk a", 5, 3, empty=2, b={}),
        case("query 0 has no key in chunk b", 3, 8, b={"empty": 0}),
    ]


def weighted(share_a: Pair, share_b: Pair | None = None) -> Callable[..., Tensor]:
    """Return a merge with these weights, (..., Lq). Without share_b, chunk b gets 1 − share_a."""

    def wrong(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> Tensor:
        a = share_a(lse_a, lse_b)
        b = share_b(lse_a, lse_b) if share_b else 1 - a
        return a[..., None] * output_a + b[..., None] * output_b

    return wrong


def softmax_of_two(a: Tensor, b: Tensor, largest: Any = 0.0) -> Tensor:
    return (a - largest).exp() / ((a - largest).exp() + (b - largest).exp())


EXERCISE = Exercise(
    title="Merge two chunks",
    level=2,
    minutes=12,
    section="10.4",
    prompt="""
The keys were cut into two chunks, and each query has attended to each chunk separately. Chunk a
gave `output_a` (..., Lq, Dv), as if there were no other keys, and `lse_a` (..., Lq): for each query
the log-sum-exp (LSE), the logarithm of the sum of e^score over this chunk's keys. Chunk b gave
`output_b` and `lse_b` in the same way. Write `my_merge(output_a, lse_a, output_b, lse_b)`, which
returns the output of attention over all keys, (..., Lq, Dv).
The scores themselves are no longer available, and they may have been in the hundreds. In one of the
two chunks, a query may have had no key to attend to. Then its `lse` for this chunk is −∞, and its
output is all zeros.
""",
    reference=my_merge,
    cases=merge_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            weighted(lambda a, b: torch.full_like(a, 0.5)),
            "You averaged the outputs. A chunk's weight is its fraction of the sum of all e^score.",
        ),
        Mistake(
            weighted(lambda a, b: torch.ones_like(a), lambda a, b: torch.ones_like(a)),
            "You added the two outputs. Each is an average already, so their weights have to sum "
            "to 1.",
        ),
        Mistake(
            weighted(lambda a, b: a / (a + b), lambda a, b: b / (a + b)),
            "You weighted by the logarithms. The weights are e^lse_a and e^lse_b, divided by "
            "their sum.",
        ),
        Mistake(
            weighted(softmax_of_two),
            "This overflows: e^1000 is infinite, and e^−900 is 0. Only the difference of the two "
            "logarithms matters, so subtract the larger one first.",
        ),
        Mistake(
            weighted(
                lambda a, b: 1 / (1 + (b - a).exp()),
                lambda a, b: (b - a).exp() / (1 + (b - a).exp()),
            ),
            "e^(lse_b − lse_a) is infinite if chunk b's scores are far larger, or chunk a is "
            "empty. Subtract the larger of the two logarithms from both.",
        ),
        Mistake(
            weighted(lambda a, b: softmax_of_two(a, b, torch.maximum(a.max(), b.max()))),
            "You subtracted one maximum from all queries. A query with much lower scores is left "
            "with 0/0. Each query has its own maximum.",
        ),
        Mistake(
            weighted(
                lambda a, b: (a - torch.maximum(a, b)).exp(),
                lambda a, b: (b - torch.maximum(a, b)).exp(),
            ),
            "The two exponentials are not divided by their sum.",
        ),
        Mistake(
            weighted(lambda a, b: torch.sigmoid(b - a)),
            "The weights are swapped: chunk a got the weight of chunk b.",
        ),
        Mistake(
            weighted(lambda a, b: a.softmax(-1), lambda a, b: b.softmax(-1)),
            "Your softmax ran over the queries. For each query, the weights of the two *chunks* "
            "have to sum to 1.",
        ),
        Mistake(
            weighted(lambda a, b: softmax_of_two(a.clamp(max=80), b.clamp(max=80))),
            "You clamped large logarithms, so chunks at 1000 and at 1002 get the same weight. "
            "Only the difference matters.",
        ),
        Mistake(
            weighted(lambda a, b: (a > b).to(a)),
            "The chunk with the larger sum gets all the weight. The other chunk needs some, too.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                torch.sigmoid(lse_a - lse_b) * output_a + torch.sigmoid(lse_b - lse_a) * output_b
            ),
            "A query has one weight for its whole row: weights of shape (..., Lq) need one more "
            "axis, at the end.",
        ),
    ),
    properties=(
        Property(
            "Each number has to lie between the matching numbers of the two outputs, but some of "
            "yours do not. Do the two weights sum to 1, even for very large scores?",
            lambda answer, case: lies_between(
                answer, *torch.stack(case.arguments[::2]).aminmax(dim=0)
            ),
        ),
    ),
    hints=(
        "If S_a and S_b are the sums of e^score, which fraction of the whole sum belongs to chunk "
        "a? `lse_a` is the logarithm of S_a.",
        "The weights are e^lse_a and e^lse_b, divided by their sum. Which function computes that "
        "safely?",
        "`torch.stack((lse_a, lse_b)).softmax(dim=0)` holds both weights, (2, ..., Lq).",
    ),
    insight="A chunk is like a key: its LSE is the score, its output is the value, and a softmax "
    "over chunks merges them. So chunks can be computed anywhere and merged in any order.",
    comes_back="10.repair merges chunk after chunk, with one running sum.",
    others=(merge_by_a_sigmoid,),
)
