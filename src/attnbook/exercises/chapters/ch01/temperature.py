"""Exercises of chapter 1: the library, or attention as soft look-up."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.common_mistakes import (
    OUTPUT_MISTAKES,
    ROWS_SUM_TO_ONE,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    Head,
    MistakeSet,
    WrongLine,
)
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw, some_sizes
from attnbook.language import _

# --- 01.lookup: one question to the library --------------------------------------------------


def lookup(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    weights = (keys @ query).softmax(dim=0)
    return weights @ values


def lookup_by_loops(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = [sum(wish * offer for wish, offer in zip(query, key, strict=True)) for key in keys]
    powers = [score.exp() for score in scores]
    report = torch.zeros_like(values[0])
    for power, value in zip(powers, values, strict=True):
        report = report + power / sum(powers) * value
    return report


def lookup_cases(generator: Generator) -> list[Case]:
    sizes = ((3, 5, 6), some_sizes(generator, 3), (6, 11, 1), (1, 3, 5))
    return [
        Case(
            (draw(generator, dk), draw(generator, lk, dk), draw(generator, lk, dv)),
            {"Lk": lk, "Dk": dk, "Dv": dv},
            _("{n} books").format(n=lk) if lk > 1 else _("a library of one book"),
        )
        for lk, dk, dv in sizes
    ]


def within_the_values(answer: Tensor, case: Case) -> bool:
    values = case.arguments[2]
    low, high = values.amin(0) - 1e-6, values.amax(0) + 1e-6
    return bool(((answer >= low) & (answer <= high)).all())


MIXTURE = Property(
    "A mixture stays between the smallest and the largest value. Are your weights positive, and "
    "do they sum to 1?",
    within_the_values,
)

LOOKUP = Exercise(
    id="01.lookup",
    title="One question, one report",
    level=1,
    minutes=5,
    section="1.2",
    prompt="""
Write `lookup(query, keys, values)`: match, focus and mix for one question. `query` has shape (Dk,),
`keys` (Lk, Dk), `values` (Lk, Dv), and the report (Dv,). All are PyTorch tensors. Use the plain
scores of section 1.2, without dividing them.
""",
    reference=lookup,
    others=(lookup_by_loops,),
    cases=lookup_cases,
    axes="Dv",
    mistakes=(
        Mistake(
            lambda q, k, v: (k @ q / math.sqrt(q.size(0))).softmax(0) @ v,
            "You divided the scores by √Dk, as section 1.6 does. This card asks for the plain "
            "scores.",
        ),
        Mistake(
            lambda q, k, v: torch.cosine_similarity(k, q[None]).softmax(0) @ v,
            "Your scores are cosines. A dot product also depends on the lengths.",
        ),
        Mistake(
            lambda q, k, v: (-(k - q).norm(dim=1)).softmax(0) @ v,
            "Your scores are negative distances. A score is a dot product: multiply and add up.",
        ),
        Mistake(
            lambda q, k, v: (k @ q).relu() / (k @ q).relu().sum() @ v,
            "You set negative scores to 0. The softmax gives even a bad match a small weight.",
        ),
        Mistake(
            lambda q, k, v: (k @ q).softmax(0)[:, None] * v,
            "You weighted the books but did not add them up into one report.",
        ),
        Mistake(
            lambda q, k, v: (k * q).softmax(0).sum(1) @ v,
            "The softmax came too early. Each book has one score: multiply, add up, then take the "
            "softmax.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: lambda query, keys, values: head(query[None], keys, values)[0],
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
        right=Head(scores=lambda query, keys: query @ keys.mT),
    ),
    properties=(MIXTURE,),
    hints=(
        "There are three steps: a score for each book, weights from the scores, and one mixture "
        "of the values.",
        "`keys @ query` gives all scores at once, shape (Lk,).",
        "`.softmax(dim=0)` turns them into weights; `weights @ values` is the mixture.",
    ),
    insight="That was attention. The open question is where queries and keys come from.",
    comes_back="Chapter 3 computes a query, a key and a value for each word, with three matrices.",
)

# --- 01.winner: which card gets the largest weight? ------------------------------------------

SCORINGS = ("dot", "cosine", "shout", "flip", "mute")


def winner(what: str) -> str:
    answers = {"dot": "B", "cosine": "A", "shout": "B", "flip": "C", "mute": "tie"}
    return answers[what]


WINNER = Exercise(
    id="01.winner",
    title="Which card gets the largest weight?",
    level=1,
    minutes=5,
    section="1.5",
    prompt="""
