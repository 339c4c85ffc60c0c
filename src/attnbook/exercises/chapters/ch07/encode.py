"""Exercises of chapter 7: positional encoding."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.common_mistakes import (
    SCORE_MISTAKES,
    Head,
    MistakeSet,
    scaled_scores,
)
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    named_sizes,
)
from attnbook.language import _
from attnbook.positions.absolute import sinusoids

# --- 07.order: what a shuffle does -----------------------------------------------------------

SITUATIONS = ("bare", "positions", "baggage", "context", "torn")


def after_shuffle(situation: str) -> str:
    return {
        "bare": "reordered",
        "positions": "other",
        "baggage": "reordered",
        "context": "same",
        "torn": "other",
    }[situation]


ORDER = Exercise(
    id="07.order",
    title="What a shuffle does",
    level=1,
    minutes=8,
    section="7.3",
    prompt="""
Six rows go through attention. Then they are shuffled as the table says and go through it again.
`after_shuffle(situation)` says how the output changes: `"same"` (equal, row by row), `"reordered"`
(the same rows, shuffled in the same way as the input), or `"other"` (new numbers).

| situation | what happens |
|:--|:--|
| `"bare"` | self-attention without positions, all rows are shuffled |
| `"positions"` | the words are shuffled, then sinusoids are added, then self-attention |
| `"baggage"` | sinusoids are added, then the sums are shuffled, then self-attention |
| `"context"` | keys and values are shuffled, both in the same way; the queries stay in place |
| `"torn"` | only the keys are shuffled; queries and values stay in place |
""",
    stub="""
def after_shuffle(situation):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"bare": "", "positions": "", "baggage": ""}
    then = {"context": "", "torn": ""}
    return (first | then)[situation]
""",
    reference=after_shuffle,
    cases=lambda generator: [
        Case((s,), note=_('situation "{name}"').format(name=s)) for s in SITUATIONS
    ],
    mistakes=choices(
        after_shuffle,
        {
            ("bare", "same"): "The rows are the same, but each has moved with its word. "
            "*Equivariant* is not *invariant*.",
            ("bare", "other"): "Each row is a sum over all words, and a sum does not depend on "
            "the order of its terms.",
            (
                "positions",
                "same",
            ): "Each word gets the encoding of its new position, so its query, "
            "key and value change.",
            ("positions", "reordered"): "Each word gets the encoding of its new position. It does "
            "not keep the old one.",
            ("baggage", "same"): "The input rows have moved, and the output rows move with them.",
            ("baggage", "other"): "The encodings move with the words, so the layer sees the same "
            "six rows.",
            ("context", "reordered"): "The output has one row per query, and the queries have not "
            "moved.",
            ("context", "other"): "Each key has moved with its value, so every query finds the "
            "same pairs.",
            ("torn", "same"): "Each weight belongs to a key, but now it multiplies the value "
            "of another key.",
            ("torn", "reordered"): "Every query now mixes the values with weights that belong "
            "to other values.",
        },
    ),
    hints=(
        "An output row is a sum over pairs of a weight and a value. When do the terms change?",
        "Does the *set* of key-value pairs change? Do the *queries* move?",
        "The order of the pairs does not matter. Queries that move take their output rows with "
        "them. If keys and values are separated, the numbers are new.",
    ),
    comes_back="The last exercise of this chapter tests layers that you cannot see.",
    insight="Attention treats keys and values as a set of pairs and handles each query by itself. "
    "This explains the result of section 7.1.",
)

# --- 07.encode: a row of clocks --------------------------------------------------------------


def encode(length: int, d_model: int) -> Tensor:
    frequencies = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (D / 2,)
    angles = torch.arange(length)[:, None] * frequencies  # (L, D / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def encode_by_loops(length: int, d_model: int) -> Tensor:
    p = torch.zeros(length, d_model)
    for t in range(length):
        for k in range(d_model // 2):
            omega = 1 / 10000 ** (2 * k / d_model)
            p[t, 2 * k], p[t, 2 * k + 1] = math.sin(omega * t), math.cos(omega * t)
    return p


def encode_cases(generator: Generator) -> list[Case]:
    sizes = ((3, 6), (5, 12), (4, 10), (7, 14), (1, 8))
    return [
        Case(
            (n, d), {"L": n, "D": d}, _("length {length}, width {width}").format(length=n, width=d)
        )
        for n, d in sizes
    ]


def clocks(length: int, frequencies: Tensor, first: int = 0) -> Tensor:
    angles = torch.arange(first, first + length)[:, None] * frequencies
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def frequencies_of(d_model: int) -> Tensor:
    return 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)


def own_frequency(length: int, d_model: int, count: int = 1) -> Tensor:
    frequencies = 10000.0 ** (-count * torch.arange(d_model) / d_model)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())


def halves(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length)[:, None] * frequencies_of(d_model)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


def one_pair_short(d_model: int) -> Tensor:
    return 10000.0 ** (-torch.arange(d_model // 2) / max(d_model // 2 - 1, 1))


ENCODE = Exercise(
    id="07.encode",
    title="A row of clocks",
    level=2,
    minutes=10,
    section="7.3",
    prompt="""
