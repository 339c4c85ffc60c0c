"""Exercises of chapter 3: one head."""

import math

import torch
from torch import Generator, Tensor

from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw

# --- 03.scores: compare every query with every key -------------------------------------------


def my_scores(query: Tensor, key: Tensor) -> Tensor:
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
    section="3.6",
    prompt="""
Write `my_scores(query, key)`: the scaled dot product of each query with each key. `query` has shape
(..., Lq, Dk), `key` (..., Lk, Dk), and the answer (..., Lq, Lk). The dots stand for any number of
leading dimensions, such as batch and heads.
""",
    stub="""
def my_scores(query, key):
    raise NotImplementedError
""",
    reference=my_scores,
    cases=score_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            "no scale",
            lambda q, k: q @ k.mT,
            "These are the raw dot products. Their spread grows with the width: divide by √Dk.",
        ),
        Mistake(
            "scale by Dk",
            lambda q, k: q @ k.mT / q.size(-1),
            "You divided by Dk. The variance of a dot product is Dk, so its spread is √Dk: divide "
            "by the root.",
        ),
        Mistake(
            "scale by the length",
            lambda q, k: q @ k.mT / math.sqrt(k.size(-2)),
            "You divided by √Lk, the number of keys. A dot product adds up over the width, so the "
            "width sets its spread: √Dk. (`size(-2)` counts rows, `size(-1)` columns.)",
        ),
        Mistake(
            "multiplied by the root",
            lambda q, k: q @ k.mT * math.sqrt(q.size(-1)),
            "You multiplied by √Dk. Scaling takes the spread back: divide.",
        ),
        Mistake(
            "keys ask",
            lambda q, k: k @ q.mT / math.sqrt(q.size(-1)),
            "Here the keys ask the queries. Row i of the answer belongs to query i: put `query` "
            "first and transpose `key`.",
        ),
        Mistake(
            "no transpose",
            lambda q, k: q @ k / math.sqrt(q.size(-1)),
            "A matrix product pairs the columns of the first with the rows of the second. The keys "
            "are rows: transpose them with `key.mT`.",
        ),
        Mistake(
            "transposed every axis",
            lambda q, k: q @ k.permute(*reversed(range(k.dim()))) / math.sqrt(q.size(-1)),
            "`.T` turns all axes around, batch and heads too. Only the last two may swap: `.mT` or "
            "`.transpose(-2, -1)`.",
        ),
    ),
    hints=(
        "One matrix product gives all dot products at once, if the keys lie in the columns.",
        "`key.mT` swaps the last two axes and leaves batch and heads alone.",
        "`query @ key.mT`, divided by the square root of the width of one query.",
    ),
    insight="One product, and every pair has met. The loops of section 3.5 did nothing else.",
)

# --- 03.weights: a softmax that does not overflow --------------------------------------------


def my_weights(scores: Tensor) -> Tensor:
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


def column_shifted(scores: Tensor) -> Tensor:
    return overflowing(scores - scores.amax(dim=-2, keepdim=True))


def rows_sum_to_one(answer: Tensor, case: Case) -> bool:
    return bool((answer.sum(-1) - 1).abs().max() < 1e-6)


