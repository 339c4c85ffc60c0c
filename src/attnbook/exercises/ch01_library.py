"""Exercises of chapter 1: the library, or attention as soft look-up."""

import itertools
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    Head,
    MistakeSet,
)
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw, some_sizes

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
            f"{lk} books" if lk > 1 else "a library of one book",
        )
        for lk, dk, dv in sizes
    ]


def within_the_values(answer: Tensor, case: Case) -> bool:
    values = case.arguments[2]
    low, high = values.amin(0) - 1e-6, values.amax(0) + 1e-6
    return bool(((answer >= low) & (answer <= high)).all())


MIXTURE = Property(
    "A mixture cannot leave what is mixed, and yours does: some number of a report is larger or "
    "smaller than in every book. Are your weights positive, and do they sum to 1?",
    within_the_values,
)

LOOKUP = Exercise(
    id="01.lookup",
    title="One question, one report",
    level=1,
    minutes=5,
    section="1.2",
    prompt="""
Write `lookup(query, keys, values)`: match, focus, mix, for one question. `query` has shape (Dk,),
`keys` (Lk, Dk), `values` (Lk, Dv), and the report (Dv,). All are PyTorch tensors, and so is the
answer. Use the scores as they are, as section 1.2 does, and divide them by nothing.
""",
    stub="""
def lookup(query, keys, values):
    raise NotImplementedError
""",
    reference=lookup,
    others=(lookup_by_loops,),
    cases=lookup_cases,
    axes="Dv",
    mistakes=(
        Mistake(
            lambda q, k, v: (k @ q / math.sqrt(q.size(0))).softmax(0) @ v,
            "You divided the scores by √Dk. That belongs to the whole equation of section 1.6. "
            "Here the scores are asked for as they are.",
        ),
        Mistake(
            lambda q, k, v: torch.cosine_similarity(k, q[None]).softmax(0) @ v,
            "The scores were cosines. Attention keeps the plain dot product, lengths included.",
        ),
        Mistake(
            lambda q, k, v: (-(k - q).norm(dim=1)).softmax(0) @ v,
            "The scores were distances with a minus. Here a card is multiplied with the question "
            "and added up: section 1.2, *Match*.",
        ),
        Mistake(
            lambda q, k, v: (k @ q).relu() / (k @ q).relu().sum() @ v,
            "You cut negative scores off at 0 and shared out the rest. A softmax makes every score "
            "positive, by raising e to it: also a bad match gets something.",
        ),
        Mistake(
            lambda q, k, v: (k @ q).abs() / (k @ q).abs().sum() @ v,
            "You took the signs of the scores away, so the worst match counts as much as the best. "
            "Raise e to the scores: that is positive and keeps their order.",
        ),
        Mistake(
            lambda q, k, v: (k @ q).softmax(0)[:, None] * v,
            "Each book has been weighted, and the books still lie side by side. Add them up to one "
            "report.",
        ),
        Mistake(
            lambda q, k, v: (k * q).softmax(0).sum(1) @ v,
            "The softmax came before the products were added up. A book has one score: multiply "
            "along the topics and add up, then focus.",
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
        "Three moves: a score for each book, shares out of the scores, one mixture of the values.",
        "`keys @ query` multiplies each card with the question and adds up: shape (Lk,).",
        "Make shares of it with `.softmax(dim=0)`; these shares `@ values` are the mixture.",
    ),
    insight="That was attention. From here on the question is who writes the cards.",
    comes_back="In chapter 3 each word writes a card, a question and a content of its own, by "
    "three matrices.",
)

# --- 01.winner: who has the largest weight? --------------------------------------------------

SCORINGS = ("dot", "cosine", "shout", "flip", "mute")


def winner(what: str) -> str:
    answers = {"dot": "B", "cosine": "A", "shout": "B", "flip": "C", "mute": "tie"}
    return answers[what]


WINNER = Exercise(
    id="01.winner",
    title="Who gets the largest weight?",
    level=1,
    minutes=5,
    section="1.5",
    prompt="""
Three cards: A is [3, 0], B is [4, 4], C is [0, 9]. The question is the query [1, 0]. Without
running anything: which card gets the largest weight after the softmax? `winner(what)` gets one of
five words and returns `"A"`, `"B"`, `"C"` or, if all three get the same, `"tie"`.

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
            ("dot", "A"): "A points exactly where the question points, and is short. A score "
            "counts length as well as direction: multiply along the numbers and add up.",
            ("dot", "C"): "C has the longest arrow, and it stands at a right angle to the "
            "question: 1 · 0 + 0 · 9. Length multiplies the cosine, and that is 0 here.",
            ("dot", "tie"): "No two of the three scores are equal. Multiply along the numbers and "
            "add up, for one card after the other.",
            ("cosine", "B"): "B leads by its length. Divide each score by the length of its card, "
            "and compare again.",
            ("cosine", "C"): "C stands at a right angle to the question, so its cosine is 0. What "
            "remains when lengths are cut away is the direction alone.",
            ("cosine", "tie"): "Cards of equal length still point in three directions. The cosine "
            "is 1 where the direction is the question's own.",
            ("shout", "A"): "Shouting multiplies every score by 10. It turns no card, so A gains "
            "no place by it.",
            ("shout", "C"): "C's score is 0, and ten times 0 is 0. Shouting makes a leader clearer "
            "and lifts nobody.",
            ("shout", "tie"): "You may be thinking of × 0. With × 10 the differences grow tenfold, "
            "and the softmax turns differences into ratios.",
            ("flip", "A"): "A score turns negative with the question. What was 3 is −3 now; is "
            "there a card that scores more than that?",
            ("flip", "B"): "B had the highest score before the sign was turned. Now it has the "
            "lowest: a softmax keeps the sign in mind, and −4 is less than −3.",
            ("flip", "tie"): "Turning the sign keeps the differences between the scores, turned "
            "around. Write the three new scores down.",
            ("mute", "A"): "A query of zeros scores 0 with every card, A too. A softmax sees "
            "differences only.",
            ("mute", "B"): "B's length cannot help it: 0 times any length is 0. Compare the three "
            "scores again.",
            ("mute", "C"): "C's score is 0, as before. Look at what the scores of the others have "
            "become.",
        },
    ),
    hints=(
        "Write three scores beside the cards, for each of the five words.",
        "The query [1, 0] reads a card's first number and ignores the second. The lengths of the "
        "cards are 3, √32 and 9.",
        "Multiplied by −1 the scores are −3, −4 and 0. Which is the largest? And multiplied by 0?",
    ),
    insight="The length of a query cannot change who wins, its sign can. C won by not being "
    "involved: among negative scores 0 is a high one.",
    comes_back="Chapter 3 measures how loud queries and keys get as they grow wider, and what "
    "the root does about it.",
    code=False,
)

# --- 01.temperature: how decided a look-up is ------------------------------------------------


def temper(scores: Tensor, temperature: float) -> Tensor:
    return (scores / temperature).softmax(dim=-1)


def temper_shifted(scores: Tensor, temperature: float) -> Tensor:
    powers = torch.exp((scores - scores.amax(-1, keepdim=True)) / temperature)
    return powers / powers.sum(-1, keepdim=True)


def temper_cases(generator: Generator) -> list[Case]:
    return [
        Case((draw(generator, 3), 2.5), {"Lk": 3}, "3 books, temperature 2.5"),
        Case((draw(generator, 10), 0.3), {"Lk": 10}, "10 books, temperature 0.3"),
        Case((draw(generator, 4, 7), 3.0), {"Lq": 4, "Lk": 7}, "4 questions to 7 books, at 3"),
        Case(
            (draw(generator, 2, 3, 5, 6), 1.7),
            {"A": 2, "B": 3, "Lq": 5, "Lk": 6},
            "two axes in front of the questions, at 1.7",
        ),
        Case((draw(generator, 2, 5), math.inf), {"Lq": 2, "Lk": 5}, "an infinite temperature"),
        Case(
            (torch.tensor([[10.0], [20.0], [30.0]]) + 0.01 * draw(generator, 3, 7), 0.01),
            {"Lq": 3, "Lk": 7},
            "a temperature of 0.01, which makes exponents of a thousand and more",
        ),
        Case(
            (
                torch.tensor([[10.0], [20.0], [30.0]])
                + 0.001 * draw(generator, 3, 8)
                - torch.tensor([0.0, 5, 0, 0, 5, 0, 5, 0]),
                0.001,
            ),
            {"Lq": 3, "Lk": 8},
            "a temperature of 0.001, which makes exponents of ten thousand and more",
        ),
    ]


def overflowing(scores: Tensor, temperature: float) -> Tensor:
    powers = (scores / temperature).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def powers_of_weights(scores: Tensor, temperature: float) -> Tensor:
    powers = scores.softmax(-1) ** (1 / temperature)
    return powers / powers.sum(dim=-1, keepdim=True)


def rows_sum_to_one(answer: Tensor, case: Case) -> bool:
    return bool((answer.sum(-1) - 1).abs().max() < 1e-6)


TEMPERATURE = Exercise(
    id="01.temperature",
    title="Hot and cold",
    level=2,
    minutes=10,
    section="1.4",
    prompt="""
Write `temper(scores, temperature)`: the weights at a temperature, a positive number. Temperature 1
is the plain softmax, a higher one is more even, a lower one more decided. `scores` has shape
(..., Lk), and so has the answer, whose rows sum to 1; the dots stand for any number of axes in
front, such as one for the queries. It has to survive the temperatures 0.001 and `math.inf`.
""",
    stub="""
def temper(scores, temperature):
    raise NotImplementedError
""",
    reference=temper,
    others=(temper_shifted,),
    cases=temper_cases,
    axes="A B Lq Lk",
    mistakes=(
        Mistake(
            lambda scores, temperature: (scores * temperature).softmax(-1),
            "You multiplied by the temperature. That is section 1.4's multiplier, which is 1 / "
            "temperature: yours grows more decided as it gets hotter.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(-1),
            "This is the plain softmax: the temperature has had no influence. Dividing all powers "
            "of e by one number cancels. It has to change the differences between the scores.",
        ),
        Mistake(
            lambda scores, temperature: (scores - temperature).softmax(-1),
            "You subtracted the temperature from all scores. A softmax sees differences only, and "
            "those are as before: the temperature has to divide.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(-1) / temperature,
            "The softmax came first, and the weights were divided. They no longer sum to 1, and "
            "their order of size is as before: it is the scores that are heated.",
        ),
        Mistake(
            overflowing,
            "Right until the numbers get large: e to the 1000 is too large for a float. Subtract "
            "each row's largest score first, which changes no weight, or let `softmax` do it.",
        ),
        Mistake(
            lambda scores, temperature: overflowing(
                scores - scores.amin(-1, keepdim=True), temperature
            ),
            "You subtracted each row's smallest score. Then every exponent is 0 or more, and the "
            "largest still overflows: subtract the largest.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).clamp(-700, 700).softmax(-1),
            "The exponents were cut off so that `exp` can bear them. All that lie beyond become "
            "equal: subtract each row's largest score instead, which changes no weight.",
        ),
        Mistake(
            lambda scores, temperature: overflowing(scores - scores.max(), temperature),
            "One maximum was subtracted from all rows. In the others every power became 0, and 0/0 "
            "is nan: each row needs its own.",
        ),
        Mistake(
            powers_of_weights,
            "You raised the weights to the power 1/temperature. On paper that is right, but small "
            "weights have been rounded by then, and a cold power makes 0 of the rest: 0/0. Heat "
            "the scores.",
        ),
        Mistake(
            lambda scores, temperature: scores.softmax(-1) ** (1 / temperature),
            "You raised the weights to a power and stopped there: they no longer sum to 1. And it "
            "is safer to heat the scores, before the softmax.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).softmax(max(-2, -scores.dim())),
            "Softmax ran over the questions: your columns sum to 1. Share out over the books, the "
            "last axis: `dim=-1`.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).softmax(0),
            "Softmax ran over axis 0. With several questions that is the questions: count axes "
            "from the end, and share out over the books, `dim=-1`.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature).softmax(min(1, scores.dim() - 1)),
            "Softmax ran over axis 1. That is right for two axes and wrong for more: count from "
            "the end, `dim=-1`.",
        ),
        Mistake(
            lambda scores, temperature: (
                (scores / temperature).flatten().softmax(0).reshape(scores.shape)
            ),
            "All weights together sum to 1. Each question has its own report to share out, so each "
            "row has to sum to 1.",
        ),
        Mistake(
            lambda scores, temperature: (
                F.one_hot(scores.argmax(-1), scores.size(-1)).to(scores)
                if temperature < 1
                else temper(scores, temperature)
            ),
            "In the cold you gave everything to the winner. Cold is more decided, not yet hard: "
            "divide here as everywhere.",
        ),
        Mistake(
            lambda scores, temperature: (scores / math.sqrt(temperature)).softmax(-1),
            "You divided by the root of the temperature. The root in attention is a root of the "
            "width; a temperature divides as it is.",
        ),
        Mistake(
            lambda scores, temperature: (scores / temperature**2).softmax(-1),
            "You divided by the square of the temperature. It divides as it is, once.",
        ),
        Mistake(
            lambda scores, temperature: (-scores / temperature).softmax(-1),
            "The sign of the scores is turned around: the worst book gets the most.",
        ),
        Mistake(
            lambda scores, temperature: (
                0 * scores if temperature == math.inf else temper(scores, temperature)
            ),
            "At an infinite temperature the *scores* become 0, all of them, and equal scores get "
            "equal weights. Those are not 0: a row sums to 1 at any temperature.",
        ),
        Mistake(
            lambda scores, temperature: (
                torch.ones_like(scores) / len(scores)
                if temperature == math.inf
                else temper(scores, temperature)
            ),
            "At an infinite temperature all books get the same, and there are Lk of them: the last "
            "axis. `len(scores)` counts the first. (Does infinity need a case of its own?)",
        ),
    ),
    properties=(
        Property(
            "Each row of weights has to sum to 1, at every temperature, and yours do not.",
            rows_sum_to_one,
        ),
    ),
    hints=(
        "Section 1.4 multiplies the scores by a number, and calls it 1 / temperature.",
        "Heat the scores, then share out over the last axis. At infinity every score becomes 0.",
        "`(scores / temperature)`, then `softmax` with `dim=-1`: it is safe from overflow.",
    ),
    insight="The same knob makes a chatbot cautious or inventive, and 1/√Dk is one setting of it.",
    comes_back="Chapter 3 turns it up and measures how much of a gradient is left.",
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
        case("cards that whisper and cards that shout", 7, 5, 6, scale=8.0),
        case("one question", 1, 3, 5),
    ]


def by_row(x: Tensor) -> Tensor:
    return x / x.norm(dim=1, keepdim=True)


def by_column(x: Tensor) -> Tensor:
    return x / x.norm(dim=0)


def by_table(x: Tensor) -> Tensor:
    return x / x.norm()


def by_lying_row(x: Tensor) -> Tensor:
    return x / x.norm(dim=1)


def by_square(x: Tensor) -> Tensor:
    return x / x.square().sum(dim=1, keepdim=True)


def by_sizes(x: Tensor) -> Tensor:
    return x / x.abs().sum(dim=1, keepdim=True)


def as_it_is(x: Tensor) -> Tensor:
    return x


Cut = Callable[[Tensor], Tensor]
QUERIES_BY: dict[Cut, str] = {
    by_row: "",
    by_column: "The queries are cut by column, a topic through all of them. A question is a row: "
    "its length is summed along the row.",
    by_table: "The queries are all divided by one number: without `dim`, `norm` gives the length "
    "of the whole table. Each question has a length of its own.",
    as_it_is: "The queries are as long as they were. The order within a row of the answer is right "
    "without that, but the numbers are no cosines.",
    by_lying_row: "The lengths of the queries are right, but they lie down as one row, (Lq,), and "
    "broadcasting lines them up with the columns. Keep them a column, (Lq, 1).",
    by_square: "The queries are divided by their squared lengths: the root is missing.",
    by_sizes: "The queries are divided by the sum of their sizes. Length is Pythagoras: the root "
    "of the sum of squares.",
}
KEYS_BY: dict[Cut, str] = {
    by_row: "",
    by_column: "The keys are cut by column, a topic through all cards. A card is a row: its length "
    "is summed along the row.",
    by_table: "The keys are all divided by one number, the length of the whole table. That leaves "
    "a loud card as loud beside the others as it was.",
    as_it_is: "The keys are as long as they were. A loud card still wins every question.",
    by_lying_row: "The lengths of the keys are right, but they lie down as one row, (Lk,), and "
    "broadcasting lines them up with the columns. Keep them a column, (Lk, 1).",
    by_square: "The keys are divided by their squared lengths, so a long card now scores too "
    "little instead of too much.",
    by_sizes: "The keys are divided by the sum of their sizes. Length is the root of the sum of "
    "squares.",
}


def divided(queries_by: Cut, keys_by: Cut) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda queries, keys: queries_by(queries) @ keys_by(keys).T


DIVIDED = [
    Mistake(
        divided(one, other),
        "\n".join(filter(None, (QUERIES_BY[one], KEYS_BY[other]))),
    )
    for one, other in itertools.product(QUERIES_BY, KEYS_BY)
    if (one == other or by_row in (one, other) or {one, other} == {by_column, by_table})
    and (one, other) not in ((by_row, by_row), (by_lying_row, by_lying_row))
]

COSINE = Exercise(
    id="01.cosine",
    title="A library without spam",
    level=2,
    minutes=10,
    section="1.5",
    prompt="""
`cosines(queries, keys)` should give the cosine of each query with each key, so that no card wins by
its length. `queries` has shape (Lq, Dk), `keys` (Lk, Dk), the answer (Lq, Lk); no row is all zeros.
Two of the three lines below hold a fault, each its own, and neither raises an error. Repair them.
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
        *DIVIDED,
        Mistake(
            lambda q, k: cosines(q, k).softmax(-1),
            "These are the weights that follow from the cosines. The cosines themselves are asked "
            "for, and they may be negative.",
        ),
        Mistake(
            lambda q, k: cosines(k, q),
            "Your table has the keys in its rows. Row i belongs to query i: queries first.",
        ),
        Mistake(
            lambda q, k: cosines(k, k),
            "The keys were compared with one another. Each query has to meet each key.",
        ),
        Mistake(
            lambda q, k: F.cosine_similarity(q, k),
            "Query i met key i alone. Every query has to meet every key, so that there is a table "
            "of (Lq, Lk).",
        ),
    ),
    properties=(
        Property(
            "A cosine lies between −1 and 1, and yours do not all.",
            lambda answer, case: bool(answer.abs().max() <= 1 + 1e-6),
        ),
    ),
    hints=(
        "Which numbers make up one card: a row or a column of `keys`? Its length is theirs.",
        "`dim` names the axis that is summed away. The topics of a card run along axis 1.",
        "Print `keys.norm(dim=1).shape`. To divide row by row it has to be (Lk, 1): "
        "`keepdim=True`.",
    ),
    insight="A wrong axis that broadcasts raises no error: print the shape of what you divide by.",
    comes_back="Chapter 2 reads the meaning of words off such a table, before and after training.",
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
            f"{lq} questions to {lk} books, cards of width {dk}",
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
Write `lookups(queries, keys, values)`: the whole equation of section 1.6, with its √Dk, for PyTorch
tensors. `queries` has shape (Lq, Dk), `keys` (Lk, Dk), `values` (Lk, Dv), and the answer (Lq, Dv):
one report for each query.
""",
    stub="""
def lookups(queries, keys, values):
    raise NotImplementedError
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
            "You averaged the queries first, so all of them get the same report. Each row asks for "
            "itself.",
        ),
        Mistake(
            lambda q, k, v: (k @ q.T / math.sqrt(k.size(1))).softmax(1) @ v,
            "What meets the values is (Lk, Lq). Do the books ask the questions, or were the "
            "weights turned around? Row i belongs to query i: (Lq, Lk).",
        ),
        Mistake(
            lambda q, k, v: (lookups(q, k, v)).sum(0),
            "The reports of all questions were added up to one. Each query gets a report of its "
            "own: a row.",
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
        "Two products with a softmax between them. Say the shape after each step.",
        "`queries @ keys.T` is (Lq, Lk): row i holds the scores of query i. Which axis has to sum "
        "to 1?",
        "Divide it by `math.sqrt(keys.size(1))`, take `.softmax(dim=1)`, multiply with `values`.",
    ),
    insight="No query has seen another: run them alone or together, the reports are the same.",
    comes_back="Chapter 5 lives on that: a translation asks word by word or all at once.",
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
    section="1.9 (second reading)",
    prompt="""
Five claims, three experiments for each. `experiment(claim)` gets the word in front of a claim and
returns `"A"`, `"B"` or `"C"`: the one experiment that can show the whole claim to be wrong if it is
wrong.

`"fading"`: *with each further input, less of the first one is left in an RNN's state.*
- A: two sequences that differ in every input; how far apart are the last states?
- B: two sequences that differ in the first input; how far apart are the states after each step?
- C: one sequence; how far is each state from the first state?

`"kind"`: *it is this kind of network that forgets, and not only the one that we drew.*
- A: many more pairs of sequences, the same network
- B: sequences ten times as long, the same network
- C: several networks of this kind with other random numbers, the same measurement

`"distance"`: *to attention, a far input is as easy to learn from as a near one.*
- A: 64 inputs; how large is the gradient of the last output at each of them?
- B: 8, 16, 32, 64 inputs; how large is the gradient of the last output at the first input?
- C: 64 inputs; is the gradient at the first input larger in attention or in the RNN?

`"crowd"`: *among others that all score the same, what dilutes a match is how many they are, not
where it stands.*
- A: 100 inputs; the match first, in the middle, last
- B: 10, 100, 1,000 inputs; the match always last
- C: 10, 100, 1,000 inputs; with each, the match first, in the middle, last

`"queue"`: *computed as the formulas are written, the steps of an RNN wait for one another, those of
attention do not.*
- A: run both on your machine, for 4, 16, 64 inputs, and take the time
- B: for 4, 16, 64 inputs, count the longest chain of operations that need one another's results
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
            ("fading", "A"): "With every input changed, the last states differ by what the last "
            "inputs did. No part of the difference can be put down to the first.",
            ("fading", "C"): "A state moves on with every new input. That it has moved does not "
            "say whether something of the first input is still in it.",
            ("kind", "A"): "More pairs tell you more about this one network. Its matrices stay as "
            "they were drawn, and they are what may have been bad luck.",
            ("kind", "B"): "A longer sequence follows the same network further out. The claim is "
            "about all networks of a kind, so the network is what has to vary.",
            ("distance", "B"): "As the sequence grows, the first input gets further away and gets "
            "more competitors. Two things vary at once, and you could not tell which one did it.",
            ("distance", "C"): "This compares two networks at one distance. It says which is "
            "larger there, not whether distance makes a difference to either.",
            ("crowd", "A"): "The match moves, the crowd stays. That tests half of the claim, the "
            "half about the place.",
            ("crowd", "B"): "Standing last among more and more inputs, the match has another place "
            "each time as well as another crowd. Vary one while the other holds still.",
            ("queue", "A"): "A clock tells about one machine, its processors and what else it "
            "does. The claim is about the formulas, on any machine.",
            ("queue", "C"): "How much has to be computed and how much of it has to wait are two "
            "things: attention computes L² scores, all of them at once.",
        },
    ),
    hints=(
        "Ask of each experiment: if the claim were wrong, would I see it here? And could something "
        "else have made the same picture?",
        "Look for what varies and what holds still. Where two things vary at once, neither can be "
        "blamed; where the thing in question holds still, nothing can be seen.",
        "One claim speaks of two things, the crowd and the place, and one of formulas, which no "
        "clock can read. The experiment has to reach all of it.",
    ),
    insight="Sections 1.7 to 1.9 are about these five. You can now read somebody else's curve "
    "and ask what was held still.",
    comes_back="Chapters 5 and 7 ask the same of a trained model: which control decides?",
    code=False,
)

CHAPTER = "1. The library"
EXERCISES = (LOOKUP, WINNER, TEMPERATURE, COSINE, QUERIES, EXPERIMENT)
