"""Exercises of chapter 3: one head."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.common_mistakes import (
    OUTPUT_MISTAKES,
    ROWS_SUM_TO_ONE,
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
    limited_to,
    named_sizes,
    some_sizes,
)
from attnbook.language import _

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
        drawn = (draw(generator, *leading, lq, d_k), draw(generator, *leading, lk, d_k))
        return Case(drawn, named_sizes("A B H Lq Lk Dk", (*leading, *sizes)), note)

    lq, lk, d_k = some_sizes(generator, 3)
    return [
        case("3 queries, 5 keys, width 7", sizes=(3, 5, 7)),
        case(
            _("{queries} queries, {keys} keys, width {width}").format(
                queries=lq, keys=lk, width=d_k
            ),
            sizes=(lq, lk, d_k),
        ),
        case("a batch of 2 with 3 heads, width 6", 2, 3, sizes=(5, 7, 6)),
        case("one more leading axis, width 10", 2, 3, 4, sizes=(7, 5, 10)),
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
(..., Lq, Dk), `key` has (..., Lk, Dk), and the answer has (..., Lq, Lk). The dots stand for any
number of leading dimensions, such as batch and heads.
""",
    reference=my_scores,
    cases=score_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            lambda q, k: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1),
            "These are already weights. Scores are the input of the softmax.",
        ),
        Mistake(
            lambda q, k: (
                (q[..., : min(q.size(-2), k.size(-2)), :] * k[..., : q.size(-2), :]).sum(-1)
                / math.sqrt(q.size(-1))
            ),
            "You compared query i with key i only. Compare every query with every key.",
        ),
        Mistake(
            lambda q, k: torch.cdist(q, k),
            "These are distances. A good match has a small distance but a large dot product.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.scores, SCORE_MISTAKES),
    hints=(
        "One matrix product gives all dot products if the keys are the columns of its second "
        "matrix.",
        "`key.mT` swaps the last two axes and leaves the axes of batch and heads in place.",
        "Compute `query @ key.mT` and divide it by √Dk, the square root of the width of queries "
        "and keys.",
    ),
    insight="One matrix product compares every query with every key, as the loops of section 3.5 "
    "do.",
    comes_back="Chapter 4 runs this line for all heads at once. Chapter 6 adds a mask, and "
    "chapter 7 adds positions.",
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

    def case(note: str, *sizes: int, scale: float = 1.0) -> Case:
        return Case((scale * draw(generator, *sizes),), named_sizes("A B H Lq Lk", sizes), note)

    return [
        case("3 queries, 5 keys", 3, 5),
        case(_("{queries} queries, {keys} keys").format(queries=lq, keys=lk), lq, lk),
        case("batch and heads", 2, 3, 5, 7),
        case("one more leading axis", 2, 4, 3, 6, 5),
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


WEIGHTS = Exercise(
    id="03.weights",
    title="A softmax that does not overflow",
    level=2,
    minutes=10,
    section="3.7",
    prompt="""
Write `my_weights(scores)`: the softmax along each row. Build it from `exp` and sums, without
calling a softmax. `scores` and the answer have shape (..., Lq, Lk). The function has to work for
scores such as 1000 and −1000.
""",
    reference=my_weights,
    cases=weight_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            overflowing,
            "exp(1000) is too large for a float, and exp(−900) is too small. First subtract each "
            "row's largest score.",
        ),
        Mistake(
            column_shifted,
            "You subtracted each column's maximum. A shift cancels only if it is the same for a "
            "whole row.",
        ),
        Mistake(
            lambda scores: overflowing(scores.clamp(-50, 50)),
            "You clipped the scores, so those beyond the limit became equal. Shift the row "
            "instead, which changes no weight.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.mean(-1, keepdim=True)),
            "You subtracted each row's mean. A score far above it still overflows.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.amin(-1, keepdim=True)),
            "You subtracted each row's smallest score, so every exponent is 0 or more. No "
            "exponent should be above 0.",
        ),
        Mistake(
            lambda scores: overflowing(scores).nan_to_num(0.0),
            "You replaced nan with 0, so the largest scores get no weight. Keep `exp` from "
            "overflowing instead.",
        ),
        Mistake(
            lambda scores: (scores - scores.amax(-1, keepdim=True)).exp(),
            "The shift and `exp` are right. Divide each row by its sum.",
        ),
        Mistake(
            lambda scores: overflowing(scores - scores.max()),
            "You subtracted one maximum from all rows. A row far below that maximum underflows to "
            "0/0.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.weights, WEIGHT_MISTAKES),
    properties=(ROWS_SUM_TO_ONE,),
    without=("softmax", "log_softmax", "Softmax"),
    hints=(
        "If you shift a whole row, the shift cancels in the quotient. Which shift makes every "
        "exponent ≤ 0?",
        "`scores.amax(dim=-1, keepdim=True)` is each row's largest score.",
        "Subtract it, take `exp`, and divide by `.sum(dim=-1, keepdim=True)`.",
    ),
    insight="Softmax functions in libraries do this, so large scores do not produce nan.",
    comes_back="The book's `softmax` handles another case: in chapter 6 a query may have nothing "
    "to attend to.",
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
        Case(
            (what, *sizes),
            note=_("{what} for Lq, Lk, D, Dk, Dv = {sizes}").format(what=what, sizes=sizes),
        )
        for what in QUESTIONS
    ]


SHAPES = Exercise(
    id="03.shapes",
    title="Predict the shapes",
    level=1,
    minutes=5,
    section="3.2",
    prompt="""
`shapes(what, Lq, Lk, D, Dk, Dv)` takes the name of a tensor (`"scores"`, `"weights"`, `"output"` or
`"w_v"`) and five sizes. Return the shape of that tensor as a tuple of sizes. The queries come from
Lq rows, the keys and values from Lk rows, and all rows are D wide before the projections.
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
            (("scores", "weights"), "Lk, Lq"): "One row per query, one column per key.",
            (("scores", "weights"), "Lq, Dk"): "Each number belongs to one query and one key. The "
            "dot product sums over the width Dk.",
            ("weights", "Lq, Lq"): "Each query distributes its weight over the keys.",
            ("output", "Lq, Dk"): "The output mixes values, so it is as wide as they are.",
            ("output", "Lk, Dv"): "The output has one row per query.",
            ("output", "Lq, D"): "One head's output is as wide as its values. W_O, in chapter 4, "
            "projects it back to D.",
            ("output", "Lq, Lk"): "These are the weights. The output is a mixture of values.",
            ("w_v", "Dv, D"): "In X W_V, W_V has one row per column of X. (nn.Linear stores "
            "the transposed matrix.)",
            ("w_v", "Lk, Dv"): "This is the shape of the values. W_V itself maps width D to width "
            "Dv.",
            ("w_v", "D, Dk"): "Queries and keys are Dk wide. Values have their own width.",
        },
    ),
    hints=(
        "Write the matrix product first: (Lq, Dk) times which shape gives (Lq, Lk)?",
        "A softmax changes no shape. The output mixes rows of width Dv, once per query.",
        "Scores and weights are (Lq, Lk), and the output is (Lq, Dv). W_V projects from width D "
        "to Dv.",
    ),
    insight="Dk does not appear in any of these shapes, because the dot products sum over it.",
    comes_back="Chapter 4 asks the same question with two more axes, batch and heads.",
    others=(by_computing,),
)

# --- 03.map: read a map ----------------------------------------------------------------------


def read(question: str) -> str:
    return {"a": "short", "b": "Life", "c": "is", "d": "is"}[question]


MAP = Exercise(
    id="03.map",
    title="Read a map",
    level=1,
    minutes=8,
    section="3.6",
    prompt="""
These are attention weights, one row per query and one column per key.

| | Life | is | short | eat |
|:--|--:|--:|--:|--:|
| **Life** | 0.10 | 0.20 | 0.60 | 0.10 |
| **is** | 0.25 | 0.25 | 0.25 | 0.25 |
| **short** | 0.05 | 0.80 | 0.05 | 0.10 |
| **eat** | 0.40 | 0.10 | 0.30 | 0.20 |

`read(question)` returns one of the four words. (a) To which word does “Life” attend most? (b) Which
word attends most to “short”? (c) Which word's output is the plain average of all four values? (d)
Which word's value has the most weight in the four outputs together?
""",
    stub="""
def read(question):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"a": "", "b": "", "c": "", "d": ""}[question]
""",
    reference=read,
    cases=lambda generator: [Case((q,), note=_("question {name}").format(name=q)) for q in "abcd"],
    mistakes=choices(
        read,
        {
            (
                "a",
                "eat",
            ): "You read down the column of “Life”: “eat” attends most to it. Queries are "
            "the rows.",
            ("a", "is"): "0.20 is the second largest weight in the row of “Life”.",
            (
                "a",
                "Life",
            ): "A word need not attend most to itself: “Life” gives itself only 0.10.",
            ("b", "is"): "In its row, “short” attends most to “is”. The question is about the "
            "column of “short”.",
            ("b", "eat"): "“eat” gives “short” 0.30. Another row gives it more.",
            ("b", "short"): "“short” gives itself 0.05, the smallest weight in its column.",
            ("c", "Life"): "One value gets 0.60 of its weight. An average needs four equal "
            "weights.",
            ("c", "short"): "One value gets 0.80 of its weight. An average needs four equal "
            "weights.",
            ("c", "eat"): "One value gets 0.40 of its weight. An average needs four equal weights.",
            (
                "d",
                "short",
            ): "The column of “short” adds up to 1.20. Another column adds up to more.",
            ("d", "Life"): "The column of “Life” adds up to 0.80. (Every row adds up to 1.)",
            (
                "d",
                "eat",
            ): "The column of “eat” adds up to 0.65, less than any other. Add up columns, "
            "not rows.",
        },
    ),
    hints=(
        "A row belongs to a query, and a column to a key.",
        "(a) is about one row, and (b) about one column. (c) asks for a row of equal numbers.",
        "For (d), add up each column. It holds the weights of one value in the four outputs.",
    ),
    insight="Rows sum to 1, but columns do not: a word can get weight from every word or from "
    "none.",
    comes_back="Chapter 4 reads two attention maps of the same layer.",
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
        drawn = tuple(draw(generator, *leading, *s) for s in shapes)
        return Case(drawn, named_sizes("A B H Lq Lk Dk Dv", (*leading, *sizes)), note)

    return [
        case("3 queries, 5 keys, Dk = 7, Dv = 6", sizes=[3, 5, 7, 6]),
        case("other sizes", sizes=some_sizes(generator, 4)),
        case("a batch of 2 with 3 heads", 2, 3, sizes=[5, 7, 6, 8]),
        case("one more leading axis", 2, 3, 4, sizes=[7, 5, 10, 6]),
    ]


REPAIR = Exercise(
    id="03.repair",
    title="Three faults in three lines",
    level=2,
    minutes=10,
    section="3.6",
    prompt="""
Each of these three lines of attention has one fault. Fix them. `query` is (..., Lq, Dk), `key` is
(..., Lk, Dk), `value` is (..., Lk, Dv), and the answer is (..., Lq, Dv).
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
            "The last line still transposes the weights. (Lq, Lk) times (Lk, Dv) fits as it is. "
            "Are the other lines right?",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-1) @ v,
            "The first line still divides by √Dv. Dot products sum over the width of the queries.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(q.size(-1))).softmax(-2) @ v,
            "The second line still normalizes over the queries. Each row has to sum to 1.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT / math.sqrt(v.size(-1))).softmax(-2) @ v,
            "The last line is correct now. In the first line, which width is under the root? In "
            "the second, what sums to 1?",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v,
            "The wrong root is gone, but the scores still have to be divided.",
        ),
        Mistake(
            lambda q, k, v: (q @ k.mT).softmax(-1) @ v / math.sqrt(q.size(-1)),
            "You divide after the softmax. The scores are too large: divide before it.",
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
        "Write the shape at the end of each line. Only the last line can raise an error, and it "
        "raises none if Lq = Lk.",
        "The width under the root is the one that the dot product sums over.",
        "Use `query.size(-1)`, `dim=-1`, and no `.mT` on the weights.",
    ),
    insight="Two of the faults never raise an error, and with Lq = Lk neither does the third. "
    "Comparing numbers with a reference finds all three if Dk and Dv differ.",
    comes_back="Exercises 04.repair and 07.repair each hide another wrong root.",
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
        return Case((weights, draw(generator, *sizes)), named_sizes("A B H Lq Lk", sizes), note)

    many, small = case("3 queries, 47 keys", 3, 47), limited_to(3 * 47, "`weights`")
    return [
        case("3 queries, 5 keys", 3, 5),
        case("other sizes", *some_sizes(generator, 2)),
        case("batch and heads", 2, 3, 5, 7),
        case("one more leading axis", 2, 3, 4, 7, 5),
        case("saturated weights", 4, 6, sharp=200.0),
        Case(tuple(x.as_subclass(small) for x in many.arguments), many.sizes, many.note),
    ]