WEIGHTS = Exercise(
    id="03.weights",
    title="A softmax that does not overflow",
    level=2,
    minutes=10,
    section="3.7",
    prompt="""
Write `my_weights(scores)`: the softmax over each row, made of `exp` and sums, without calling a
softmax. `scores` has shape (..., Lq, Lk), and so has the answer. It must survive scores such as
1000 and −1000.
""",
    stub="""
def my_weights(scores):
    raise NotImplementedError
""",
    reference=my_weights,
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
            "each column's maximum",
            column_shifted,
            "You subtracted each column's largest score. A shift cancels only if it is the same "
            "for a whole row: take the maximum along the axis along which you sum, `dim=-1`.",
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
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {"scores": (), "weights": (), "output": (), "w_v": ()}
    return answers[what]
""",
    reference=shapes,
    cases=shape_cases,
    mistakes=choices(
        shapes,
        {
            ("output", "Lq, Dk"): "The output is a mixture of values, so it is as wide as a value: "
            "Dv. The width Dk is used up by the dot products.",
            ("output", "Lk, Dv"): "Each query gets one row of output: Lq rows. The Lk values are "
            "what is mixed.",
            ("output", "Lq, D"): "The output of one head has the width of its values, Dv. Only "
            "W_O, in chapter 4, brings it back to D.",
            ("scores", "Lk, Lq"): "One row per query, one column per key: (Lq, Lk). Yours has the "
            "keys in the rows.",
            ("weights", "Lq, Dk"): "The weights are the scores after the softmax, and a softmax "
            "changes no shape.",
            ("w_v", "Dv, D"): "With rows as tokens, V = X W_V has to turn width D into Dv: W_V is "
            "(D, Dv). (nn.Linear stores its weight the other way round.)",
            ("w_v", "D, Dk"): "W_Q and W_K lead to Dk, because queries and keys must meet. Values "
            "have a width of their own: W_V is (D, Dv).",
        },
    ),
    hints=(
        "Write the product first: (Lq, Dk) times what gives (Lq, Lk)?",
        "A softmax changes no shape. The output mixes Lk rows of width Dv, once per query.",
        "scores and weights: (Lq, Lk). output: (Lq, Dv). V = X W_V has to make width Dv from D.",
    ),
    insight="Dk appears in no result: queries and keys meet in it, and it is summed away.",
    code=False,
)

# --- 03.map: read a map ----------------------------------------------------------------------

WORDS = ("Life", "is", "short", "eat")


def read(question: str) -> str:
    return {"a": "short", "b": "Life", "c": "is", "d": "is"}[question]


def map_cases(generator: Generator) -> list[Case]:
    return [Case((question,), note=f"question {question}") for question in "abcd"]


MAP = Exercise(
    id="03.map",
    title="Read a map",
    level=1,
    minutes=8,
    section="3.6",
    prompt="""
These are somebody's weights, one row per query and one column per key.

| | Life | is | short | eat |
|:--|--:|--:|--:|--:|
| **Life** | 0.10 | 0.20 | 0.60 | 0.10 |
| **is** | 0.25 | 0.25 | 0.25 | 0.25 |
| **short** | 0.05 | 0.80 | 0.05 | 0.10 |
| **eat** | 0.40 | 0.10 | 0.30 | 0.20 |

`read(question)` returns one of the four words. (a) Which word does *Life* look at most? (b) Who
looks at *short* most? (c) Whose output is the plain average of all four values? (d) Which word's
value has the largest share in the four outputs together?
""",
    stub="""
def read(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": ""}[question]
""",
    reference=read,
    cases=map_cases,
    mistakes=choices(
        read,
        {
            ("a", "eat"): "(a) *eat* looks at *Life* most: you went down the column. Who looks "
            "stands at the left, so go along the row of *Life*.",
            ("a", "is"): "(a) 0.20 is the second largest of the row of *Life*. Look for 0.60.",
            ("a", "Life"): "(a) A word need not look at itself: in the row of *Life* the diagonal "
            "holds 0.10.",
            ("b", "is"): "(b) *is* is what *short* looks at most: its row. The question asks who "
            "looks at *short*: its column.",
            ("b", "eat"): "(b) *eat* gives *short* 0.30. Go up the column: someone gives more.",
            ("b", "short"): "(b) *short* gives itself 0.05, the least of its column.",
            ("c", "Life"): "(c) The row of *Life* prefers *short*: its output is mostly that "
            "value. An average needs four equal weights.",
            ("c", "short"): "(c) 0.80 of the output of *short* is one value. An average needs four "
            "equal weights.",
            ("c", "eat"): "(c) The row of *eat* is the flattest but one. An average needs four "
            "equal weights.",
            ("d", "short"): "(d) *short* is close: its column adds up to 1.20. One column adds up "
            "to more.",
            ("d", "Life"): "(d) The column of *Life* adds up to 0.80. (Its row adds up to 1, as "
            "every row does: that says nothing.)",
            ("d", "eat"): "(d) The column of *eat* adds up to 0.65, the least of all. Add up the "
            "columns, not the rows.",
        },
    ),
    hints=(
        "Rows are those who look, columns are what is looked at.",
        "(a) is about one row and (b) about one column. (c) asks for a row of equal numbers.",
        "For (d) add up each column: every output is a mixture of the values, in these shares.",
    ),
    insight="Rows sum to 1, columns do not: a word can be looked at by everybody or by nobody.",
    code=False,
)

# --- 03.repair: three faults in three lines --------------------------------------------------


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ value


def attend_cases(generator: Generator) -> list[Case]:
    def case(note: str, *leading: int, sizes: tuple[int, int, int, int]) -> Case:
        lq, lk, d_k, d_v = sizes
        shapes = ((lq, d_k), (lk, d_k), (lk, d_v))
        names = dict(zip(("B", "H")[: len(leading)], leading, strict=True))
        drawn = tuple(draw(generator, *leading, *s) for s in shapes)
        return Case(drawn, {**names, "Lq": lq, "Lk": lk, "Dk": d_k, "Dv": d_v}, note)

    return [
        case("2 queries, 3 keys", sizes=(2, 3, 4, 5)),
        case("5 queries, 7 keys", sizes=(5, 7, 4, 6)),
        case("a batch of 2 with 3 heads", 2, 3, sizes=(5, 7, 4, 6)),
    ]


REPAIR = Exercise(
    id="03.repair",
    title="Three faults in three lines",
    level=2,
    minutes=10,
    section="3.6",
    prompt="""
Somebody wrote attention from memory. Each of the three lines below holds one fault. Repair them.
`query` is (..., Lq, Dk), `key` (..., Lk, Dk), `value` (..., Lk, Dv), the answer (..., Lq, Dv).
""",
    stub="""
def attend(query, key, value):
    raise NotImplementedError  # repair the lines below, then delete this one
    scores = query @ key.mT / math.sqrt(value.size(-1))
    weights = scores.softmax(dim=-2)
    return weights.mT @ value
""",
    reference=attend,
    cases=attend_cases,
    axes="B H Lq Dv",
    mistakes=(
        Mistake(
            "still transposed",
            lambda q, k, v: (q @ k.mT).softmax(-1).mT @ v,
            "The last line still turns the weights around. (Lq, Lk) times (Lk, Dv) fits as it is.",
        ),
        Mistake(
            "width of the values",
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-1) @ v,
            "The first line still divides by √Dv. The dot products add up over the width of the "
            "queries, not of the values.",
        ),
        Mistake(
            "still over the queries",
            lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-2) @ v,
            "The second line still lets the queries compete for a key. Each row has to sum to 1.",
        ),
        Mistake(
            "first two lines unrepaired",
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-2) @ v,
            "The last line is right now. In the first, look at whose width stands under the root; "
            "in the second, along which axis the weights sum to 1.",
        ),
        Mistake(
            "scale gone",
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
            "The wrong root is gone, but so is the scale. Something has to divide the scores.",
        ),
        Mistake(
            "scaled too late",
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v / math.sqrt(q.size(-1)),
            "You divide the output. It is the scores that are too large for the softmax: divide "
            "before it.",
        ),
    ),
    hints=(
        "Write the shape at the end of each line. The last line raises; the first two do not.",
        "Under the root belongs the width that the dot product adds up over.",
        "`query.size(-1)`, `dim=-1`, and no `.mT` on the weights.",
    ),
    insight="Two of the three faults raise nothing and train badly. Only one of them you would "
    "have met by running it.",
)

# --- 03.backward: back through the softmax ---------------------------------------------------


def push_back(weights: Tensor, d_weights: Tensor) -> Tensor:
    mean = (weights * d_weights).sum(dim=-1, keepdim=True)
    return weights * (d_weights - mean)


def backward_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int, sharp: float = 1.0) -> Case:
        weights = (sharp * draw(generator, *sizes)).softmax(-1)
        names = ("B", "H", "Lq", "Lk")[-len(sizes) :]
        return Case((weights, draw(generator, *sizes)), dict(zip(names, sizes, strict=True)), note)

    return [
        case("2 queries, 3 keys", 2, 3),
        case("5 queries, 7 keys", 5, 7),
        case("batch and heads", 2, 3, 5, 7),
        case("weights that have decided", 4, 6, sharp=200.0),
    ]


BACKWARD = Exercise(
    id="03.backward",
    title="Back through the softmax",
    level=3,
    minutes=15,
    section="3.9",
    prompt="""
`push_back(weights, d_weights)` is the softmax's backward pass. `weights` (..., Lq, Lk) came out of
the softmax; `d_weights`, of the same shape, is the gradient of the loss with respect to them.
Return the gradient with respect to the scores, row by row J times d_weights, without ever building
the (Lk, Lk) matrix J = diag(a) − a aᵀ.
""",
    stub="""
def push_back(weights, d_weights):
    raise NotImplementedError
""",
    reference=push_back,
    cases=backward_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            "only the diagonal",
            lambda a, g: a * (1 - a) * g,
            "You took the diagonal of J, a(1 − a): what a score does to its own weight. It also "
            "takes from all the others, through −a aᵀ.",
        ),
        Mistake(
            "only diag(a)",
            lambda a, g: a * g,
            "That is diag(a) times the gradient. The second part of J, a aᵀ, is missing: a row "
            "that only gains cannot sum to 1.",
        ),
        Mistake(
            "over the queries",
            lambda a, g: a * (g - (a * g).sum(-2, keepdim=True)),
            "The sum ran over the queries. Each row has a softmax and a Jacobian of its own: sum "
            "over the keys, the last axis.",
        ),
        Mistake(
            "plain mean",
            lambda a, g: a * (g - g.mean(-1, keepdim=True)),
            "You subtracted the plain mean. aᵀ times the gradient is the mean *weighted by a*.",
        ),
        Mistake(
            "outer factor forgotten",
            lambda a, g: g - (a * g).sum(-1, keepdim=True),
            "The weighted mean is right. But both parts of J begin with a: the difference still "
            "has to be multiplied by the weights.",
        ),
        Mistake(
            "added",
            lambda a, g: a * (g + (a * g).sum(-1, keepdim=True)),
            "The second part of J has a minus sign: what one key gains, the others lose.",
        ),
    ),
    properties=(
        Property(
            "Each row of the answer has to sum to 0, because weight is only moved, never made.",
            lambda answer, case: bool(answer.sum(-1).abs().max() < 1e-6),
        ),
    ),
    hints=(
        "Write J g = diag(a) g − a (aᵀ g). What shape is aᵀ g?",
        "aᵀ g is one number per row: the sum of weights times gradient, with `keepdim=True`.",
        "`weights * (d_weights - that number)`.",
    ),
    insight="This line is what every fused kernel runs. Where a weight is 0 or 1, it returns 0: "
    "the saturation of section 3.9, seen from behind.",
)

CHAPTER = "3. One head"
EXERCISES = (SHAPES, SCORES, MAP, WEIGHTS, REPAIR, BACKWARD)
