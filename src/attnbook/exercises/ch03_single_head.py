"""Exercises of chapter 3: one head."""

import math
from typing import Any

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw

# --- 03.scores: compare every query with every key -------------------------------------------


def scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / math.sqrt(query.size(-1))


def score_cases(generator: Generator) -> list[Case]:
    return [
        Case(
            (draw(generator, 2, 4), draw(generator, 3, 4)), {"Lq": 2, "Lk": 3, "Dk": 4}, "2 queries"
        ),
        Case(
            (draw(generator, 5, 4), draw(generator, 7, 4)), {"Lq": 5, "Lk": 7, "Dk": 4}, "5 queries"
        ),
        Case(
            (draw(generator, 2, 3, 5, 6), draw(generator, 2, 3, 7, 6)),
            {"B": 2, "H": 3, "Lq": 5, "Lk": 7, "Dk": 6},
            "a batch of 2 with 3 heads",
        ),
        Case((draw(generator, 1, 1), draw(generator, 1, 1)), {}, "one query, one key, width 1"),
    ]


SCORES = Exercise(
    id="03.scores",
    title="Compare every query with every key",
    level=1,
    minutes=5,
    section="3.2",
    prompt="""
Write `scores(query, key)`: the scaled dot product of each query with each key. `query` has shape
(..., Lq, Dk), `key` (..., Lk, Dk), and the answer (..., Lq, Lk). The dots stand for any number of
leading dimensions, such as batch and heads.
""",
    stub="""
def scores(query, key):
    raise NotImplementedError
""",
    reference=scores,
    cases=score_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            "no scale",
            lambda query, key: query @ key.mT,
            "These are the raw dot products. Their spread grows with the width: divide by √Dk.",
        ),
        Mistake(
            "scale by Dk",
            lambda query, key: query @ key.mT / query.size(-1),
            "You divided by Dk. The variance of a dot product is Dk, so its spread is √Dk: divide "
            "by the root.",
        ),
        Mistake(
            "scale by the length",
            lambda query, key: query @ key.mT / math.sqrt(key.size(-2)),
            "You divided by √Lk, the number of keys. A dot product adds up over the width, so the "
            "width sets its spread: √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
        ),
        Mistake(
            "multiplied by the root",
            lambda query, key: query @ key.mT * math.sqrt(query.size(-1)),
            "You multiplied by √Dk. Scaling takes the spread back: divide.",
        ),
        Mistake(
            "keys ask",
            lambda query, key: key @ query.mT / math.sqrt(query.size(-1)),
            "Here the keys ask the queries. Row i of the answer belongs to query i: put `query` "
            "first and transpose `key`.",
        ),
        Mistake(
            "no transpose",
            lambda query, key: query @ key / math.sqrt(query.size(-1)),
            "A matrix product pairs the columns of the first with the rows of the second. The keys "
            "are rows: transpose them with `key.mT`.",
        ),
        Mistake(
            "transposed every axis",
            lambda query, key: (
                query @ key.permute(*reversed(range(key.dim()))) / math.sqrt(query.size(-1))
            ),
            "`.T` turns all axes around, batch and heads too. Only the last two may swap: `.mT` or "
            "`.transpose(-2, -1)`.",
        ),
    ),
    hints=(
        "One matrix product gives all dot products at once, if the keys lie in the columns.",
        "`key.mT` swaps the last two axes and leaves batch and heads alone.",
        "`query @ key.mT`, divided by the square root of the width of one query.",
    ),
    insight="One product, and every pair has met. The loop of section 3.2 did nothing else.",
)

# --- 03.weights: a softmax that does not overflow --------------------------------------------


def weights(scores: Tensor) -> Tensor:
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def weight_cases(generator: Generator) -> list[Case]:
    return [
        Case((draw(generator, 2, 3),), {"Lq": 2, "Lk": 3}, "2 queries, 3 keys"),
        Case((draw(generator, 5, 7),), {"Lq": 5, "Lk": 7}, "5 queries, 7 keys"),
        Case((draw(generator, 2, 3, 5, 7),), {"B": 2, "H": 3, "Lq": 5, "Lk": 7}, "batch and heads"),
        Case((1000 * draw(generator, 4, 6),), {"Lq": 4, "Lk": 6}, "scores in the thousands"),
        Case(
            (draw(generator, 4, 6) + torch.tensor([[1000.0], [-1000.0], [0.0], [800.0]]),),
            {"Lq": 4, "Lk": 6},
            "rows of scores around 1000, -1000, 0 and 800",
        ),
    ]