Write `encode(length, d_model)`: the sinusoidal encodings of the positions 0, 1, …, length − 1.
`d_model`, or D, is even. The answer has shape (L, D) and PyTorch's default dtype: column 2k is the
sine of hand k and column 2k + 1 its cosine. Hand k turns by 10000^(−2k/D) from one position to the
next. Try it without a loop over positions.
""",
    asks_for_dtype=True,
    reference=encode,
    cases=encode_cases,
    axes="L D",
    mistakes=(
        Mistake(
            halves,
            "All your sines come before your cosines, as in many programs. In the formula they "
            "alternate.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, frequencies_of(d_model), first=1),
            "Your first row is that of position 1. Position 0 needs a row, too.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, frequencies_of(d_model) ** 0.5),
            "Your exponents are k/D, half as large as they should be. Use 2k/D. (`arange(0, D, 2)` "
            "already counts 2k.)",
        ),
        Mistake(
            lambda length, d_model: clocks(length, frequencies_of(d_model) ** 2),
            "Your exponents are twice as large as they should be. `arange(0, D, 2)` already "
            "counts 2k.",
        ),
        Mistake(
            own_frequency,
            "Each of your columns has its own frequency. Columns 2k and 2k + 1 should have the "
            "same angle.",
        ),
        Mistake(
            lambda length, d_model: own_frequency(length, d_model, count=2),
            "You used the column index as k. But k counts hands, and each hand has two columns.",
        ),
        Mistake(
            lambda length, d_model: (
                clocks(length, frequencies_of(d_model)).unflatten(-1, (-1, 2)).flip(-1).flatten(1)
            ),
            "Your cosines come before your sines. Row 0 should begin with 0, 1.",
        ),
        Mistake(
            lambda length, d_model: (
                torch.arange(length)[:, None] * frequencies_of(d_model).repeat_interleave(2)
            ).sin(),
            "Every column is a sine here. The odd columns are cosines.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, 1 / frequencies_of(d_model)),
            "Your hands get faster from left to right. The exponent should be negative.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, one_pair_short(d_model)),
            "You divide the exponent by D/2 − 1, so that the slowest hand turns by 1/10000. The "
            "formula divides by D.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, torch.ones(d_model // 2)),
            "All your hands turn by one radian per position. Does a `//` in the exponent drop the "
            "fraction?",
        ),
        Mistake(
            lambda length, d_model: clocks(length, 10000.0 ** -torch.arange(0.0, d_model, 2)),
            "Your exponent is not divided by D.",
        ),
    ),
    properties=(
        Property(
            "A sine and its cosine form a hand of length 1. Yours do not.",
            lambda answer, case: bool(
                (answer.unflatten(-1, (-1, 2)).norm(dim=-1) - 1).abs().max() < 1e-4
            ),
        ),
    ),
    hints=(
        "Each angle is the product of a position and a frequency. There are L positions and D/2 "
        "frequencies.",
        "`torch.arange(length)[:, None] * frequencies` is (L, D/2). Take its sine and its cosine.",
        "`torch.stack((sines, cosines), dim=-1)` is (L, D/2, 2); `.flatten(1)` makes them "
        "alternate.",
    ),
    others=(encode_by_loops,),
    comes_back="Section 7.4 turns these hands, and chapter 11 turns queries and keys instead.",
    insight="An encoding depends neither on the words nor on the length: row 40 is the same in a "
    "text of 41 words and in a book.",
)

# --- 07.distance: which row for which distance -----------------------------------------------


def table_rows(length: int, max_distance: int) -> Tensor:
    here = torch.arange(length)
    distance = here - here[:, None]  # j - i: (L, L)
    return distance.clamp(-max_distance, max_distance) + max_distance


def table_rows_moved_first(length: int, max_distance: int) -> Tensor:
    i, j = torch.meshgrid(torch.arange(length), torch.arange(length), indexing="ij")
    return (j - i + max_distance).clamp(0, 2 * max_distance)


def distance_cases(generator: Generator) -> list[Case]:
    sizes = ((6, 1), (9, 2), (4, 7), (5, 0), (1, 3))
    return [Case((n, far), {"L": n}, f"length {n}, max_distance {far}") for n, far in sizes]


def steps(length: int) -> Tensor:
    return torch.arange(length) - torch.arange(length)[:, None]


DISTANCE = Exercise(
    id="07.distance",
    title="Which row for which distance?",
    level=2,
    minutes=8,
    section="7.9",
    prompt="""
