"""Exercises of chapter 3: one head."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    MistakeSet,
)
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    some_sizes,
)

# --- 03.scores: compare every query with every key -------------------------------------------


def my_scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / math.sqrt(query.size(-1))


def by_einsum(query: Tensor, key: Tensor) -> Tensor:
    return torch.einsum("...id,...jd->...ij", query, key) / math.sqrt(query.size(-1))


def shared_scale(query: Tensor, key: Tensor) -> Tensor:
    root = query.size(-1) ** 0.25
    return (query / root) @ (key / root).transpose(-2, -1)


def score_cases(generator: Generator) -> list[Case]:
    def case(note: str, *leading: int, sizes: tuple[int, int, int]) -> Case:
        lq, lk, d_k = sizes
        names = dict(zip(("A", "B", "H")[-len(leading) :], leading, strict=True) if leading else ())
        drawn = (draw(generator, *leading, lq, d_k), draw(generator, *leading, lk, d_k))
        return Case(drawn, {**names, "Lq": lq, "Lk": lk, "Dk": d_k}, note)

    lq, lk, d_k = some_sizes(generator, 3)
    return [
        case("3 queries, 5 keys, width 7", sizes=(3, 5, 7)),
        case(f"{lq} queries, {lk} keys, width {d_k}", sizes=(lq, lk, d_k)),
        case("a batch of 2 with 3 heads, width 6", 2, 3, sizes=(5, 7, 6)),
        case("one axis more in front, width 10", 2, 3, 4, sizes=(7, 5, 10)),
        case("one query, one key, width 3", sizes=(1, 1, 3)),
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
            lambda q, k: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1),
            "You went one step too far: these are the weights already. Scores are what the softmax "
            "is taken of.",
        ),
        Mistake(
            lambda q, k: (
                (q[..., : min(q.size(-2), k.size(-2)), :] * k[..., : q.size(-2), :]).sum(-1)
                / math.sqrt(q.size(-1))
            ),
            "Query i met key i alone. Every query has to meet every key, so that there is a matrix "
            "of scores.",
        ),
        Mistake(
            lambda q, k: torch.cdist(q, k),
            "These are distances: small for what fits well. A dot product is large there.",
        ),
        Mistake(
            lambda q, k: q.unsqueeze(-2) * k.unsqueeze(-3) / math.sqrt(q.size(-1)),
            "Each pair has been multiplied along its numbers. Add the products up, over the last "
            "axis.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.scores, SCORE_MISTAKES),
    hints=(
        "One matrix product gives all dot products at once, if the keys lie in the columns.",
        "`key.mT` swaps the last two axes and leaves batch and heads alone.",
        "`query @ key.mT`, divided by the square root of the width of one query.",
    ),
    insight="One product, and every pair has met. The loops of section 3.5 did nothing else.",
    comes_back="Chapter 4 runs this line for all heads at once, chapter 6 puts a mask behind it, "
    "chapter 7 gives its rows their places.",
    others=(by_einsum, shared_scale),
)

# --- 03.weights: a softmax that does not overflow --------------------------------------------


def my_weights(scores: Tensor) -> Tensor:
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def by_logarithms(scores: Tensor) -> Tensor:
    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()


def weight_cases(generator: Generator) -> list[Case]:
    lq, lk = some_sizes(generator, 2)
    around = torch.tensor([[1000.0], [-1000.0], [0.0], [800.0], [300.0]])
    names = ("A", "B", "H", "Lq", "Lk")

    def case(note: str, *sizes: int, scale: float = 1.0) -> Case:
        sized = dict(zip(names[-len(sizes) :], sizes, strict=True))
        return Case((scale * draw(generator, *sizes),), sized, note)

    return [
        case("3 queries, 5 keys", 3, 5),
        case(f"{lq} queries, {lk} keys", lq, lk),
        case("batch and heads", 2, 3, 5, 7),
        case("one axis more in front", 2, 4, 3, 6, 5),
        case("scores in the thousands", 4, 6, scale=1000.0),
        Case(
            (draw(generator, 5, 6) + around,),
            {"Lq": 5, "Lk": 6},
            "rows of scores around 1000, −1000, 0, 800 and 300",
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
            overflowing,
            "This is the softmax of the formula, and it is right for small scores. exp(1000) is "
            "too large for a float and exp(−900) too small: subtract each row's largest score "
            "first. The quotient does not change.",
        ),
        Mistake(
            column_shifted,
            "You subtracted each column's largest score. A shift cancels only if it is the same "
            "for a whole row: take the maximum along the axis along which you sum, `dim=-1`.",
        ),
        Mistake(
            lambda scores: overflowing(scores.clamp(-50, 50)),
            "The scores were cut off before `exp`, so those beyond the limit became equal. A "
            "shift of the whole row changes no weight: subtract its largest score.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.mean(-1, keepdim=True)),
            "You subtracted each row's mean. That cancels too, but what lies far above the mean "
            "still overflows: subtract the largest.",
        ),
        Mistake(
            lambda scores: overflowing(scores / scores.amax(-1, keepdim=True)),
            "You divided each row by its largest score, which changes its weights, and where that "
            "is negative turns them around. Subtract it.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.abs().amax(-1, keepdim=True)),
            "You subtracted the largest absolute value. If that is of a negative score, the whole "
            "row ends far below 0 and underflows to 0/0: subtract the largest score itself.",
        ),
        Mistake(
            lambda scores: (scores * math.log(2)).softmax(-1),
            "These are powers of 2. A softmax takes powers of e: `exp`.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.amin(-1, keepdim=True)),
            "You subtracted each row's smallest score. Then every exponent is 0 or more: subtract "
            "the largest, and none is above 0.",
        ),
        Mistake(
            lambda scores: overflowing(scores).nan_to_num(0.0),
            "The nan was replaced by 0, so the largest scores get no weight at all. Keep `exp` "
            "from overflowing instead: subtract each row's largest score first.",
        ),
        Mistake(
            lambda scores: (scores - scores.amax(-1, keepdim=True)).exp(),
            "The shift is right, and `exp` too. Each row still has to be divided by its sum.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.max()),
            "One maximum was subtracted from all rows. A row far below it still underflows to 0/0: "
            "each row needs its own, `amax(dim=-1, keepdim=True)`.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.weights, WEIGHT_MISTAKES),
    properties=(
        Property("Each row of weights has to sum to 1, and yours do not.", rows_sum_to_one),
    ),
    without=("softmax", "log_softmax", "Softmax"),
    hints=(
        "A shift of a whole row cancels in the quotient. Which shift makes every exponent ≤ 0?",
        "`scores.amax(dim=-1, keepdim=True)` is each row's largest score, ready to be subtracted.",
        "Subtract it, take `exp`, divide by `.sum(dim=-1, keepdim=True)`.",
    ),
    insight="Every library does this. You will never again wonder where the NaN came from.",
    comes_back="The book's own `softmax` has one case more: in chapter 6 a row may have nothing to "
    "look at.",
    others=(by_logarithms,),
)

# --- 03.shapes: predict the shapes -----------------------------------------------------------

QUESTIONS = ("scores", "weights", "output", "w_v")


def shapes(what: str, Lq: int, Lk: int, D: int, Dk: int, Dv: int) -> tuple[int, int]:
    return {"scores": (Lq, Lk), "weights": (Lq, Lk), "output": (Lq, Dv), "w_v": (D, Dv)}[what]


def by_computing(what: str, Lq: int, Lk: int, D: int, Dk: int, Dv: int) -> torch.Size:
    w_v = torch.zeros(D, Dv)
    scores = torch.zeros(Lq, Dk) @ torch.zeros(Lk, Dk).mT
    output = scores.softmax(-1) @ (torch.zeros(Lk, D) @ w_v)
    return {"scores": scores, "weights": scores, "output": output, "w_v": w_v}[what].shape


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
            ("scores", "Lq, Dk"): "A score belongs to a query and a key: Lq rows, Lk columns. The "
            "width Dk is summed away in the dot product.",
            ("weights", "Lk, Lq"): "The weights keep the scores' shape: one row per query. Yours "
            "has the keys in the rows.",
            ("weights", "Lq, Lq"): "Each query shares out its attention among the Lk keys. Lq "
            "columns there are only where rows look at themselves.",
            ("output", "Lq, Lk"): "(Lq, Lk) are the weights. The output is what they mix: rows of "
            "values.",
            ("w_v", "Lk, Dv"): "(Lk, Dv) are the values themselves. W_V makes them of rows that "
            "are D wide, however many there are.",
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
    comes_back="Chapter 4 asks it with two axes more, batch and heads.",
    others=(by_computing,),
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
            ("a", "eat"): "*eat* looks at *Life* most: you went down the column. Who looks "
            "stands at the left, so go along the row of *Life*.",
            ("a", "is"): "0.20 is the second largest of the row of *Life*. Look for 0.60.",
            ("a", "Life"): "A word need not look at itself: in the row of *Life* the diagonal "
            "holds 0.10.",
            ("b", "is"): "*is* is what *short* looks at most: its row. The question asks who "
            "looks at *short*: its column.",
            ("b", "eat"): "*eat* gives *short* 0.30. Go up the column: someone gives more.",
            ("b", "short"): "*short* gives itself 0.05, the least of its column.",
            ("c", "Life"): "The row of *Life* prefers *short*: its output is mostly that "
            "value. An average needs four equal weights.",
            ("c", "short"): "0.80 of the output of *short* is one value. An average needs four "
            "equal weights.",
            ("c", "eat"): "The row of *eat* is the flattest but one. An average needs four "
            "equal weights.",
            ("d", "short"): "*short* is close: its column adds up to 1.20. One column adds up "
            "to more.",
            ("d", "Life"): "The column of *Life* adds up to 0.80. (Its row adds up to 1, as "
            "every row does: that says nothing.)",
            ("d", "eat"): "The column of *eat* adds up to 0.65, the least of all. Add up the "
            "columns, not the rows.",
        },
    ),
    hints=(
        "Rows are those who look, columns are what is looked at.",
        "(a) is about one row and (b) about one column. (c) asks for a row of equal numbers.",
        "For (d) add up each column: every output is a mixture of the values, in these shares.",
    ),
    insight="Rows sum to 1, columns do not: a word can be looked at by everybody or by nobody.",
    comes_back="Chapter 4 reads two maps of one layer; there two heads may do the same job.",
    code=False,
)

# --- 03.repair: three faults in three lines --------------------------------------------------


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ value


def with_pytorch(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(query, key, value)


def attend_cases(generator: Generator) -> list[Case]:
    def case(note: str, *leading: int, sizes: list[int]) -> Case:
        lq, lk, d_k, d_v = sizes
        shapes = ((lq, d_k), (lk, d_k), (lk, d_v))
        names = dict(zip(("A", "B", "H")[-len(leading) :], leading, strict=True) if leading else ())
        drawn = tuple(draw(generator, *leading, *s) for s in shapes)
        return Case(drawn, {**names, "Lq": lq, "Lk": lk, "Dk": d_k, "Dv": d_v}, note)

    return [
        case("3 queries, 5 keys, Dk = 7, Dv = 6", sizes=[3, 5, 7, 6]),
        case("other sizes", sizes=some_sizes(generator, 4)),
        case("a batch of 2 with 3 heads", 2, 3, sizes=[5, 7, 6, 8]),
        case("one axis more in front", 2, 3, 4, sizes=[7, 5, 10, 6]),
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
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-2).mT @ v,
            "The last line still turns the weights around. (Lq, Lk) times (Lk, Dv) fits as it is. "
            "The other two lines raise nothing: ask of each what it means.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-1) @ v,
            "The first line still divides by √Dv. The dot products add up over the width of the "
            "queries, not of the values.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-2) @ v,
            "The second line still lets the queries compete for a key. Each row has to sum to 1.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-2) @ v,
            "The last line is right now. In the first, look at whose width stands under the root; "
            "in the second, along which axis the weights sum to 1.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
            "The wrong root is gone, but so is the scale. Something has to divide the scores.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v / math.sqrt(q.size(-1)),
            "You divide the output, or the weights. It is the scores that are too large for the "
            "softmax: divide before it.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: head,
        SCORE_MISTAKES,
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
        widths={"Dv": lambda query, key, value: value.size(-1)},
    ),
    hints=(
        "Write the shape at the end of each line. The last line raises an error unless Lq = Lk; "
        "the first two never do.",
        "Under the root belongs the width that the dot product adds up over.",
        "`query.size(-1)`, `dim=-1`, and no `.mT` on the weights.",
    ),
    insight="Two of the three faults never raise an error, and a model may even train well with "
    "them. In self-attention, where Lq = Lk, the third fails silently, too. Comparing numbers with "
    "a reference finds all three, if Dk and Dv differ.",
    comes_back="04.repair and 07.repair hide a wrong root again, where it is harder to see.",
    others=(with_pytorch,),
)

# --- 03.backward: back through the softmax ---------------------------------------------------


def push_back(weights: Tensor, d_weights: Tensor) -> Tensor:
    mean = (weights * d_weights).sum(dim=-1, keepdim=True)
    return weights * (d_weights - mean)


def in_two_parts(weights: Tensor, d_weights: Tensor) -> Tensor:
    gains = weights * d_weights
    return gains - weights * gains.sum(dim=-1, keepdim=True)


def backward_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int, sharp: float = 1.0) -> Case:
        weights = (sharp * draw(generator, *sizes)).softmax(-1)
        names = ("A", "B", "H", "Lq", "Lk")[-len(sizes) :]
        return Case((weights, draw(generator, *sizes)), dict(zip(names, sizes, strict=True)), note)

    return [
        case("3 queries, 5 keys", 3, 5),
        case("other sizes", *some_sizes(generator, 2)),
        case("batch and heads", 2, 3, 5, 7),
        case("one axis more in front", 2, 3, 4, 7, 5),
        case("weights that have decided", 4, 6, sharp=200.0),
    ]


BACKWARD = Exercise(
    id="03.backward",
    title="Back through the softmax",
    level=3,
    minutes=15,
    section="3.9 (second reading)",
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
            lambda a, g: a * (1 - a) * g,
            "You took the diagonal of J, a(1 − a): what a score does to its own weight. It also "
            "takes from all the others, through −a aᵀ.",
        ),
        Mistake(
            lambda a, g: a * g,
            "That is diag(a) times the gradient. The second part of J, a aᵀ, is missing: a row "
            "that only gains cannot sum to 1.",
        ),
        Mistake(
            lambda a, g: a * (g - (a * g).sum(-2, keepdim=True)),
            "The sum ran over the queries. Each row has a softmax and a Jacobian of its own: sum "
            "over the keys, the last axis.",
        ),
        Mistake(
            lambda a, g: a * (g - g.mean(-1, keepdim=True)),
            "You subtracted the plain mean. aᵀ times the gradient is the mean *weighted by a*.",
        ),
        Mistake(
            lambda a, g: g - (a * g).sum(-1, keepdim=True),
            "The weighted mean is right. But both parts of J begin with a: the difference still "
            "has to be multiplied by the weights.",
        ),
        Mistake(
            lambda a, g: a * (g + (a * g).sum(-1, keepdim=True)),
            "The second part of J has a minus sign: what one key gains, the others lose.",
        ),
        Mistake(
            lambda a, g: -a * (a * g).sum(-1, keepdim=True),
            "That is the second part of J, −a aᵀ. The first, diag(a) times the gradient, is "
            "missing.",
        ),
        Mistake(
            lambda a, g: g.softmax(-1),
            "You took a softmax of the gradient. What is asked for is the way back: J times it.",
        ),
        Mistake(
            lambda a, g: a * (g - g.sum(-1, keepdim=True)),
            "You subtracted the plain sum of the gradient. In aᵀ times the gradient each number is "
            "weighted by a.",
        ),
        Mistake(
            lambda a, g: a * ((a * g).sum(-1, keepdim=True) - g),
            "The sign is turned around: diag(a) comes first, and a aᵀ is taken away from it.",
        ),
        Mistake(
            lambda a, g: a * (g - (a * g).sum()),
            "One sum was taken over everything. Each row has one of its own: `sum(dim=-1, "
            "keepdim=True)`.",
        ),
        Mistake(
            lambda a, g: g * (a - (a * g).sum(-1, keepdim=True)),
            "Weights and gradient have changed places. J is made of the weights alone; the "
            "gradient is what it is multiplied with.",
        ),
    ),
    gradients=False,
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
    comes_back="In chapter 6 a row may have nothing to look at. Then 0 times nan stands in this "
    "line, and something has to keep it from the scores.",
    others=(in_two_parts,),
)

# --- 03.experiment: what does a stranger's head divide by? -----------------------------------

StrangeHead = Callable[[Tensor, Tensor, Tensor], Tensor]


def divides_by(head: StrangeHead) -> str:
    query, key = torch.zeros(1, 9), torch.zeros(4, 9)
    query[0, 0] = key[0, 0] = 1.0  # one dot product is 1, the others are 0
    weights = head(query, key, torch.eye(4))  # values that show the weights
    divisor = 1 / (weights[0, 0] / weights[0, 1]).log()
    return {1: "nothing", 9: "Dk", 3: "root of Dk", 2: "root of Lk"}[round(divisor.item())]


def by_trying(head: StrangeHead) -> str:
    query, key, value = torch.randn(2, 5), torch.randn(3, 5), torch.randn(3, 7)
    divisors = {"nothing": 1.0, "Dk": 5.0, "root of Dk": 5**0.5, "root of Lk": 3**0.5}
    output = head(query, key, value)

    def distance(word: str) -> float:
        mine = (query @ key.mT / divisors[word]).softmax(-1) @ value
        return (mine - output).abs().max().item()

    return min(divisors, key=distance)


def dividing(divisor: Callable[[Tensor, Tensor], float]) -> StrangeHead:
    return lambda query, key, value: (query @ key.mT / divisor(query, key)).softmax(-1) @ value


def shifted(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """By √Dk as well. What it adds to each row of scores cancels in the softmax."""
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return (scores + query.sum(-1, keepdim=True)).softmax(-1) @ value


RAW = dividing(lambda query, key: 1.0)
WIDTH = dividing(lambda query, key: query.size(-1))
ROOT = dividing(lambda query, key: math.sqrt(query.size(-1)))
LENGTH = dividing(lambda query, key: math.sqrt(key.size(-2)))
HEADS = {"A": LENGTH, "B": ROOT, "C": RAW, "D": WIDTH, "E": shifted}

EXPERIMENT = Exercise(
    id="03.experiment",
    title="What does a stranger's head divide by?",
    level=3,
    minutes=15,
    section="3.8",
    prompt="""