There are three cards: A is [3, 0], B is [4, 4], and C is [0, 9]. The query is [1, 0]. Without
running anything, which card gets the largest weight after the softmax? `winner(what)` takes one of
five words and returns `"A"`, `"B"`, `"C"`, or `"tie"` if all three cards get the same weight.

- `"dot"`: the scores are plain dot products
- `"cosine"`: the scores are cosines
- `"shout"`: dot products, and the query is multiplied by 10
- `"flip"`: dot products, and the query is multiplied by −1
- `"mute"`: dot products, and the query is multiplied by 0
""",
    stub="""
def winner(what):
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {"dot": "", "cosine": "", "shout": "", "flip": "", "mute": ""}
    return answers[what]
""",
    reference=winner,
    cases=lambda generator: [Case((w,), note=f'winner("{w}")') for w in SCORINGS],
    mistakes=choices(
        winner,
        {
            ("dot", "A"): "A points in the query's direction, but it is short. A dot product also "
            "depends on the length.",
            (("dot", "cosine", "shout"), "C"): "C is perpendicular to the query, so its score is "
            "0.",
            (("dot", "cosine", "shout", "flip"), "tie"): "The three scores differ. Write them "
            "down.",
            ("cosine", "B"): "B wins only because it is long. A cosine divides by the lengths.",
            ("shout", "A"): "× 10 applies to every score, so their order stays the same.",
            ("flip", "A"): "A's score is −3 now. Is that the largest?",
            ("flip", "B"): "B had the largest score. With the opposite sign it is the smallest.",
            ("mute", "A"): "× 0 makes A's score 0. What are the other two?",
            ("mute", "B"): "× 0 makes B's score 0. What are the other two?",
            ("mute", "C"): "C's score is 0, as before. What are the other two?",
        },
    ),
    hints=(
        "Write down the three scores for each word.",
        "With the query [1, 0], only the first number of a card counts. The lengths are 3, √32 "
        "and 9.",
        "Multiplied by −1, the scores are −3, −4 and 0. Which is the largest? What do they become "
        "when multiplied by 0?",
    ),
    insight="A query's length, unless it is 0, cannot change which card wins. Its sign can: among "
    "negative scores, 0 is the largest.",
    comes_back="Chapter 3 measures how scores grow with the width, and what √Dk changes.",
)

# --- 01.temperature: how sharp a look-up is -------------------------------------------------


def temper(scores: Tensor, temperature: float) -> Tensor:
    return (scores / temperature).softmax(dim=-1)


def temper_shifted(scores: Tensor, temperature: float) -> Tensor:
    powers = torch.exp((scores - scores.amax(-1, keepdim=True)) / temperature)
    return powers / powers.sum(-1, keepdim=True)


def temper_cases(generator: Generator) -> list[Case]:
    return [
        Case((draw(generator, 3), 2.5), {"Lk": 3}, "3 books, temperature 2.5"),
        Case((draw(generator, 10), 0.3), {"Lk": 10}, "10 books, temperature 0.3"),
        Case(
            (draw(generator, 4, 7), 3.0),
            {"Lq": 4, "Lk": 7},
            "4 questions to 7 books, temperature 3",
        ),
        Case(
            (draw(generator, 2, 3, 5, 6), 1.7),
            {"A": 2, "B": 3, "Lq": 5, "Lk": 6},
            "two more leading axes, temperature 1.7",
        ),
        Case((draw(generator, 2, 5), math.inf), {"Lq": 2, "Lk": 5}, "an infinite temperature"),
        Case(
            (torch.tensor([[10.0], [20.0], [30.0]]) + 0.01 * draw(generator, 3, 7), 0.01),
            {"Lq": 3, "Lk": 7},
            "temperature 0.01: exponents above 1,000",
        ),
        Case(
            (
                torch.tensor([[10.0], [20.0], [30.0]])
                + 0.001 * draw(generator, 3, 8)
                - torch.tensor([0.0, 5, 0, 0, 5, 0, 5, 0]),
                0.001,
            ),
            {"Lq": 3, "Lk": 8},
            "temperature 0.001: exponents above 10,000",
        ),
    ]


def overflowing(scores: Tensor, temperature: float) -> Tensor:
    powers = (scores / temperature).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def powers_of_weights(scores: Tensor, temperature: float) -> Tensor:
    powers = scores.softmax(-1) ** (1 / temperature)
    return powers / powers.sum(dim=-1, keepdim=True)


TEMPERATURE = Exercise(
    id="01.temperature",
    title="Hot and cold",
    level=2,
    minutes=10,
    section="1.4",
    prompt="""
