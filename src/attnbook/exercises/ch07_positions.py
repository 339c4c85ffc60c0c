"""Exercises of chapter 7: positional encoding."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.exercises.common_mistakes import SCORE_MISTAKES, Head, MistakeSet, scaled_scores
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw
from attnbook.positions import sinusoids

# --- 07.order: what a shuffle does -----------------------------------------------------------

SITUATIONS = ("bare", "places", "baggage", "context", "torn")


def after_shuffle(situation: str) -> str:
    return {
        "bare": "reordered",
        "places": "other",
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
Six rows go through attention; then some are shuffled and go through once more.
`after_shuffle(situation)` says what has become of the output: `"same"` (equal, row by row),
`"reordered"` (the same rows, shuffled as the words were), or `"other"` (new numbers).

| situation | what happens |
|:--|:--|
| `"bare"` | self-attention without positions, all rows are shuffled |
| `"places"` | the words are shuffled, then sinusoids are added, then self-attention |
| `"baggage"` | sinusoids are added, then the sums are shuffled, then self-attention |
| `"context"` | keys and values are shuffled, both in the same way; the queries stay |
| `"torn"` | the keys alone are shuffled; queries and values stay |
""",
    stub="""
def after_shuffle(situation):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"bare": "", "places": "", "baggage": ""}
    then = {"context": "", "torn": ""}
    return (first | then)[situation]
""",
    reference=after_shuffle,
    cases=lambda generator: [Case((s,), note=f'situation "{s}"') for s in SITUATIONS],
    mistakes=choices(
        after_shuffle,
        {
            ("bare", "same"): "The six rows are the same six, but each has followed its word "
            "to a new place. *Equivariant* is not *invariant*.",
            ("bare", "other"): "Where would a new number come from? Each row is a sum over "
            "all words, and a sum does not ask in which order its terms come.",
            ("places", "same"): "Here each word gets the encoding of its new place, and "
            "with it another row, key and value. Could the numbers stay?",
            ("places", "reordered"): "This would be so if each word kept its old encoding. "
            "It gets the one of its new place, which is what an encoding is for.",
            ("baggage", "same"): "The rows that go in have changed places, so those that "
            "come out do too.",
            ("baggage", "other"): "The encodings travel with the words. The layer sees "
            "the same six rows, whatever is in them, and attention itself is as blind as before.",
            ("context", "reordered"): "The output has one row per query, and the queries "
            "stayed where they were.",
            ("context", "other"): "Each key moved together with its value. Every query "
            "finds the same pairs, and adds them up in another order.",
            ("torn", "same"): "Each weight belongs to a key, and multiplies the value that "
            "stands in the same place. Those are no longer a pair.",
            ("torn", "reordered"): "Which row would be whose? Every query mixes values by "
            "weights that were meant for others.",
        },
    ),
    hints=(
        "An output row is a sum over pairs of weight and value. Which sum changes its terms?",
        "Ask twice each time: does the *set* of key-value pairs change? Do the *queries* move?",
        "If only the order of the pairs changes, nothing does. If the queries move, their rows "
        "move along. If pairs are torn, or rows get another encoding, there are new numbers.",
    ),
    comes_back="The last exercise of this chapter turns it into a test of layers you cannot see.",
    insight="Attention treats keys and values as a set of pairs, and queries one by one. All of "
    "section 7.1 follows from that.",
    code=False,
)

# --- 07.encode: a row of clocks --------------------------------------------------------------


def encode(length: int, d_model: int) -> Tensor:
    speed = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # (D / 2,)
    angles = torch.arange(length)[:, None] * speed  # (L, D / 2)
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
    return [Case((n, d), {"L": n, "D": d}, f"length {n}, width {d}") for n, d in sizes]


def clocks(length: int, speed: Tensor, first: int = 0) -> Tensor:
    angles = torch.arange(first, first + length)[:, None] * speed
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def speeds(d_model: int, base: float = 10000.0) -> Tensor:
    return base ** (-torch.arange(0, d_model, 2) / d_model)