def overflowing(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(dim=-1, keepdim=True)


def rows_sum_to_one(answer: Tensor, case: Case) -> bool:
    return bool((answer.sum(-1) - 1).abs().max() < 1e-6)


WEIGHTS = Exercise(
    id="03.weights",
    title="A softmax that does not overflow",
    level=2,
    minutes=10,
    section="3.3",
    prompt="""
Write `weights(scores)`: the softmax over each row, from `exp` and sums, without calling a softmax.
`scores` has shape (..., Lq, Lk), and so has the answer. It must survive scores such as 1000 and
−1000.
""",
    stub="""
def weights(scores):
    raise NotImplementedError
""",
    reference=weights,
    cases=weight_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            "overflow",
            overflowing,
            "This is the softmax of the formula, and it is right for small scores. exp(1000) is "
            "too large for a float and exp(−900) too small: subtract each row's largest score "
            "first. The quotient does not change.",
        ),
        Mistake(
            "over the queries",
            lambda scores: scores.softmax(-2),
            "Softmax ran over the queries: your columns sum to 1, not your rows. Each query shares "
            "out its own attention, so the sum runs over the keys, the last axis.",
        ),
        Mistake(
            "over everything",
            lambda scores: scores.flatten(-2).softmax(-1).view_as(scores),
            "All weights of a matrix together sum to 1. Each row has to: sum with `dim=-1`, and "
            "`keepdim=True` so that the quotient broadcasts.",
        ),
        Mistake(
            "over the batch",
            lambda scores: scores.softmax(0),
            "Softmax ran over axis 0. That is the batch as soon as there is one: count axes from "
            "the end, `dim=-1`.",
        ),
        Mistake(
            "no exponential",
            lambda scores: scores / scores.sum(-1, keepdim=True),
            "The scores were divided by their sum. Scores may be negative, so weights need `exp` "
            "first.",
        ),
        Mistake(
            "hard choice",
            lambda scores: torch.nn.functional.one_hot(scores.argmax(-1), scores.size(-1)).to(
                scores
            ),
            "The winner takes everything here. That is a hard look-up: it has no slope to learn "
            "from.",
        ),
        Mistake(
            "one maximum for all",
            lambda scores: overflowing(scores - scores.max()),
            "One maximum was subtracted from all rows. A row far below it still underflows to 0/0: "
            "each row needs its own, `amax(dim=-1, keepdim=True)`.",
        ),
    ),
    properties=(
        Property("Each row of weights has to sum to 1, and yours do not.", rows_sum_to_one),
    ),
    hints=(
        "A shift of a whole row cancels in the quotient. Which shift makes every exponent ≤ 0?",
        "`scores.amax(dim=-1, keepdim=True)` is each row's largest score, ready to be subtracted.",
        "Subtract it, take `exp`, divide by `.sum(dim=-1, keepdim=True)`.",
    ),
    insight="Every library does this. You will never again wonder where the NaN came from.",
)

# --- 03.shapes: predict the shapes -----------------------------------------------------------

QUESTIONS = ("scores", "weights", "output", "w_v")


def shapes(what: str, Lq: int, Lk: int, D: int, Dk: int, Dv: int) -> tuple[int, int]:
    return {"scores": (Lq, Lk), "weights": (Lq, Lk), "output": (Lq, Dv), "w_v": (D, Dv)}[what]


def shape_cases(generator: Generator) -> list[Case]:
    sizes = torch.randperm(20, generator=generator)[:5].add(2).tolist()
    return [
        Case((what, *sizes), note=f"{what} for Lq, Lk, D, Dk, Dv = {sizes}") for what in QUESTIONS
    ]


def wrong_shapes(**wrong: tuple[str, str]) -> Any:
    """A learner's belief: as the reference, but for what `wrong` says."""

    def belief(what: str, Lq: int, Lk: int, D: int, Dk: int, Dv: int) -> tuple[int, ...]:
        sizes = {"Lq": Lq, "Lk": Lk, "D": D, "Dk": Dk, "Dv": Dv}
        if what in wrong:
            return tuple(sizes[name] for name in wrong[what])
        return shapes(what, Lq, Lk, D, Dk, Dv)

    return belief


SHAPES = Exercise(
    id="03.shapes",
    title="Predict the shapes",
    level=1,
    minutes=5,
    section="3.2",
    prompt="""
`shapes(what, Lq, Lk, D, Dk, Dv)` gets a word, one of `"scores"`, `"weights"`, `"output"` and
`"w_v"`, and five sizes. Return the shape of that tensor as a tuple, written with the sizes. The
rows that ask are Lq, the rows that answer Lk, both of width D before the projections.
""",
    stub="""
def shapes(what, Lq, Lk, D, Dk, Dv):
    raise NotImplementedError
    answers = {"scores": (), "weights": (), "output": (), "w_v": ()}
    return answers[what]
""",
    reference=shapes,
    cases=shape_cases,
    mistakes=(
        Mistake(
            "output as wide as keys",
            wrong_shapes(output=("Lq", "Dk")),
            "The output is a mixture of values, so it is as wide as a value: Dv. The width Dk is "
            "used up by the dot products.",
        ),
        Mistake(
            "output as long as keys",
            wrong_shapes(output=("Lk", "Dv")),
            "Each query gets one row of output: Lq rows. The Lk values are what is mixed.",
        ),
        Mistake(
            "output as wide as the model",
            wrong_shapes(output=("Lq", "D")),
            "The output of one head has the width of its values, Dv. Only W_O, in chapter 4, "
            "brings it back to D.",
        ),
        Mistake(
            "scores transposed",
            wrong_shapes(scores=("Lk", "Lq"), weights=("Lk", "Lq")),
            "One row per query, one column per key: (Lq, Lk). Yours has the keys in the rows.",
        ),
        Mistake(
            "weights keep the width",
            wrong_shapes(weights=("Lq", "Dk")),
            "The weights are the scores after the softmax, and a softmax changes no shape.",
        ),
        Mistake(
            "w_v turned around",
            wrong_shapes(w_v=("Dv", "D")),
            "With rows as tokens, V = X W_V has to turn width D into Dv: W_V is (D, Dv). "
            "(nn.Linear stores its weight the other way round.)",
        ),
        Mistake(
            "w_v as wide as keys",
            wrong_shapes(w_v=("D", "Dk")),
            "W_Q and W_K lead to Dk, because queries and keys must meet. Values have a width of "
            "their own: W_V is (D, Dv).",
        ),
    ),
    hints=(
        "Write the product first: (Lq, Dk) times what gives (Lq, Lk)?",
        "A softmax changes no shape. The output mixes Lk rows of width Dv, once per query.",
        "scores and weights: (Lq, Lk). output: (Lq, Dv). V = X W_V has to make width Dv from D.",
    ),
    insight="Dk appears in no result: queries and keys meet in it, and it is summed away.",
    code=False,
)

EXERCISES = (SCORES, WEIGHTS, SHAPES)
