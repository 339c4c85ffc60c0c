"""Repair attention in chunks."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch10.shared import Pair, chunked_by_merging
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw, limited_to, some_sizes
from attnbook.language import _


def my_chunked(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
    query = query / math.sqrt(query.size(-1))
    largest = torch.full_like(query[..., :1], -math.inf)  # (..., Lq, 1)
    total: Any = 0
    output: Any = 0
    for start in range(0, key.size(-2), chunk):
        keys, values = key[..., start : start + chunk, :], value[..., start : start + chunk, :]
        scores = query @ keys.mT  # (..., Lq, chunk)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        old, powers = (largest - new).exp(), (scores - new).exp()
        total = total * old + powers.sum(-1, keepdim=True)
        output = output * old + powers @ values
        largest = new
    return output / total


def repair_cases(generator: Generator) -> list[Case]:
    def case(
        note: str, chunk: int, *sizes: int, level: Sequence[float] = (), opposite: bool = False
    ) -> Case:
        """The scores of key j are near level[j]; if opposite, query 1's are near −level[j]."""
        *front, lq, lk, dk, dv = sizes
        names = ("A", "B", "H", "Lq", "Lk", "Dk", "Dv")[-len(sizes) :]
        query, key = draw(generator, *front, lq, dk), draw(generator, *front, lk, dk)
        if level:
            signs = 1.0 - 2.0 * (torch.arange(lq) == 1) * opposite
            own = (dk**0.5 * signs.to(query))[:, None].expand(*query.shape[:-1], 1)
            query = torch.cat((own, query[..., 1:]), dim=-1)
            first = torch.tensor(level, dtype=key.dtype)[:, None].expand(*key.shape[:-1], 1)
            key = torch.cat((first, key[..., 1:]), dim=-1)
        arguments = (query, key, draw(generator, *front, lk, dv), chunk)
        return Case(arguments, dict(zip(names, sizes, strict=True)), note)

    lq, lk, dk, dv = some_sizes(generator, 4)
    rising, falling = (3.0, 2.0, 1.0, 800.0, 799.0), (800.0, 799.0, 3.0, 2.0, 1.0)
    large, low = (800.0, 801.0, 799.0, 800.5, 798.0), (-900.0, -901.0, -899.0, -900.5, -898.0)
    many = case("30 queries, 59 keys, chunk 20", 20, 30, 59, 3, 5)
    *tensors, chunk = many.arguments
    small = limited_to(30 * 20, _("the scores of one chunk"))
    return [
        case("one chunk: 3 keys, chunk 3", 3, 5, 3, 6, 7),
        case("6 keys, chunk 3", 3, 5, 6, 7, 8),
        case("7 keys, chunk 3", 3, 2, 7, 5, 6),
        case("5 keys, chunk 8", 8, 3, 5, 6, 7),
        case(_("{n} keys, chunk 2").format(n=lk), 2, lq, lk, dk, dv),
        case("2 sentences, 3 heads: 8 keys, chunk 3", 3, 2, 3, 5, 8, 7, 6),
        case("the scores rise: 3, then 800", 2, 3, 5, 6, 7, level=rising),
        case("the scores fall: 800, then 3", 2, 3, 5, 6, 7, level=falling),
        case("scores near 800, but −800 for query 1", 2, 3, 5, 7, 6, level=large, opposite=True),
        case("every score is near −900", 2, 3, 5, 7, 6, level=low),
        Case((*(x.as_subclass(small) for x in tensors), chunk), many.sizes, many.note),
    ]


Growth = Callable[[Any, Tensor, Tensor], Tensor]


def rescaled(so_far: Any, here: Tensor, old: Tensor) -> Tensor:
    return so_far * old + here


def not_rescaled(so_far: Any, here: Tensor, old: Tensor) -> Tensor:
    return so_far + here