Shaw's table has 2 · max_distance + 1 rows: row 0 is for the distance −max_distance, the last for
+max_distance. Write `table_rows(length, max_distance)`: for each query i and key j, the row for the
distance j − i, clipped to ±max_distance. The answer is a tensor of whole numbers of shape (L, L).
""",
    reference=table_rows,
    cases=distance_cases,
    axes="L L",
    mistakes=(
        Mistake(
            lambda length, far: steps(length).T.clamp(-far, far) + far,
            "You took i − j. The distance is j − i, which is negative for a key to the left of its "
            "query.",
        ),
        Mistake(
            lambda length, far: steps(length) + far,
            "Distant keys get rows that the table does not have. Clip the distance.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far),
            "These are the clipped distances, not the rows. Row 0 belongs to −max_distance.",
        ),
        Mistake(
            lambda length, far: steps(length).abs().clamp(max=far),
            "You ignored the sign of the distance. Left and right need different rows.",
        ),
        Mistake(
            lambda length, far: steps(length).abs().clamp(max=far) + far,
            "You ignored the sign before the shift, so no key gets a row for the left side.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(0, 2 * far + 1),
            "You clipped to 2 · max_distance + 1, the number of rows. The index of the last row "
            "is one less.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(-far, far),
            "You shifted first and then clipped, as if the rows were still distances.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(max=far) + far,
            "You clipped only the large distances, so distant keys on the left get negative rows.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(min=-far) + far,
            "You clipped only the negative distances, so distant keys on the right get rows that "
            "do not exist.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far) + length - 1,
            "You shifted by length − 1. Distance 0 has the middle row of the table at any length.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(min=0).clamp(max=max(2 * far - 1, 0)),
            "Your last row is 2 · max_distance − 1, one too small. Distance 0 has a row, too.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far) + far + 1,
            "You count the rows from 1, so the last one does not exist.",
        ),
    ),
    hints=(
        "Use `torch.arange(length)` once as a row and once as a column. Their difference is "
        "(L, L).",
        "`clamp(-max_distance, max_distance)` clips. How do you make the smallest number 0?",
        "`(here - here[:, None]).clamp(-max_distance, max_distance) + max_distance`.",
    ),
    others=(table_rows_moved_first,),
    comes_back="Section 7.12 tests Shaw's vectors on deals four times as long as in training.",
    insight="The matrix for a long sentence contains the one for a short sentence. The same is "
    "true of sinusoids, but in section 7.12 they fail on longer deals.",
)

# --- 07.repair: three faults in three lines --------------------------------------------------


def placed_scores(x: Tensor, table: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    rows = x + table[: x.size(-2)]
    query, key = rows @ w_q, rows @ w_k
    return query @ key.mT / math.sqrt(query.size(-1))


def placed_scores_in_four_terms(x: Tensor, table: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    p = table[: x.size(1)].expand_as(x)
    terms = ((asks @ w_q) @ (asked @ w_k).mT for asks in (x, p) for asked in (x, p))
    return torch.stack(list(terms)).sum(0) / math.sqrt(w_k.size(1))


def repair_cases(generator: Generator) -> list[Case]:
    def case(note: str, b: int, length: int, d: int, d_k: int, longest: int) -> Case:
        shapes = ((b, length, d), (longest, d), (d, d_k), (d, d_k))
        sizes = {"B": b, "L": length, "D": d, "Dk": d_k, "the table": longest}
        return Case(tuple(draw(generator, *shape) for shape in shapes), sizes, note)

    return [
        case("one sentence of 3 words", 1, 3, 7, 5, 6),
        case("two sentences of 5 words", 2, 5, 6, 11, 8),
        case("three sentences of 4 words", 3, 4, 10, 7, 13),
    ]


Line = Callable[[Tensor, Tensor], Tensor]


def faulty(
    place: Line = lambda x, table: x + table[: x.size(-2)],
    key_of: Line = lambda x, rows: rows,
    head: Head = Head(),  # noqa: B008  frozen
    by_d: bool = False,
) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """The three lines, each right unless a wrong one is given."""

    def scores(x: Tensor, table: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
        rows = place(x, table)
        query, key = rows @ w_q, key_of(x, rows) @ w_k
        return scaled_scores(x.size(-1), query, key) if by_d else head.scores(query, key)

    return scores


def by_batch(x: Tensor, table: Tensor) -> Tensor:
    return x + table[: len(x)]


def of_words(x: Tensor, other: Tensor) -> Tensor:
    return x


REPAIR = Exercise(
    id="07.repair",
    title="Three faults in three lines",
    level=2,
    minutes=10,
    section="7.8",
    prompt="""