Write `temper(scores, temperature)`, which returns the weights at a given temperature, a positive
number. At temperature 1 they are the plain softmax, above 1 they are more even, and below 1 they
are sharper. `scores` and the answer have shape (..., Lk), with any number of leading axes, and
the answer's rows sum to 1. Temperatures such as 0.001 and `math.inf` have to work.
""",
    reference=temper,
    others=(temper_shifted,),
    cases=temper_cases,
    axes="A B Lq Lk",
    mistakes=(
        Mistake(
            lambda scores, temperature: (scores * temperature).softmax(-1),
            "You multiplied by the temperature. A higher temperature has to make the weights more "
            "even: divide.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(-1),
            "The temperature has no effect here. It has to change the differences between the "
            "scores.",
        ),
        Mistake(
            lambda scores, temperature: (scores - temperature).softmax(-1),
            "You subtracted the temperature from all scores, which changes none of their "
            "differences. Divide instead.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(-1) / temperature,
            "You divided the weights, so they no longer sum to 1. Divide the scores, before the "
            "softmax.",
        ),
        Mistake(
            overflowing,
            "e to the power of 1,000 is too large for a float. Subtract each row's largest score "
            "first, or let `softmax` do it.",
        ),
        Mistake(
            lambda scores, temperature: overflowing(scores - scores.max(), temperature),
            "You subtracted one maximum from all rows. In the other rows every power underflows, "
            "and 0/0 is nan.",
        ),
        Mistake(
            powers_of_weights,
            "You raised the weights to a power. By then, small weights have underflowed to 0. "
            "Divide the scores instead.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).softmax(0),
            "The softmax ran over axis 0. The books are the last axis, so count from the end.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).softmax(min(1, scores.dim() - 1)),
            "The softmax ran over axis 1, which is right only if there are two axes. Count from "
            "the end.",
        ),
        Mistake(
            lambda scores, temperature: (
                torch.ones_like(scores) / len(scores)
                if temperature == math.inf
                else temper(scores, temperature)
            ),
            "At an infinite temperature you divided by the size of the first axis. (Does infinity "
            "need a case of its own?)",
        ),
    ),
    properties=(ROWS_SUM_TO_ONE,),
    hints=(
        "Section 1.4 multiplies the scores by a number, which is 1 / temperature.",
        "Divide the scores and take the softmax over the last axis. At an infinite temperature, "
        "every score becomes 0.",
        "Compute `scores / temperature`, then call `softmax` with `dim=-1`: it does not overflow.",
    ),
    insight="A chatbot's *temperature* is this number, and dividing scores by √Dk sets it to √Dk.",
    comes_back="Chapter 3 lowers the temperature and measures how much of a gradient is left.",
)

# --- 01.cosine: repair the directions --------------------------------------------------------


def cosines(queries: Tensor, keys: Tensor) -> Tensor:
    queries = queries / queries.norm(dim=1, keepdim=True)
    keys = keys / keys.norm(dim=1, keepdim=True)
    return queries @ keys.T


def cosines_divided_afterwards(queries: Tensor, keys: Tensor) -> Tensor:
    lengths = queries.norm(dim=1)[:, None] * keys.norm(dim=1)[None, :]
    return queries @ keys.T / lengths


def cosine_cases(generator: Generator) -> list[Case]:
    def case(note: str, lq: int, lk: int, dk: int, scale: float = 1.0) -> Case:
        loud = scale ** torch.arange(lk, dtype=torch.float64)[:, None]
        arguments = (draw(generator, lq, dk), loud * draw(generator, lk, dk))
        return Case(arguments, {"Lq": lq, "Lk": lk, "Dk": dk}, note)

    return [
        case("2 questions to 5 books", 2, 5, 3),
        case("3 questions to 10 books", 3, 10, 7),
        case("cards of very different lengths", 7, 5, 6, scale=8.0),
        case("one question", 1, 3, 5),
    ]


def by_row(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True)


def by_column(x: Tensor) -> Tensor:
    return x / x.norm(dim=0)


def by_all(x: Tensor) -> Tensor:
    return x / x.norm()


def by_flat_lengths(x: Tensor) -> Tensor:
    return x / x.norm(dim=1)


def as_it_is(x: Tensor) -> Tensor:
    return x


Cut = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Cosines:
    """The function that divides the queries, and the one that divides the keys."""

    queries: Cut = by_row
    keys: Cut = by_row

    def __call__(self, queries: Tensor, keys: Tensor) -> Tensor:
        return self.queries(queries) @ self.keys(keys).T


WRONG_CUTS = tuple(
    WrongLine(line, wrong, message.format(line=line))
    for line in ("queries", "keys")
    for wrong, message in (
        (by_column, "You divided the {line} by the lengths of columns, but a card is a row."),
        (by_all, "The {line} are all divided by one number, because `norm` has no `dim`."),
        (as_it_is, "You did not divide the {line} by their lengths."),
        (
            by_flat_lengths,
            "The lengths of the {line} are right, but they line up with the columns. To divide "
            "rows, they need the shape (L, 1).",
        ),
    )
)

COSINE = Exercise(
    id="01.cosine",
    title="A library without spam",
    level=2,
    minutes=10,
    section="1.5",
    prompt="""