def in_chunks_of(
    total_grows: Growth = rescaled,
    output_grows: Growth = rescaled,
    rounds: Callable[[int, int], Iterable[int]] = lambda n, chunk: range(-(-n // chunk)),
    newest: Pair = torch.maximum,
) -> Callable[[Tensor, Tensor, Tensor, int], Tensor]:
    """The loop over chunks, right unless a step is replaced.

    `total_grows` and `output_grows` get the sum so far, this chunk's part, and e^(largest − new).
    """

    def wrong(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
        largest = torch.full_like(query[..., :1], -math.inf)
        total: Any = 0
        output: Any = 0
        for i in rounds(key.size(-2), chunk):
            keys, values = key.split(chunk, dim=-2)[i], value.split(chunk, dim=-2)[i]
            scores = query @ keys.mT / math.sqrt(query.size(-1))
            new = newest(largest, scores.amax(-1, keepdim=True))
            old, powers = (largest - new).exp(), (scores - new).exp()
            total = total_grows(total, powers.sum(-1, keepdim=True), old)
            output = output_grows(output, powers @ values, old)
            largest = new
        return output / total

    return wrong


def full_chunks(n: int, chunk: int) -> Iterable[int]:
    return range(n // chunk)


EXERCISE = Exercise(
    title="Chunks that do not fit together",
    level=3,
    minutes=15,
    section="10.5",
    prompt="""
This function computes attention for one chunk of keys at a time, with scores (..., Lq, `chunk`). If
the keys fill exactly one chunk, it is right. With more chunks it is wrong, and for some lengths it
leaves out keys. Find the two faults, one of which affects two lines. `query` has shape
(..., Lq, Dk), `key` (..., Lk, Dk), `value` (..., Lk, Dv), and the output (..., Lq, Dv). Do not
compute any tensor larger than the scores of one chunk, and do not use
`scaled_dot_product_attention`, `fused_attention` or `chunked_attention`.
""",
    stub="""
def my_chunked(query, key, value, chunk):
    raise NotImplementedError  # repair the lines below, then delete this one
    largest, total, output = torch.full_like(query[..., :1], -math.inf), 0, 0
    for i in range(key.size(-2) // chunk):
        keys, values = key.split(chunk, dim=-2)[i], value.split(chunk, dim=-2)[i]
        scores = query @ keys.mT / math.sqrt(query.size(-1))  # (..., Lq, chunk)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        powers = (scores - new).exp()
        total = total + powers.sum(-1, keepdim=True)
        output = output + powers @ values
        largest = new
    return output / total
""",
    reference=my_chunked,
    cases=repair_cases,
    axes="A B H Lq Dv",
    without=("scaled_dot_product_attention", "fused_attention", "chunked_attention"),
    mistakes=(
        Mistake(
            in_chunks_of(not_rescaled, not_rescaled, full_chunks),
            "Both faults are still there. How many chunks do 7 keys make if a chunk has 3? And "
            "what has to happen to the old sums when a larger score arrives?",
        ),
        Mistake(
            in_chunks_of(not_rescaled, not_rescaled),
            "No key is left out now. But the old sums were computed with the old `largest`. When "
            "it changes, they have to be rescaled by e^(largest − new), with the old `largest`.",
        ),
        Mistake(
            in_chunks_of(rounds=full_chunks),
            "Now the sums are right, but the last chunk is left out if it is not full.",
        ),
        Mistake(
            in_chunks_of(output_grows=not_rescaled),
            "`total` is rescaled, but `output` is not. Both were computed with the old `largest`.",
        ),
        Mistake(
            in_chunks_of(total_grows=not_rescaled),
            "`output` is rescaled, but `total` is not. Both were computed with the old `largest`.",
        ),
        Mistake(
            in_chunks_of(
                lambda so_far, here, old: so_far / old + here,
                lambda so_far, here, old: so_far / old + here,
            ),
            "In the first chunk `largest` is −∞, and there your sums become nan. Is the factor "
            "upside down, or applied to more than the old sums?",
        ),
        Mistake(
            in_chunks_of(newest=lambda largest, here: torch.zeros_like(here)),
            "Without a maximum nothing needs rescaling, but then e^800 is infinite and e^−900 is "
            "0.",
        ),
        Mistake(
            in_chunks_of(newest=lambda largest, here: here),
            "You take the maximum of this chunk alone. When the scores fall, e^(largest − new) "
            "overflows.",
        ),
        Mistake(
            in_chunks_of(newest=lambda largest, here: torch.maximum(largest, here.max())),
            "All queries share one maximum. If one has far larger scores, the others get 0/0.",
        ),
        Mistake(
            in_chunks_of(rounds=lambda n, chunk: range(n // chunk + 1)),
            "One round too many: if the last chunk is full, no keys are left for another round.",
        ),
        Mistake(
            lambda query, key, value, chunk: (
                (query @ key.mT / math.sqrt(query.size(-1))).softmax(-1) @ value
            ),
            "You computed all scores at once. The card asks for one chunk at a time.",
        ),
        Mistake(
            lambda query, key, value, chunk: torch.cat(
                [
                    (q @ key.mT / math.sqrt(q.size(-1))).softmax(-1) @ value
                    for q in query.split(chunk, dim=-2)
                ],
                dim=-2,
            ),
            "You cut the queries into chunks, but each query still attends to all keys at once. "
            "Cut the keys.",
        ),
    ),
    hints=(
        "Count the rounds of the loop for 6 and for 7 keys with chunks of 3. Then take two "
        "chunks, the second with larger scores, and compute `total` by hand.",
        "An old exponential is e^(score − largest). It should be e^(score − new). What is the "
        "factor between the two?",
        "Loop over `key.split(chunk, dim=-2)` itself. Multiply `total` and `output` by "
        "`(largest - new).exp()` before you add.",
    ),
    insight="Nothing is approximated: the result does not depend on the chunk size. Between "
    "chunks, only Dv + 2 numbers are kept for each query.",
    comes_back="The library's `chunked_attention` runs this loop, and a fused kernel does the "
    "same.",
    others=(chunked_by_merging,),
)