BACKWARD = Exercise(
    id="03.backward",
    title="Back through the softmax",
    level=3,
    minutes=15,
    section="3.9",
    second_reading=True,
    prompt="""
Write `push_back(weights, d_weights)`, the backward pass of the softmax. `weights` (..., Lq, Lk) is
the output of the softmax; `d_weights`, of the same shape, is the gradient of the loss with respect
to the weights. Return the gradient with respect to the scores. Each of its rows is J times a row of
d_weights, but do not build the (Lk, Lk) matrix J = diag(a) − a aᵀ.
""",
    reference=push_back,
    cases=backward_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            lambda a, g: a * (1 - a) * g,
            "You used only the diagonal of J. A score also changes the other weights of its "
            "row, through −a aᵀ.",
        ),
        Mistake(
            lambda a, g: a * g,
            "You computed diag(a) times the gradient. The second part of J, −a aᵀ, is missing.",
        ),
        Mistake(
            lambda a, g: a * (g - (a * g).sum(-2, keepdim=True)),
            "You summed over the queries. Each row has its own Jacobian: sum over the keys.",
        ),
        Mistake(
            lambda a, g: a * (g - g.mean(-1, keepdim=True)),
            "You subtracted the plain mean. aᵀ times the gradient is a weighted mean, "
            "with the weights a.",
        ),
        Mistake(
            lambda a, g: g - (a * g).sum(-1, keepdim=True),
            "The weighted mean is right, but both parts of J begin with the factor a.",
        ),
        Mistake(
            lambda a, g: a * (g + (a * g).sum(-1, keepdim=True)),
            "The second part of J has a minus sign: what one key gains, the others lose.",
        ),
        Mistake(
            lambda a, g: a * (g - g.sum(-1, keepdim=True)),
            "You subtracted the plain sum of the gradient. First multiply each of its numbers by "
            "its weight in a.",
        ),
        Mistake(
            lambda a, g: a * (g - (a * g).sum()),
            "You took one sum over everything. Each row has its own sum.",
        ),
        Mistake(
            lambda a, g: ((a.diag_embed() - a[..., None] * a[..., None, :]) @ g[..., None])[..., 0],
            "You built J. Multiply J by the gradient on paper: the result needs only rows, no "
            "matrix.",
        ),
    ),
    gradients=False,
    properties=(
        Property(
            "Each row of the answer has to sum to 0, because a softmax only moves weight between "
            "keys.",
            lambda answer, case: bool(answer.sum(-1).abs().max() < 1e-6),
        ),
    ),
    hints=(
        "Write J g = diag(a) g − a (aᵀ g). What shape is aᵀ g?",
        "aᵀ g is one number per row. Keep its axis with `keepdim=True`.",
        "`weights * (d_weights - that number)`.",
    ),
    insight="Fused attention kernels compute the same expression. If one weight of a row is 1 and "
    "the others are 0, the gradient is 0: this is the saturation of section 3.9.",
    comes_back="In chapter 6 a query may have nothing to attend to, and then nan reaches this "
    "line.",
    others=(in_two_parts,),
)