`cosines(queries, keys)` should return the cosine of each query with each key, so that no card wins
just because it is long. `queries` has shape (Lq, Dk), `keys` (Lk, Dk), and the answer (Lq, Lk). No
row is all zeros. Two of the three lines below have a bug, and neither bug raises an error. Repair
them.
""",
    stub="""
def cosines(queries, keys):
    raise NotImplementedError  # repair the lines below, then delete this one
    queries = queries / queries.norm(dim=0)
    keys = keys / keys.norm()
    return queries @ keys.T
""",
    reference=cosines,
    others=(cosines_divided_afterwards,),
    cases=cosine_cases,
    axes="Lq Lk",
    mistakes=(
        Mistake(
            lambda q, k: cosines(q, k).softmax(-1),
            "These are weights. Return the cosines themselves, which may be negative.",
        ),
        Mistake(
            lambda q, k: cosines(k, q),
            "Your rows belong to the keys. Row i belongs to query i.",
        ),
        Mistake(
            lambda q, k: cosines(k, k),
            "You compared the keys with one another. Compare each query with each key.",
        ),
        Mistake(
            lambda q, k: F.cosine_similarity(q, k),
            "You compared query i with key i only. Compare every query with every key.",
        ),
    ),
    common_mistakes=MistakeSet(lambda right: right, WRONG_CUTS, right=Cosines()),
    properties=(
        Property(
            "A cosine lies between −1 and 1. Not all of yours do.",
            lambda answer, case: bool(answer.abs().max() <= 1 + 1e-6),
        ),
    ),
    hints=(
        "Is one card a row or a column of `keys`? The length of a card comes from its own numbers.",
        "`dim` names the axis that is summed over. The topics of a card run along axis 1.",
        "Print `keys.norm(dim=1).shape`. To divide rows, it has to be (Lk, 1): use `keepdim=True`.",
    ),
    insight="A wrong axis that broadcasts raises no error. Print the shape of what you divide by.",
    comes_back="Chapter 2 compares words with a matrix of cosines like this one.",
)

# --- 01.queries: many questions at once ------------------------------------------------------


def lookups(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = queries @ keys.T / math.sqrt(keys.size(-1))
    return scores.softmax(dim=-1) @ values


def lookups_one_by_one(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    reports = []
    for query in queries:
        powers = torch.exp(keys @ query / keys.size(1) ** 0.5)
        reports.append(powers / powers.sum() @ values)
    return torch.stack(reports)


def lookups_by_pytorch(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(queries, keys, values)


def lookups_cases(generator: Generator) -> list[Case]:
    sizes = ((3, 5, 6, 7), some_sizes(generator, 4), (7, 6, 11, 1), (1, 5, 3, 6), (5, 1, 3, 7))
    return [
        Case(
            (draw(generator, lq, dk), draw(generator, lk, dk), draw(generator, lk, dv)),
            {"Lq": lq, "Lk": lk, "Dk": dk, "Dv": dv},
            _("{n} questions to {books} books, cards of width {width}").format(
                n=lq, books=lk, width=dk
            ),
        )
        for lq, lk, dk, dv in sizes
    ]


QUERIES = Exercise(
    id="01.queries",
    title="A queue of questions, answered at once",
    level=2,
    minutes=10,
    section="1.6",
    prompt="""
