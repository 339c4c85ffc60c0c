"""Attention to the keys that an indexer chooses."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes


def attend_to_best(query: Tensor, key: Tensor, value: Tensor, index: Tensor, k: int) -> Tensor:
    best = index.topk(k).indices  # (..., Lq, k)
    chosen = torch.zeros_like(index, dtype=torch.bool).scatter(-1, best, True)  # (..., Lq, Lk)
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return scores.masked_fill(~chosen, -math.inf).softmax(dim=-1) @ value


def gathered(query: Tensor, key: Tensor, value: Tensor, index: Tensor, k: int) -> Tensor:
    best = index.topk(k, dim=-1).indices[..., None]  # (..., Lq, k, 1)
    keys = key.unsqueeze(-3).take_along_dim(best, dim=-2)  # (..., Lq, k, Dk)
    values = value.unsqueeze(-3).take_along_dim(best, dim=-2)  # (..., Lq, k, Dv)
    scores = query.unsqueeze(-2) @ keys.mT / math.sqrt(query.size(-1))  # (..., Lq, 1, k)
    return (scores.softmax(dim=-1) @ values).squeeze(-2)


def chosen_cases(generator: Generator) -> list[Case]:
    def case(note: str, k: int, *sizes: int) -> Case:
        *front, lq, lk, dk, dv = sizes
        query, key = draw(generator, *front, lq, dk), draw(generator, *front, lk, dk)
        value, index = draw(generator, *front, lk, dv), draw(generator, *front, lq, lk)
        names = ("A", "B", "Lq", "Lk", "Dk", "Dv")[-len(sizes) :]
        return Case((query, key, value, index, k), dict(zip(names, sizes, strict=True)), note)

    lq, lk, dk, dv = some_sizes(generator, 4)
    return [
        case("2 of 5 keys", 2, 3, 5, 6, 7),
        case("1 of 7 keys", 1, 3, 7, 5, 8),
        case("3 of 8 keys, a batch of 2", 3, 2, 5, 8, 6, 7),
        case("4 of 9 keys, one more leading axis", 4, 3, 2, 6, 9, 5, 7),
        case("all keys", lk, lq, lk, dk, dv),
    ]


def in_parts(
    choose: Callable[[Tensor, Tensor, int], Tensor] = lambda index, scores, k: kept(index, k),
    weigh: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda scores, index, mask: (
        scores.masked_fill(~mask, -math.inf).softmax(-1)
    ),
    size: Callable[[Tensor, int], float] = lambda query, k: query.size(-1),
) -> Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]:
    """Attention to chosen keys, right unless one of its parts is replaced."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, index: Tensor, k: int) -> Tensor:
        scores = query @ key.mT / math.sqrt(size(query, k))
        return weigh(scores, index, choose(index, scores, k)) @ value

    return wrong


def kept(x: Tensor, k: int, *, largest: bool = True, dim: int = -1) -> Tensor:
    best = x.topk(min(k, x.size(dim)), dim=dim, largest=largest).indices
    return torch.zeros_like(x).scatter(dim, best, 1.0) == 1


def first_values(query: Tensor, key: Tensor, value: Tensor, index: Tensor, k: int) -> Tensor:
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return scores.gather(-1, index.topk(k).indices).softmax(-1) @ value[..., :k, :]


def only_chosen(output: Tensor, case: Case) -> bool:
    """With k = 1, each output is a row of the values."""
    value, k = case.arguments[2], case.arguments[4]
    return k > 1 or bool((output.unsqueeze(-2) - value.unsqueeze(-3)).abs().amin(-2).max() < 1e-3)


EXERCISE = Exercise(
    title="Attend to the best keys",
    level=2,
    minutes=12,
    section="14.4",
    prompt="""
An indexer has given each query a score for each key, `index` (..., Lq, Lk). Write
`attend_to_best(query, key, value, index, k)`. Each query attends to the `k` keys with its largest
index scores, and to no others. Its weights come from the usual scores of `query` (..., Lq, Dk) and
`key` (..., Lk, Dk), and they sum to 1. The output has shape (..., Lq, Dv).
""",
    reference=attend_to_best,
    cases=chosen_cases,
    axes="A B Lq Dv",
    gradients=False,
    mistakes=(
        Mistake(
            in_parts(choose=lambda index, scores, k: kept(scores, k)),
            "You chose the keys with the largest scores of attention. Then every score has to be "
            "computed first, which the indexer is there to avoid.",
        ),
        Mistake(
            in_parts(
                weigh=lambda scores, index, mask: index.masked_fill(~mask, -math.inf).softmax(-1)
            ),
            "Your weights come from the index scores. These only choose: the weights come from "
            "queries and keys.",
        ),
        Mistake(
            in_parts(weigh=lambda scores, index, mask: scores.softmax(-1) * mask),
            "You took the softmax over all keys and then removed some, so the weights no longer "
            "sum to 1. Hide the other keys before the softmax.",
        ),
        Mistake(
            in_parts(weigh=lambda scores, index, mask: (scores * mask).softmax(-1)),
            "You set the scores of the other keys to 0, and e^0 is 1, so they still get weight. "
            "Hide them with -inf.",
        ),
        Mistake(
            in_parts(choose=lambda index, scores, k: kept(index, k, largest=False)),
            "You chose the keys with the smallest index scores.",
        ),
        Mistake(
            in_parts(choose=lambda index, scores, k: kept(index, k, dim=-2)),
            "You chose the best queries for each key. Each *query* chooses its keys: the last axis "
            "of `index`.",
        ),
        Mistake(
            in_parts(choose=lambda index, scores, k: ~kept(index, k)),
            "You hid the chosen keys and kept the others.",
        ),
        Mistake(
            in_parts(choose=lambda index, scores, k: index.argsort(-1, descending=True) < k),
            "`argsort` says which key is first, second and so on, not the rank of each key. Sort "
            "its result once more, or use the first k of it as indices.",
        ),
        Mistake(
            in_parts(choose=lambda index, scores, k: index > index.topk(k).values[..., -1:]),
            "You attend to one key too few. The k-th largest score is among the best: `>=`.",
        ),
        Mistake(
            first_values,
            "Your weights belong to the chosen keys, but you mixed the first k values. Each query "
            "needs the values of its chosen keys.",
        ),
        Mistake(
            in_parts(size=lambda query, k: k),
            "You divided the scores by √k. Divide by √Dk, however many keys are chosen.",
        ),
        Mistake(
            in_parts(size=lambda query, k: 1),
            "The scores are not divided by √Dk.",
        ),
    ),
    properties=(
        Property(
            "With k = 1, each query has one key, so its output is that key's value.", only_chosen
        ),
    ),
    hints=(
        "First decide which keys each query may attend to. Then it is attention with a mask.",
        "`index.topk(k).indices` has the indices of the chosen keys, and `scatter` makes "
        "a mask of them.",
        "`chosen = torch.zeros_like(index, dtype=torch.bool).scatter(-1, best, True)`, then hide "
        "`~chosen` with -inf before the softmax.",
    ),
    insight="The mask shows what is computed, but it saves nothing: all scores are there before "
    "they are hidden. The other solution gathers k keys and values for each query, and computes "
    "only k scores.",
    comes_back="14.4 trains the indexer, and 14.5 chooses whole blocks of keys.",
    others=(gathered,),
)