def own_speed(length: int, d_model: int, count: int = 1) -> Tensor:
    speed = 10000.0 ** (-count * torch.arange(d_model) / d_model)
    angles = torch.arange(length)[:, None] * speed
    return torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())


def halves(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length)[:, None] * speeds(d_model)
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
next. Do it without a loop over positions, if you can.
""",
    stub="""
def encode(length, d_model):
    raise NotImplementedError
""",
    reference=encode,
    cases=encode_cases,
    axes="L D",
    mistakes=(
        Mistake(
            halves,
            "All sines stand before all cosines here. Many programs do so, and a head can learn "
            "from either. The formula alternates: column 2k is a sine, column 2k + 1 its cosine.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, speeds(d_model), first=1),
            "Your first row is position 1. Position 0 has a row too: sines 0, cosines 1.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, speeds(d_model) ** 0.5),
            "Your hands slow down half as fast as they should: hand k needs the exponent 2k/D, "
            "not k/D. (With `arange(0, D, 2)` the 2 is already in.)",
        ),
        Mistake(
            lambda length, d_model: clocks(length, speeds(d_model) ** 2),
            "Your hands slow down twice as fast as they should. Does `arange(0, D, 2)` count 2k, "
            "and is there another 2 in the exponent?",
        ),
        Mistake(
            own_speed,
            "Each of your columns has a speed of its own. A sine and the cosine beside it are one "
            "hand: column 2k + 1 takes the same angle as column 2k.",
        ),
        Mistake(
            lambda length, d_model: own_speed(length, d_model, count=2),
            "You put the number of the column for k. It counts hands, k = 0 … D/2 − 1, and each "
            "hand fills two columns with the same angle.",
        ),
        Mistake(
            lambda length, d_model: (
                clocks(length, speeds(d_model)).unflatten(-1, (-1, 2)).flip(-1).flatten(1)
            ),
            "Your cosines stand before your sines. Row 0 has to begin 0, 1.",
        ),
        Mistake(
            lambda length, d_model: (
                torch.arange(length)[:, None] * speeds(d_model).repeat_interleave(2)
            ).sin(),
            "Every column is a sine here. A sine alone cannot be turned by a matrix; the odd "
            "columns are cosines.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, 1 / speeds(d_model)),
            "Your hands get faster from left to right. The exponent is negative: divide by "
            "10000^(2k/D).",
        ),
        Mistake(
            lambda length, d_model: clocks(length, speeds(d_model) * math.pi / 180),
            "You took the angles for degrees. One step turns the first hand by one *radian*, "
            "which is what `sin` takes.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, speeds(d_model, 1000.0)),
            "Your base is 1000. The paper's is 10000.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, one_pair_short(d_model)),
            "You divide by the last index, D/2 − 1, so that the slowest hand turns by 1/10000. "
            "The formula divides by D: its slowest hand is a little faster.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, torch.ones(d_model // 2)),
            "All your hands turn by one radian a step. Is there a `//` in the exponent? It throws "
            "the fraction away, and 2k/D is one.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, speeds(d_model) / 10000 ** (2 / d_model)),
            "Your hands are counted from 1. The first is k = 0: it turns by one radian a step.",
        ),
        Mistake(
            lambda length, d_model: clocks(length, 10000.0 ** -torch.arange(0.0, d_model, 2)),
            "Your hands stand still from the second on: the exponent is 2k/D, and yours was not "
            "divided by D.",
        ),
        Mistake(
            lambda length, d_model: encode(length, d_model).T,
            "Yours has the positions in the columns. One row is one position.",
        ),
    ),
    properties=(
        Property(
            "Each sine and its cosine make a hand of length 1, and yours do not.",
            lambda answer, case: bool(
                (answer.unflatten(-1, (-1, 2)).norm(dim=-1) - 1).abs().max() < 1e-4
            ),
        ),
    ),
    hints=(
        "Make two lists first: the positions, (L,), and the speeds, (D/2,). Every angle is a "
        "product of one from each.",
        "`torch.arange(length)[:, None] * speed` is (L, D/2). Take its sine and its cosine.",
        "`torch.stack((sines, cosines), dim=-1)` is (L, D/2, 2); `.flatten(1)` makes them "
        "alternate.",
    ),
    others=(encode_by_loops,),
    comes_back="Section 7.4 turns these hands; in chapter 11 queries and keys become hands.",
    insight="Nothing in it depends on the words, or on the length: row 40 is the same in a text "
    "of 41 words as in a book.",
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
Shaw's table has 2 · max_distance + 1 rows: row 0 for the distance −max_distance, the last for
+max_distance. Write `table_rows(length, max_distance)`: for each query i and key j the row of the
table that belongs to the distance j − i, clipped to ±max_distance. The answer has shape (L, L) and
holds whole numbers (`torch.long`).
""",
    stub="""
def table_rows(length, max_distance):
    raise NotImplementedError
""",
    reference=table_rows,
    cases=distance_cases,
    axes="L L",
    mistakes=(
        Mistake(
            lambda length, far: steps(length).T.clamp(-far, far) + far,
            "You took i − j: before and after have changed places. A key to the left of its query "
            "has a negative distance here, j − i.",
        ),
        Mistake(
            lambda length, far: steps(length) + far,
            "Far keys get rows that the table does not have. Clip the distance first. (A row "
            "below 0 would not even raise: PyTorch counts it from the end.)",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far),
            "These are the clipped distances, and some are negative. PyTorch would count those "
            "from the *end* of the table. Row 0 belongs to −max_distance.",
        ),
        Mistake(
            lambda length, far: steps(length).abs().clamp(max=far),
            "You took the distance without its sign, so that left and right share a row. The "
            "table has rows for both sides.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(-far, far),
            "You moved first and clipped to ±max_distance afterwards, as if the distances still "
            "were between those. Clip first, or clip to what the rows may be.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(max=far) + far,
            "You clipped distances that are too large, and not those that are too small: far keys "
            "on the left get negative rows. Clip on both sides.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(min=-far) + far,
            "You clipped distances that are too small, and not those that are too large: far keys "
            "on the right get rows that the table does not have. Clip on both sides.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far) + length - 1,
            "You moved by length − 1. The rows must not depend on how long the sentence is: "
            "distance 0 is in the middle of the table.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far) + length // 2,
            "You moved by half the length. The middle of the table is row max_distance, however "
            "long the sentence is.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far).clamp(min=0).clamp(max=max(2 * far - 1, 0)),
            "Your last row is 2 · max_distance − 1. The table has a row for the distance 0, too: "
            "they are numbered 0 … 2 · max_distance.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far) % (2 * far + 1),
            "You wrapped the rows around, so that a far key on the right gets a row of the left. "
            "Clipping gives all far keys the outermost row of their side.",
        ),
        Mistake(
            lambda length, far: (steps(length) + far) * (steps(length).abs() <= far),
            "All far keys got row 0, also those on the right. Clipped, they keep their side: to "
            "−max_distance or to +max_distance.",
        ),
        Mistake(
            lambda length, far: steps(length).clamp(-far, far) + far + 1,
            "Your rows count from 1: the last one does not exist.",
        ),
        Mistake(
            lambda length, far: (torch.arange(length).clamp(max=far) + far).expand(length, length),
            "All your rows are equal: this is the place of the key. A distance also asks where "
            "the query stands.",
        ),
        Mistake(
            lambda length, far: steps(length) % (2 * far + 1),
            "You wrapped the distances around, so that a far key shares its row with a near one, "
            "and the distance 0 has row 0. Clip them, then move them up.",
        ),
    ),
    hints=(
        "`torch.arange(length)` twice, once lying and once standing: their difference is (L, L).",
        "`clamp(-max_distance, max_distance)` clips. What has to be added so that the smallest "
        "becomes 0?",
        "`(here - here[:, None]).clamp(-max_distance, max_distance) + max_distance`.",
    ),
    others=(table_rows_moved_first,),
    comes_back="Section 7.12 puts Shaw's table to the test: four times the length of training.",
    insight="The matrix for a long sentence contains that for a short one. This alone does not "
    "make a model carry on to longer texts: the sinusoids for 48 places contain those for 12, too, "
    "and fail in section 7.12.",
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