# --- 03.experiment: find out what a head divides by -------------------------------------------

StrangeHead = Callable[[Tensor, Tensor, Tensor], Tensor]


def divides_by(head: StrangeHead) -> str:
    query, key = torch.zeros(1, 9), torch.zeros(4, 9)
    query[0, 0] = key[0, 0] = 1.0  # one dot product is 1, the others are 0
    weights = head(query, key, torch.eye(4))  # these values return the weights
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
    """Divide by √Dk, and add to each row of scores a number that cancels in the softmax."""
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return (scores + query.sum(-1, keepdim=True)).softmax(-1) @ value


RAW = dividing(lambda query, key: 1.0)
WIDTH = dividing(lambda query, key: query.size(-1))
ROOT = dividing(lambda query, key: math.sqrt(query.size(-1)))
LENGTH = dividing(lambda query, key: math.sqrt(key.size(-2)))
HEADS = {"A": LENGTH, "B": ROOT, "C": RAW, "D": WIDTH, "E": shifted}

EXPERIMENT = Exercise(
    id="03.experiment",
    title="Find out what a head divides by",
    level=3,
    minutes=15,
    section="3.8",
    prompt="""
You get five heads without their source code. Each takes `query`, `key` and `value`, as in section
3.6, and returns only the output. Before the softmax, it may divide its scores by something. Write
an experiment that finds the divisor: `divides_by(head)` calls `head` with tensors of your choice,
and returns `"nothing"`, `"Dk"`, `"root of Dk"` or `"root of Lk"`.
""",
    reference=divides_by,
    cases=lambda generator: [
        Case((head,), note=_("head {name}").format(name=name)) for name, head in HEADS.items()
    ],
    mistakes=choices(
        divides_by,
        {
            ((LENGTH, ROOT, WIDTH, shifted), "nothing"): "it does divide. A width of 1, or a "
            "single key, would hide that.",
            (LENGTH, "Dk"): "its divisor does not change with the width. Make the keys wider: do "
            "the weights change?",
            (LENGTH, "root of Dk"): "can your experiment tell √Dk from √Lk? The number of keys "
            "must differ from the width.",
            ((ROOT, shifted), "Dk"): "it divides by less than the width.",
            ((ROOT, WIDTH, shifted), "root of Lk"): "its divisor does not change with the number "
            "of keys. Add keys, and compare the ratio of two weights.",
            (RAW, "Dk"): "it divides by nothing: a wider query with the same dot product gives "
            "the same weights.",
            (RAW, "root of Dk"): "it divides by nothing: the ratio of two weights is e to the "
            "difference of their dot products.",
            (RAW, "root of Lk"): "it divides by nothing: more keys do not change the ratio of two "
            "weights.",
            (WIDTH, "root of Dk"): "it divides by more than the root: from width 4 to 16 its "
            "divisor grows fourfold.",
        },
    ),
    hints=(
        "You choose the values, too. Which values make the output equal to the weights?",
        "The ratio of two weights is e to the difference of their scores. Make that difference 1 "
        "before the division.",
        "`value = torch.eye(Lk)` shows the weights. With Dk = 9 and Lk = 4 the four divisors "
        "differ.",
    ),
    insight="With Dk = Lk, √Dk and √Lk are the same number. Test a layer with sizes that all "
    "differ.",
    comes_back="Section 6.11 finds leaks in the same way: change one input and see which outputs "
    "change.",
    others=(by_trying,),
)

CHAPTER = "3. One head"
EXERCISES = (SHAPES, SCORES, MAP, WEIGHTS, REPAIR, BACKWARD, EXPERIMENT)