These three lines should add learned positions to the rows, project the sums, and compare queries
with keys. For a single sentence, they run and return the right shape, but each line has one fault.
Repair them. `x` is (B, L, D); `table` is (N, D), with N at least L, and its row t is the encoding
of position t; `w_q` and `w_k` are (D, Dk); the answer is (B, L, L).
""",
    stub="""
def placed_scores(x, table, w_q, w_k):
    raise NotImplementedError  # repair the lines below, then delete this one
    rows = x + table[: len(x)]
    query, key = rows @ w_q, x @ w_k
    return query @ key.mT / math.sqrt(x.size(-1))
""",
    reference=placed_scores,
    cases=repair_cases,
    axes="B L L",
    mistakes=(
        Mistake(
            faulty(by_batch, of_words, by_d=True),
            "All three faults are still there. What is `len(x)` if `x` is (B, L, D)?",
        ),
        Mistake(
            faulty(by_batch, of_words),
            "The scale is now right. What is `len(x)` in the first line? Which rows are the keys "
            "made from?",
        ),
        Mistake(
            faulty(by_batch, by_d=True),
            "Keys and queries both have their positions now. What is `len(x)`? Which width do "
            "the dot products sum over?",
        ),
        Mistake(
            faulty(key_of=of_words, by_d=True),
            "The first line is now right. The keys still have no positions, and you take the "
            "root of the wrong width.",
        ),
        Mistake(
            faulty(by_batch),
            "`len(x)` is B, the number of sentences. With one sentence, every word gets position "
            "0, and no error is raised.",
        ),
        Mistake(faulty(key_of=of_words), "The queries have positions, but the keys do not."),
        Mistake(faulty(by_d=True), "You still divide by √D, but queries and keys have width Dk."),
        Mistake(
            lambda x, table, w_q, w_k: (
                (x @ w_q) @ ((x + table[: x.size(-2)]) @ w_k).mT / math.sqrt(w_q.size(-1))
            ),
            "The keys have positions now, but the queries do not.",
        ),
        Mistake(faulty(lambda x, table: x + table[:1]), "Every word gets row 0 of the table."),
        Mistake(
            faulty(lambda x, table: x + table[1 : x.size(-2) + 1]),
            "Your first word gets row 1 of the table, but it is at position 0.",
        ),
        Mistake(
            faulty(lambda x, table: x),
            "These are the scores of the words alone. Add the positions.",
        ),
        Mistake(
            lambda *arguments: placed_scores(*arguments).softmax(-1),
            "You added a softmax. These three lines stop at the scores.",
        ),
    ),
    hints=(
        "`table[: n]` is (n, D). Which n broadcasts with (B, L, D)?",
        "Queries and keys are made from the *same* rows. Divide by the root of the width that "
        "their dot product sums over.",
        "You need `x.size(-2)`, `rows @ w_k` and `query.size(-1)`.",
    ),
    common_mistakes=MistakeSet(
        lambda head: faulty(head=head),
        SCORE_MISTAKES,
        widths={"N": lambda x, table, w_q, w_k: len(table)},
    ),
    others=(placed_scores_in_four_terms,),
    comes_back="Chapter 8 adds positions with a line like the first of these three.",
    insight="With a batch of one, `len(x)` is wrong but raises no error. Test with sizes that all "
    "differ.",
)

# --- 07.longer: choose the experiment --------------------------------------------------------

EXPERIMENTS = ("A", "B", "C", "D", "E")


def verdict(experiment: str) -> str:
    return {"A": "order", "B": "fair", "C": "seen", "D": "length", "E": "length"}[experiment]


LONGER = Exercise(
    id="07.longer",
    title="Which experiment shows it?",
    level=2,
    minutes=8,
    section="7.12",
    prompt="""