def after_projection(x: Tensor, table: Tensor, w_q: Tensor, w_k: Tensor) -> Tensor:
    places = table[: x.size(-2)]
    query, key = x @ w_q + places, x @ w_k + places
    return query @ key.mT / math.sqrt(query.size(-1))


REPAIR = Exercise(
    id="07.repair",
    title="Three faults in three lines",
    level=2,
    minutes=10,
    section="7.8",
    prompt="""
These three lines should add learned positions to the rows, project them, and compare. On a single
sentence they run, and the shape is right. Each line holds one fault: repair them. `x` is (B, L, D);
`table` is (N, D), its row t is the encoding of position t, and N is at least L; `w_q` and `w_k` are
(D, Dk); the answer is (B, L, L).
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
            "All three faults are still there. Start with the first line: what is `len(x)` when "
            "`x` is (B, L, D)?",
        ),
        Mistake(
            faulty(by_batch, of_words),
            "The scale is right now. In the first line ask what `len(x)` is, in the second whose "
            "places the keys know.",
        ),
        Mistake(
            faulty(by_batch, by_d=True),
            "Keys and queries both know their place now. In the first line ask what `len(x)` is, "
            "in the last over which width the dot product adds up.",
        ),
        Mistake(
            faulty(key_of=of_words, by_d=True),
            "Every word gets its own place now. But the keys are still made from words without "
            "places, and the root is of another width than the dot product's.",
        ),
        Mistake(
            faulty(by_batch),
            "`len(x)` is B, the number of sentences, not of words. With one sentence all words get "
            "the row of position 0, and nothing is raised. The places run along axis −2.",
        ),
        Mistake(
            faulty(key_of=of_words),
            "The queries know where they stand and the keys do not. No query can ask for a place "
            "that no key has.",
        ),
        Mistake(
            faulty(by_d=True),
            "The last line still divides by √D. Queries and keys are Dk wide, so their dot "
            "products add up over Dk.",
        ),
        Mistake(
            lambda x, table, w_q, w_k: (
                (x @ w_q) @ ((x + table[: x.size(-2)]) @ w_k).mT / math.sqrt(w_q.size(-1))
            ),
            "Now the keys know their places and the queries do not. Both are made from the same "
            "rows.",
        ),
        Mistake(
            faulty(lambda x, table: x + table[:1]),
            "Every word gets row 0 of the table. Each has a place of its own: as many rows as "
            "there are words.",
        ),
        Mistake(
            lambda x, table, w_q, w_k: (
                placed_scores(x, 0 * table, w_q, w_k) + placed_scores(0 * x, table, w_q, w_k)
            ),
            "Words met words here, and places met places. In a product of sums each meets each: a "
            "word also asks for a place, and a place for a word (section 7.10).",
        ),
        Mistake(
            lambda x, table, w_q, w_k: placed_scores(x, table, w_q, w_k).softmax(-1),
            "These are weights. The three lines end with the scores: no softmax is asked for.",
        ),
        Mistake(
            faulty(lambda x, table: x + table[1 : x.size(-2) + 1]),
            "Your first word gets row 1 of the table. Row 0 is the encoding of position 0.",
        ),
        Mistake(
            faulty(lambda x, table: x + table[-x.size(-2) :]),
            "You took the last rows of the table. The first word stands at position 0.",
        ),
        Mistake(
            after_projection,
            "You added the places after the projection. There the rows are Dk wide and the places "
            "D, and W_Q and W_K could not turn them: add them to the rows before.",
        ),
        Mistake(
            faulty(lambda x, table: x),
            "These are the scores of the words alone. Where do the places come in?",
        ),
    ),
    hints=(
        "Write the shape of each thing. `table[: n]` is (n, D); which n fits under (B, L, D)?",
        "Queries and keys are made from the *same* rows, and the root is of the width in which "
        "they meet.",
        "`x.size(-2)`, `rows @ w_k`, `query.size(-1)`.",
    ),
    common_mistakes=MistakeSet(
        lambda head: faulty(head=head),
        SCORE_MISTAKES,
        widths={"N": lambda x, table, w_q, w_k: len(table)},
    ),
    others=(placed_scores_in_four_terms,),
    comes_back="Chapter 8 adds the places to its rows in this first line.",
    insight="`len(x)` works for a sentence without a batch. With a batch of one it is wrong in "
    "silence, with two it raises: test with sizes that all differ.",
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
Somebody claims: *with my encoding a model reads longer texts than it was trained on.* Five
experiments are proposed. `verdict(experiment)` says of each `"fair"` (it can show or refute the
claim), `"order"` (the task can be done without order), `"seen"` (the length of the test occurs in
training), or `"length"` (the model never reads more than in training). A word may come up twice.

| | training | test |
|:--|:--|:--|
| `"A"` | 12 cards; name the highest card of the deal | 48 cards, five seeds |
| `"B"` | 12 cards; name the card two before | 48 cards, counted at positions 12 to 47, five seeds |
| `"C"` | 3 to 48 cards; name the card two before | 500 new deals of 48 cards |
| `"D"` | 12 cards; name the card two before | 500 new deals of 12 cards |
| `"E"` | 12 cards; name the card two before | 48 cards, in four pieces that are read one by one |
""",
    stub="""
def verdict(experiment):
    raise NotImplementedError  # fill in the answers, then delete this line
    return {"A": "", "B": "", "C": "", "D": "", "E": ""}[experiment]
""",
    reference=verdict,
    cases=lambda generator: [Case((e,), note=f"experiment {e}") for e in EXPERIMENTS],
    mistakes=choices(
        verdict,
        {
            ("A", "fair"): "A model without any positions would pass. The highest card is the "
            "same in every order.",
            ("A", "length"): "48 cards are longer than 12. But does one have to know where they "
            "stand?",
            ("A", "seen"): "No deal of 48 was trained on. The fault is in the task.",
            ("B", "order"): "The card two before it is another one in each order. No model "
            "without positions can name it.",
            ("B", "length"): "Trained on 12, tested on 48, and counted where only the test "
            "goes: beyond position 11.",
            ("B", "seen"): "New deals, longer than any in training, and five starts. Nothing of "
            "it was seen.",
            ("C", "fair"): "The model was trained on all lengths up to 48, the one it is tested "
            "on.",
            ("C", "order"): "The task needs the order. But what was new to the model?",
            ("C", "length"): "The test is longer than *some* deals of training. The trouble is "
            "that others were as long as the test.",
            ("D", "fair"): "New deals, but of the old length. This shows that nothing was "
            "memorized.",
            ("D", "order"): "The task needs the order. Compare the lengths.",
            ("D", "seen"): "The 500 deals are new, so they were not seen. But are they longer "
            "than those of training?",
            ("E", "fair"): "The deal has 48 cards, but how many stand in a row that the model "
            "reads at once?",
            ("E", "order"): "The task needs the order. Count how many cards the model reads at "
            "once.",
            ("E", "seen"): "These deals are new. But each piece the model reads is as long as "
            "what it knows.",
        },
    ),
    hints=(
        "For each, ask three questions: must one know the order? Is the test longer than anything "
        "in training? Does the model read it in one piece?",
        "Shuffle the cards in your head. In one of the tasks the right answer stays what it was.",
        "One experiment passes all three questions. One fails by its task, one by its training, "
        "and two by what the model reads at once.",
    ),
    comes_back="Chapter 12 asks the same about what single heads seem to do.",
    insight="A good score is evidence only if a model that lacks the ability would have missed "
    "it. Name that model first.",
    code=False,
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
        names = ("A", "B", "L", "D")[-len(sizes) :]
        drawn = (p, by * draw(generator, sizes[-1] // 2))
        return Case(drawn, dict(zip(names, sizes, strict=True)), note)

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
`move(p, angles)` moves encodings without knowing their positions. `p` has shape (..., L, D): column
2k is the sine of hand k and column 2k + 1 its cosine. `angles` has shape (D/2,): hand k has to turn
clockwise by `angles[k]`, which is its speed times the number of positions to move. Return the
moved encodings, shape (..., L, D). (The (D, D) matrix of section 7.4 does it; it can be done with
less.)
""",
    stub="""
def move(p, angles):
    raise NotImplementedError
""",
    reference=move,
    cases=move_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda p, angles: turned(p, -angles),
            "Your hands turn the other way: this is the transposed matrix, M(−φ). It happens if "
            "one takes the pair for (cosine, sine), or the school formula of a rotation.",
        ),
        Mistake(
            lambda p, angles: turned(p, angles, 1, 1),
            "Both of your formulas have a plus. The cosine of a sum has a minus: as the sine "
            "grows, the cosine has to shrink.",
        ),
        Mistake(
            lambda p, angles: turned(p, angles, -1, -1),
            "Both of your formulas have a minus. The sine of a sum has a plus.",
        ),
        Mistake(
            old_sine_lost,
            "Your cosines are made from the *new* sines: the name was written over one line too "
            "early. Both formulas take the old pair.",
        ),
        Mistake(
            halves_turned,
            "You paired column k with column k + D/2. Here a sine and its cosine are neighbors: "
            "`p[..., ::2]` and `p[..., 1::2]`. (Some models do store halves; then both the "
            "encoding and the turn must.)",
        ),
        Mistake(
            lambda p, angles: move(p, angles).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2),
            "The numbers are right, in another order: you put all sines before all cosines. They "
            "came alternating, and the rest of the model expects them so.",
        ),
        Mistake(
            lambda p, angles: move(p, angles[:1].expand_as(angles)),
            "All your hands turn by the first angle. Each has a speed of its own.",
        ),
        Mistake(
            lambda p, angles: p + angles.repeat_interleave(2),
            "You added the angle to the sine and the cosine themselves. It is the angle *inside* "
            "them that grows.",
        ),
        Mistake(
            lambda p, angles: move_through_the_angle(
                torch.stack((p[..., ::2], p[..., 1::2].abs()), dim=-1).flatten(-2), angles
            ),
            "You took the angle from the sine alone. A sine of 0.5 is ten past or twenty past: the "
            "sign of the cosine says which. Both numbers of a hand are needed.",
        ),
        Mistake(
            lambda p, angles: move(p, math.pi / 2 - angles),
            "The sine and the cosine of the angle have changed places. With an angle of 0 nothing "
            "may move: what multiplies the old sine is the cosine, 1.",
        ),
        Mistake(
            lambda p, angles: move(p, angles * math.pi / 180),
            "You took the angles for degrees. They are radians, as `sin` and `cos` want them.",
        ),
    ),
    properties=(
        Property(
            "A turn keeps every hand's length, and yours does not.",
            lambda answer, case: bool(
                (answer.unflatten(-1, (-1, 2)).norm(dim=-1) - 1).abs().max() < 1e-6
            ),
        ),
    ),
    hints=(
        "Take `p` apart: the sines are `p[..., ::2]`, the cosines `p[..., 1::2]`, each (..., D/2).",
        "Section 7.4 has the two addition formulas. ωt is already inside `p`; `angles` is ωφ.",
        "New sine: old sine · cos + old cosine · sin. New cosine: old cosine · cos − old sine · "
        "sin. Then `stack(..., dim=-1).flatten(-2)`.",
    ),
    others=(move_through_the_angle,),
    gradients=False,  # hands are one long: what happens to longer ones is nobody's business
    comes_back="Rotary positions (chapter 11) turn queries and keys so, the other way round.",
    insight="Two products and a sum for each number, where the matrix would take D.",
)

# --- 07.experiment: place or distance? -------------------------------------------------------

Scores = Callable[[Tensor], Tensor]


def knows(scores: Scores) -> str:
    word = torch.randn(8, dtype=torch.float64)
    s = scores(word.expand(12, 8))  # one word, twelve times: what differs is not the words
    if torch.allclose(s, s[0, 0].expand(12, 12)):
        return "nothing"
    return "distance" if torch.allclose(s[1:, 1:], s[:-1, :-1]) else "place"


W_Q, W_K = draw(Generator().manual_seed(7), 2, 8, 8)
TABLE = draw(Generator().manual_seed(8), 256, 8)
FIRST = TABLE * (torch.arange(256)[:, None] == 0)
LATER = TABLE * (torch.arange(256)[:, None] > 3)


def compared(x: Tensor, places: Tensor) -> Tensor:
    rows = x.double() + places[: len(x)]
    return rows @ W_Q @ (rows @ W_K).T


def waves(x: Tensor) -> Tensor:
    return sinusoids(torch.arange(len(x)), 8)


def shaw(x: Tensor) -> Tensor:
    nearby = TABLE[steps(len(x)).clamp(-3, 3) + 3]  # (L, L, D)
    return compared(x, 0 * TABLE) + torch.einsum("id,ijd->ij", x.double() @ W_Q, nearby)


PARTS: dict[str, Scores] = {
    "words alone": lambda x: compared(x, 0 * TABLE),
    "words alone, without matrices": lambda x: x @ x.T,
    "learned rows, added to the words": lambda x: compared(x, TABLE),
    "sinusoids, added to the words": lambda x: compared(x, waves(x)),
    "sinusoids, compared without matrices": lambda x: (x + waves(x)) @ (x + waves(x)).T,
    "a learned row for the first place alone": lambda x: compared(x, FIRST),
    "a learned row for each place from 4 on": lambda x: compared(x, LATER),
    "a number for each place, the key's minus the query's": lambda x: (
        compared(x, 0 * TABLE) + TABLE[: len(x), 0] - TABLE[: len(x), :1]
    ),
    "Shaw's vector for each distance": shaw,
    "a number for each distance": lambda x: (
        compared(x, 0 * TABLE) + TABLE[:, 0][steps(len(x)) % 256]
    ),
    "minus the distance, left as right": lambda x: compared(x, 0 * TABLE) - steps(len(x)).abs(),
    "a number for distances from 4 on": lambda x: compared(x, 0 * TABLE) + (steps(len(x)) > 3),
}
NO_PLACE = "Nothing but words is compared here. If your numbers differ, so did the words: let them "
FOUND: dict[tuple[str, str], str] = {
    ("words alone", "place"): NO_PLACE + "all be equal, or follow each to its new place.",
    ("words alone", "distance"): NO_PLACE + "be the same wherever you compare two scores.",
    ("words alone, without matrices", "place"): "Each word is compared with each, wherever they "
    "stand. A word that moves takes its scores along: row and column.",
    ("words alone, without matrices", "distance"): "Each word is compared with each, however far "
    "apart they stand. Does anything change if all words are equal?",
    ("learned rows, added to the words", "nothing"): "Each place adds a row of its own here. Move "
    "a word, and its scores change: did your experiment move one?",
    ("learned rows, added to the words", "distance"): "Each place has a row of its own, and two "
    "pairs of places at one distance have different scores. Did you compare two such pairs?",
    ("sinusoids, added to the words", "nothing"): "Sinusoids are added here. With equal words in "
    "all places, do all scores stay equal?",
    ("sinusoids, added to the words", "distance"): "Encodings are added to the words and go "
    "through W_Q and W_K with them. Move a pair of words along: the distance stays, the scores "
    "change.",
    ("sinusoids, compared without matrices", "nothing"): "Rows of clocks are added "
    "here, and compared as they are. With one word in all places, are all scores equal?",
    ("sinusoids, compared without matrices", "distance"): "Encodings compared with encodings know "
    "the distance alone (section 7.5). But words are compared with encodings, too: you cannot see "
    "that with words of zeros.",
    ("a learned row for the first place alone", "nothing"): "Only the first place is marked here. "
    "Whoever leaves the first word where it is, or does not look at it, cannot notice.",
    ("a learned row for the first place alone", "distance"): "Only the first place is marked here, "
    "so pairs that begin there differ from pairs as far apart elsewhere. Look at row 0, too.",
    ("a learned row for each place from 4 on", "nothing"): "The first four places are not marked "
    "here, the others are. Was your sentence long enough to show it?",
    ("a learned row for each place from 4 on", "distance"): "The first four places are not marked "
    "here, the others are. One pair of scores at the beginning says nothing: compare all along "
    "the diagonals.",
    ("a number for each place, the key's minus the query's", "nothing"): "Each place has a number "
    "here. With one word in all places, are all scores equal?",
    ("a number for each place, the key's minus the query's", "distance"): "Each place has a number "
    "here, and the query's is taken from the key's. A place with itself gives 0 everywhere: look "
    "beside the diagonal, too.",
    ("Shaw's vector for each distance", "nothing"): "Here a query meets a vector for the distance. "
    "Words of zeros make queries of zeros, and those ask for no distance.",
    ("Shaw's vector for each distance", "place"): "Move two words along together, and their score "
    "stays. What your experiment saw change were the words, or what is near.",
    ("a number for each distance", "nothing"): "Each distance adds a number here. With equal "
    "words in all places, do all scores stay equal?",
    ("a number for each distance", "place"): "Each distance adds its number, wherever the two "
    "words stand. Compare two pairs of equal words at one distance, at different places.",
    ("minus the distance, left as right", "nothing"): "Here the distance itself is subtracted. If "
    "you turn a sentence around, all distances stay: try other orders.",
    ("minus the distance, left as right", "place"): "The distance is subtracted, the place has no "
    "say: move two words along together.",
    ("a number for distances from 4 on", "nothing"): "Words nearer than four places are compared "
    "by themselves alone here. Was your sentence long enough?",
    ("a number for distances from 4 on", "place"): "Far words get a number more, however far and "
    "wherever. Compare two pairs of equal words at one distance, at different places.",
}

EXPERIMENT = Exercise(
    id="07.experiment",
    title="Place or distance?",
    level=3,
    minutes=15,
    section="7.9",
    prompt="""
A layer came without a description. You get the part of it that makes scores: `scores(x)` takes rows
of your own making, `x` of shape (L, 8), L at most 256, and returns the (L, L) scores. What does it
know of where the words stand? Write `knows(scores)`: call it as often as you like and return
`"nothing"` if only the words count, `"distance"` if it also counts how far apart two words stand
(and perhaps on which side), but not where, and `"place"` if it counts where they stand. Twelve such
parts come.
""",
    stub="""
def knows(scores):
    raise NotImplementedError
""",
    reference=knows,
    cases=lambda generator: [Case((f,), note=name) for name, f in PARTS.items()],
    mistakes=choices(knows, {(PARTS[name], said): tells for (name, said), tells in FOUND.items()}),
    hints=(
        "Keep the words still while you change places. What is the simplest sentence in which no "
        "score can differ because of its words?",
        "Twelve times the same random word. If all scores are equal, nothing is known. If not: on "
        "which lines through the (L, L) scores is the distance the same?",
        "`torch.allclose(s[1:, 1:], s[:-1, :-1])` asks whether each score equals the one a step "
        "further along the diagonal.",
    ),
    comes_back="Chapter 11 adds a third way to know the distance: rotary positions.",
    insight="With words of zeros, Shaw's layer would have seemed to know nothing, and sinusoids "
    "compared without matrices to know distances only. Hold still what you do not ask about, but "
    "do not take it away.",
    code=False,
)

CHAPTER = "7. Positions"
EXERCISES = (ORDER, ENCODE, DISTANCE, REPAIR, LONGER, MOVE, EXPERIMENT)