Write `lookups(queries, keys, values)`: the equation of section 1.6, including √Dk, in PyTorch.
`queries` has shape (Lq, Dk), `keys` (Lk, Dk), `values` (Lk, Dv), and the answer (Lq, Dv): one
report per query.
""",
    reference=lookups,
    others=(lookups_one_by_one, lookups_by_pytorch),
    cases=lookups_cases,
    axes="Lq Dv",
    mistakes=(
        Mistake(
            lambda q, k, v: (
                (q.mean(0) @ k.T / math.sqrt(k.size(1))).softmax(0).expand(len(q), -1) @ v
            ),
            "You averaged the queries first, so they all get the same report.",
        ),
        Mistake(
            lambda q, k, v: (k @ q.T / math.sqrt(k.size(1))).softmax(1) @ v,
            "Your weights have shape (Lk, Lq). Row i belongs to query i, so they should be (Lq, "
            "Lk).",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: lambda queries, keys, values: head(queries, keys, values),
        SCORE_MISTAKES,
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
        widths={"Dv": lambda queries, keys, values: values.size(-1)},
    ),
    properties=(MIXTURE,),
    hints=(
        "You need two matrix products with a softmax between them. What is the shape after each "
        "step?",
        "`queries @ keys.T` is (Lq, Lk): row i has the scores of query i. Which axis has to sum "
        "to 1?",
        "Divide by `math.sqrt(keys.size(1))`, take `.softmax(dim=1)`, and multiply by `values`.",
    ),
    insight="The queries do not affect each other: answered one at a time or all at once, they "
    "get the same reports.",
    comes_back="Chapter 6 relies on this: training processes all words at once, but the model "
    "writes one word at a time.",
)

# --- 01.experiment: which experiment can decide? ---------------------------------------------

CLAIMS = ("fading", "kind", "distance", "crowd", "queue")


def experiment(claim: str) -> str:
    answers = {"fading": "B", "kind": "C", "distance": "A", "crowd": "C", "queue": "B"}
    return answers[claim]


EXPERIMENT = Exercise(
    id="01.experiment",
    title="Which experiment can decide?",
    level=3,
    minutes=10,
    section="1.9",
    second_reading=True,
    prompt="""