Here is a claim: *with my encoding, a model can read longer texts than it was trained on.* Five
experiments are proposed. For each, `verdict(experiment)` returns `"fair"` (it can support or refute
the claim), `"order"` (the task can be done without order), `"seen"` (the length of the test occurs
in training), or `"length"` (the model never reads more at once than in training). One of these
answers is right for two experiments.

| | training | test |
|:--|:--|:--|
| `"A"` | 12 cards; name the highest card of the deal | 48 cards, five seeds |
| `"B"` | 12 cards; name the card two before | 48 cards, scored at positions 12 to 47, five seeds |
| `"C"` | 3 to 48 cards; name the card two before | 500 new deals of 48 cards |
| `"D"` | 12 cards; name the card two before | 500 new deals of 12 cards |
| `"E"` | 12 cards; name the card two before | 48 cards, in four pieces read one at a time |
""",
    stub="""
def verdict(experiment):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"A": "", "B": "", "C": "", "D": "", "E": ""}[experiment]
""",
    reference=verdict,
    cases=lambda generator: [
        Case((e,), note=_("experiment {name}").format(name=e)) for e in EXPERIMENTS
    ],
    mistakes=choices(
        verdict,
        {
            ("A", "fair"): "The highest card is the same in every order.",
            (("A", "B"), "length"): "48 cards are more than the 12 in training.",
            (("A", "B"), "seen"): "No training deal has 48 cards.",
            (("B", "C", "D", "E"), "order"): "In another order, a different card comes two before.",
            ("C", "fair"): "Training also included deals of 48 cards.",
            ("C", "length"): "The test deals are longer than some training deals, but as long as "
            "others.",
            ("D", "fair"): "The deals are new, but how long are they?",
            (("D", "E"), "seen"): "These deals are new. How many cards does the model read at "
            "once?",
            ("E", "fair"): "The deal has 48 cards. How many does the model read at once?",
        },
    ),
    hints=(
        "Does the task need order? Is the test longer than anything in training? Does the model "
        "read it in one piece?",
        "In one of the tasks the right answer stays the same when the cards are shuffled.",
        "One experiment passes all three checks. One fails because of its task, one because of "
        "its training, and two because of how much is read at once.",
    ),
    comes_back="Chapter 13 asks the same question about what single heads seem to do.",
    insight="A good score is evidence only if a model without the ability would have failed. Name "
    "that model first.",
)

# --- 07.move: turn the hands -----------------------------------------------------------------


def move(p: Tensor, angles: Tensor) -> Tensor:
    sines, cosines = p[..., ::2], p[..., 1::2]  # (..., D / 2)
    moved_sines = sines * angles.cos() + cosines * angles.sin()
    moved_cosines = cosines * angles.cos() - sines * angles.sin()
    return torch.stack((moved_sines, moved_cosines), dim=-1).flatten(-2)


def move_through_the_angle(p: Tensor, angles: Tensor) -> Tensor:
    at = torch.atan2(p[..., ::2], p[..., 1::2]) + angles
    return torch.stack((at.sin(), at.cos()), dim=-1).flatten(-2)


def move_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int, by: float = 1.0) -> Case:
        at = 3 * draw(generator, *sizes[:-1], sizes[-1] // 2)
        p = torch.stack((at.sin(), at.cos()), dim=-1).flatten(-2)
        drawn = (p, by * draw(generator, sizes[-1] // 2))
        return Case(drawn, named_sizes("A B L D", sizes), note)

    return [
        case("1 position, 3 hands", 1, 6),
        case("3 positions, 5 hands", 3, 10),
        case("5 positions, 6 hands", 5, 12),
        case("a batch of 2", 2, 5, 8),
        case("two axes in front of the positions", 2, 3, 5, 14),
        case("far: several turns", 3, 8, by=20.0),
    ]


def turned(p: Tensor, angles: Tensor, plus: int = 1, minus: int = -1) -> Tensor:
    s, c = p[..., ::2], p[..., 1::2]
    pair = (s * angles.cos() + plus * c * angles.sin(), c * angles.cos() + minus * s * angles.sin())
    return torch.stack(pair, dim=-1).flatten(-2)


def old_sine_lost(p: Tensor, angles: Tensor) -> Tensor:
    s, c = p[..., ::2], p[..., 1::2]
    s = s * angles.cos() + c * angles.sin()
    c = c * angles.cos() - s * angles.sin()
    return torch.stack((s, c), dim=-1).flatten(-2)


def halves_turned(p: Tensor, angles: Tensor) -> Tensor:
    s, c = p.chunk(2, dim=-1)
    pair = (s * angles.cos() + c * angles.sin(), c * angles.cos() - s * angles.sin())
    return torch.cat(pair, dim=-1)


MOVE = Exercise(
    id="07.move",
    title="Turn the hands",
    level=3,
    minutes=15,
    section="7.4",
    prompt="""