Five heads came without their source. Each takes `query`, `key` and `value`, as in section 3.6, and
returns the output alone; before the softmax it divides its scores by something, or by nothing.
Think of an experiment that tells which, and write it down: `divides_by(head)` calls `head` on
tensors of your own, looks at what comes out, and returns `"nothing"`, `"Dk"`, `"root of Dk"` or
`"root of Lk"`.
""",
    stub="""
def divides_by(head):
    raise NotImplementedError
""",
    reference=divides_by,
    cases=lambda generator: [Case((head,), note=f"head {name}") for name, head in HEADS.items()],
    mistakes=choices(
        divides_by,
        {
            (LENGTH, "nothing"): "it divides. With a single key the root of Lk would be 1: did you "
            "give it more than one?",
            (LENGTH, "Dk"): "its divisor does not follow the width. Keep the keys as many as they "
            "are and widen them: does the output change?",
            (LENGTH, "root of Dk"): "can your experiment tell √Dk from √Lk? Give it keys whose "
            "number is not their width.",
            (ROOT, "nothing"): "it divides. If the width is 1, nobody sees it.",
            (ROOT, "Dk"): "it divides by less than the width. Give it a width of 9 and ask whether "
            "a dot product of 9 counts as 1 or as 3.",
            (ROOT, "root of Lk"): "can your experiment tell √Lk from √Dk? Give it keys whose "
            "number is not their width.",
            (RAW, "Dk"): "it divides by nothing. A wider query with the same dot product should "
            "give you the same weights.",
            (RAW, "root of Dk"): "it divides by nothing, so its weights are the most decided of "
            "all five. What do you compare them with?",
            (RAW, "root of Lk"): "it divides by nothing. Keys of zeros beside the others change "
            "how the weight is shared, but not the ratio of two weights.",
            (WIDTH, "nothing"): "it divides, and by much. Its weights are the most even of all "
            "five.",
            (WIDTH, "root of Dk"): "it divides by more than the root. Two widths show it: from 4 "
            "to 16 a root grows twofold, this one fourfold.",
            (WIDTH, "root of Lk"): "its divisor does not follow the number of keys. Add keys and "
            "watch the ratio of two weights.",
            (shifted, "nothing"): "it divides, and adds something to each row, which a softmax "
            "does not notice. A ratio of two weights does not notice it either.",
            (shifted, "Dk"): "the spread of its scores is divided by less than the width.",
            (shifted, "root of Lk"): "more keys leave the ratio of two of its weights as it is, so "
            "their number is not what it divides by.",
        },
    ),
    hints=(
        "You choose the values too. Which ones let you read the weights off the output?",
        "The ratio of two weights is e to the difference of their scores. Make that difference 1 "
        "before the division.",
        "`value = torch.eye(Lk)` shows the weights. With Dk = 9 and Lk = 4 the four divisors are "
        "9, 3, 2 and 1: no two alike.",
    ),
    insight="Sizes that coincide hide a fault: with Dk = Lk = 4 three of the four answers are the "
    "same number. Whoever tests a layer chooses sizes that all differ.",
    comes_back="Section 6.11 finds leaks in this way: change one thing that goes in, and see what "
    "comes out.",
    others=(by_trying,),
    code=False,
)

CHAPTER = "3. One head"
EXERCISES = (SHAPES, SCORES, MAP, WEIGHTS, REPAIR, BACKWARD, EXPERIMENT)