Here are five claims, with three experiments for each. `experiment(claim)` takes the word in front
of a claim and returns `"A"`, `"B"` or `"C"`. Choose the only experiment that would reveal an error
in any part of the claim.

`"fading"`: *with each additional input, less of the first one is left in an RNN's state.*
- A: two sequences that differ in every input; how far apart are the last states?
- B: two sequences that differ in the first input; how far apart are the states after each step?
- C: one sequence; how far is each state from the first state?

`"kind"`: *this kind of network forgets, not only the one that we initialized.*
- A: many more pairs of sequences, the same network
- B: sequences ten times as long, the same network
- C: the same measurement on several networks of this kind, each initialized differently

`"distance"`: *for attention, a distant input is as easy to learn from as a near one.*
- A: 64 inputs; how large is the gradient of the last output with respect to each of them?
- B: 8, 16, 32, 64 inputs; how large is the gradient of the last output with respect to the first?
- C: 64 inputs; is the gradient with respect to the first input larger in attention or in the RNN?

`"crowd"`: *if all other inputs have equal scores, the weight of a match depends on how many there
are, not on the position of the match.*
- A: 100 inputs; the match comes first, in the middle, or last
- B: 10, 100, 1,000 inputs; the match always comes last
- C: 10, 100, 1,000 inputs; for each number, the match comes first, in the middle, or last

`"queue"`: *if we compute the formulas exactly as written, the steps of an RNN have to wait for one
another, but those of attention do not.*
- A: for 4, 16, 64 inputs, run both on your machine and measure the time
- B: for 4, 16, 64 inputs, count the longest chain of operations that wait for one another
- C: for 4, 16, 64 inputs, count all operations
""",
    stub="""
def experiment(claim):
    raise NotImplementedError  # fill in the answers, then delete this line
    answers = {"fading": "", "kind": "", "distance": "", "crowd": "", "queue": ""}
    return answers[claim]
""",
    reference=experiment,
    cases=lambda generator: [Case((c,), note=f'experiment("{c}")') for c in CLAIMS],
    mistakes=choices(
        experiment,
        {
            ("fading", "A"): "All inputs differ, so you cannot tell which part of the difference "
            "is due to the first.",
            ("fading", "C"): "A state changes with every input. That does not tell you how "
            "much is left of the first.",
            ("kind", "A"): "More pairs tell you more about the same network. The claim is also "
            "about other networks.",
            ("kind", "B"): "A longer sequence still tests the same network. The claim is also "
            "about other networks.",
            ("distance", "B"): "The first input gets farther away and has more competitors. You "
            "cannot tell which of the two matters.",
            ("distance", "C"): "This compares two networks at one distance. The claim is about "
            "distance.",
            ("crowd", "A"): "The number of inputs stays the same. The claim says that this number "
            "matters.",
            ("crowd", "B"): "The match changes its position and gets more competitors. You cannot "
            "tell which of the two matters.",
            ("queue", "A"): "Measured times describe one machine. The claim is about the formulas.",
            ("queue", "C"): "How much is computed and how much has to wait are different "
            "questions: attention computes L² scores, all at once.",
        },
    ),
    hints=(
        "If the claim were wrong, would this experiment show it? Could anything else cause the "
        "same result?",
        "What varies, and what stays fixed? If two things vary at once, you cannot tell "
        "their effects apart.",
        "One claim is about two things, the number and the position. Another is about formulas, "
        "not about machines.",
    ),
    insight="Sections 1.7 and 1.8 make the first four measurements, and section 1.6 has the count. "
    "For any curve, ask what was kept fixed.",
    comes_back="Chapters 5 and 7 ask the same question about trained models: which control can "
    "decide?",
)

CHAPTER = "1. The library"
EXERCISES = (LOOKUP, WINNER, TEMPERATURE, COSINE, QUERIES, EXPERIMENT)