`move(p, angles)` moves encodings without being given their positions. `p` has shape (..., L, D):
column 2k is the sine of hand k and column 2k + 1 its cosine. `angles` has shape (D/2,): hand k has
to turn clockwise by `angles[k]`, which is its frequency times the number of positions to move.
Return the moved encodings, of shape (..., L, D). (The (D, D) matrix of section 7.4 also works, but
takes more multiplications.)
""",
    reference=move,
    cases=move_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda p, angles: turned(p, -angles),
            "Your hands turn in the wrong direction. The pair is (sine, cosine), not (cosine, "
            "sine).",
        ),
        Mistake(
            lambda p, angles: turned(p, angles, 1, 1),
            "Both of your formulas have a plus sign. The one for the cosine needs a minus sign.",
        ),
        Mistake(
            lambda p, angles: turned(p, angles, -1, -1),
            "Both of your formulas have a minus sign. The one for the sine needs a plus sign.",
        ),
        Mistake(
            old_sine_lost,
            "Your cosines are made from the *new* sines. Both formulas need the old pair.",
        ),
        Mistake(
            halves_turned,
            "You paired column k with column k + D/2. A sine and its cosine are neighbors here.",
        ),
        Mistake(
            lambda p, angles: move(p, angles).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2),
            "The numbers are right, but all sines come before all cosines. They should alternate.",
        ),
        Mistake(
            lambda p, angles: p + angles.repeat_interleave(2),
            "You added the angle to the sine and the cosine. Add it *inside* them.",
        ),
        Mistake(
            lambda p, angles: move(p, math.pi / 2 - angles),
            "You swapped the sine and the cosine of the angle. With an angle of 0, nothing should "
            "change.",
        ),
    ),
    properties=(
        Property(
            "A rotation keeps the length of every hand. Yours does not.",
            lambda answer, case: bool(
                (answer.unflatten(-1, (-1, 2)).norm(dim=-1) - 1).abs().max() < 1e-6
            ),
        ),
    ),
    hints=(
        "The sines are `p[..., ::2]` and the cosines `p[..., 1::2]`, each of shape (..., D/2).",
        "Section 7.4 has the two addition formulas. ωt is already inside `p`; `angles` is ωφ.",
        "New sine: old sine · cos + old cosine · sin. New cosine: old cosine · cos − old sine · "
        "sin. Then `stack(..., dim=-1).flatten(-2)`.",
    ),
    others=(move_through_the_angle,),
    gradients=False,  # hands have length 1; answers may differ for other lengths
    comes_back="Rotary positions (chapter 11) turn queries and keys like this, but in the opposite "
    "direction.",
    insight="This takes two multiplications and an addition for each number, while the matrix "
    "takes D multiplications.",
)

# --- 07.experiment: position or distance? ----------------------------------------------------

Scores = Callable[[Tensor], Tensor]


def knows(scores: Scores) -> str:
    word = torch.randn(8, dtype=torch.float64)
    s = scores(word.expand(12, 8))  # the same word 12 times: differences are not due to words
    if torch.allclose(s, s[0, 0].expand(12, 12)):
        return "nothing"
    return "distance" if torch.allclose(s[1:, 1:], s[:-1, :-1]) else "position"


W_Q, W_K = draw(Generator().manual_seed(7), 2, 8, 8)
TABLE = draw(Generator().manual_seed(8), 256, 8)


def in_double(scores: Scores) -> Scores:
    """Make `scores` compute in float64, to avoid rounding errors; the result has x's dtype."""
    return lambda x: scores(x.double()).to(x.dtype)


def compared(x: Tensor, places: Tensor) -> Tensor:
    rows = x + places[: len(x)]
    return rows @ W_Q @ (rows @ W_K).T


def words(x: Tensor) -> Tensor:
    return compared(x, 0 * TABLE)


def waves(x: Tensor) -> Tensor:
    return sinusoids(torch.arange(len(x)), 8)


def shaw(x: Tensor) -> Tensor:
    nearby = TABLE[steps(len(x)).clamp(-3, 3) + 3]  # (L, L, D)
    return words(x) + torch.einsum("id,ijd->ij", x @ W_Q, nearby)


WORDS, PRODUCTS, ROWS, WAVES, PLAIN_WAVES, FIRST, LATER, NUMBERS, SHAW, BIAS, MINUS, FAR = PARTS = [
    in_double(part)
    for part in (
        words,
        lambda x: x @ x.T,
        lambda x: compared(x, TABLE),
        lambda x: compared(x, waves(x)),
        lambda x: (x + waves(x)) @ (x + waves(x)).T,
        lambda x: compared(x, TABLE * (torch.arange(256)[:, None] == 0)),
        lambda x: compared(x, TABLE * (torch.arange(256)[:, None] > 3)),
        lambda x: words(x) + TABLE[: len(x), 0] - TABLE[: len(x), :1],
        shaw,
        lambda x: words(x) + TABLE[:, 0][steps(len(x)) % 256],
        lambda x: words(x) - steps(len(x)).abs(),
        lambda x: words(x) + (steps(len(x)) > 3),
    )
]
NOTES = (
    "words alone",
    "words alone, without matrices",
    "learned rows, added to the words",
    "sinusoids, added to the words",
    "sinusoids, compared without matrices",
    "a learned row for the first position only",
    "a learned row for each position from 4 on",
    "a number for each position, the key's minus the query's",
    "Shaw's vector for each distance",
    "a number for each distance",
    "minus the distance, the same on both sides",
    "a number for distances of 4 or more",
)

EXPERIMENT = Exercise(
    id="07.experiment",
    title="Position or distance?",
    level=3,
    minutes=15,
    section="7.9",
    prompt="""
You get the part of a layer that computes its scores: `scores(x)` takes rows of your choice, `x` of
shape (L, 8) with L up to 256, and returns the (L, L) scores. What does it know about positions?
Write `knows(scores)`, which may call `scores` as often as you like. Return `"nothing"` if only the
words matter, `"distance"` if it also matters how far apart two words are (perhaps also on which
side), and `"position"` if it matters where they are. Your function is tested on twelve such parts.
""",
    reference=knows,
    cases=lambda generator: [Case((f,), note=note) for f, note in zip(PARTS, NOTES, strict=True)],
    mistakes=choices(
        knows,
        {
            (
                (WORDS, PRODUCTS),
                "position",
            ): "Only words are compared. Make them all equal, or follow each to its new position.",
            ((WORDS, PRODUCTS), "distance"): "Only words are compared. Does anything change if "
            "they are all equal?",
            ((ROWS, WAVES, PLAIN_WAVES, NUMBERS), "nothing"): "Positions change the scores. With "
            "the same word at all positions, are all scores equal?",
            ((ROWS, WAVES), "distance"): "Pairs of positions at the same distance have different "
            "scores. Do you compare such pairs?",
            (PLAIN_WAVES, "distance"): "A score between two encodings depends only on the "
            "distance, but words are also compared with encodings. Words made of zeros hide that.",
            ((FIRST, LATER), "nothing"): "Only some positions are marked. Is your sentence long "
            "enough, and do you look at its first row?",
            (FIRST, "distance"): "Only the first position is marked. Do you look at row 0?",
            (LATER, "distance"): "Only positions from 4 on are marked. Compare all scores "
            "along the diagonals.",
            (
                NUMBERS,
                "distance",
            ): "A position compared with itself gets 0 everywhere. Look next to the diagonal, too.",
            (SHAW, "nothing"): "Words made of zeros give queries of zeros, which ignore the "
            "distance. Use other words.",
            ((BIAS, MINUS, FAR), "nothing"): "The distance changes the scores. With equal words in "
            "a long sentence, are all scores equal?",
            (
                (SHAW, BIAS, MINUS, FAR),
                "position",
            ): "If two words move together, their score stays the same. Did you also change the "
            "words?",
        },
    ),
    hints=(
        "Keep the words the same while positions change. In what kind of sentence can no "
        "difference between scores come from the words?",
        "Repeat one random word twelve times. If the scores are not all equal, along which lines "
        "of the (L, L) scores is the distance the same?",
        "`torch.allclose(s[1:, 1:], s[:-1, :-1])` compares each score with the next one on its "
        "diagonal.",
    ),
    comes_back="Chapter 11 returns to a third way to encode distances: rotary positions.",
    insight="With words made of zeros, Shaw's layer would seem to know nothing. Keep fixed "
    "whatever you are not testing, but do not remove it.",
)

CHAPTER = "7. Positions"
EXERCISES = (ORDER, ENCODE, DISTANCE, REPAIR, LONGER, MOVE, EXPERIMENT)
