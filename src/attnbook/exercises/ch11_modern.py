"""Exercises of chapter 11: from the Transformer to today's language models."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention import scaled_dot_product_attention
from attnbook.exercises.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    Head,
    MistakeSet,
)
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw, some_sizes
from attnbook.masks import sink_mask
from attnbook.positions import sinusoids
from attnbook.rotary import apply_rotary

# --- 11.kept: what a window with sinks keeps -------------------------------------------------


def kept(length: int, window: int, n_sinks: int) -> list[int]:
    return [j for j in range(length) if j < n_sinks or j >= length - window]


def kept_in_two_parts(length: int, window: int, n_sinks: int) -> list[int]:
    newest = range(max(length - window, 0), length)
    return [*range(min(n_sinks, newest.start)), *newest]


def kept_cases(generator: Generator) -> list[Case]:
    asked = (
        (10, 4, 2),
        (9, 3, 0),
        (12, 1, 3),
        (7, 5, 4),
        (3, 5, 2),
        (1, 2, 1),
        (20, 6, 5),
        (2, 4, 3),
    )
    return [Case((n, w, s), {"L": n}, f"{n} words, window {w}, {s} sinks") for n, w, s in asked]


KEPT = Exercise(
    id="11.kept",
    title="What a window with sinks keeps",
    level=1,
    minutes=5,
    section="11.10",
    prompt="""
A text has `length` words, numbered from 0, and the last of them is about to look back. Its layer
has a window with sinks: it sees the last `window` words, itself included, and the first `n_sinks`
words of the text. Write `kept(length, window, n_sinks)`: the list of the words that it sees, in the
order of the text, each once.
""",
    stub="""
def kept(length, window, n_sinks):
    raise NotImplementedError
""",
    reference=kept,
    cases=kept_cases,
    mistakes=(
        Mistake(
            lambda n, w, s: [*range(s), *range(n - w, n)],
            "Right as long as sinks and window do not meet. In a short text they overlap, and a "
            "number below 0 names no word: each word stands there once.",
        ),
        Mistake(
            lambda n, w, s: [*range(s), *range(max(n - w, 0), n)],
            "In a short text the sinks lie inside the window, and some words stand there twice.",
        ),
        Mistake(
            lambda n, w, s: [*range(s), *range(max(s, n - w), n)],
            "Right unless the text is shorter than `n_sinks`. Then all of its words are first "
            "words, and the last of them is number length − 1.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w - s, s) if w > s else kept(n, 0, s),
            "You counted the sinks as part of the window. They come on top: the last `window` "
            "words are seen, whatever comes before.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w + 1, s),
            "Off by one: a word too many. The window counts the newest word as well, so it begins "
            "at length − window.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w - 1, s),
            "Off by one: the window is a word too short. It begins at length − window, and that "
            "word belongs to it.",
        ),
        Mistake(
            lambda n, w, s: [j for j in kept(n, w, s) if j != n - 1],
            "The last word itself is missing. It is part of its window.",
        ),
        Mistake(
            lambda n, w, s: [j for j in kept(n, w + 1, s) if j != n - 1],
            "This is the window of a word yet to come, and without it. The last word looks, and it "
            "is the first of those that its window counts.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w + s, s),
            "You made the window longer by the sinks. They are other words, the first ones: the "
            "window stays as it is.",
        ),
        Mistake(
            lambda n, w, s: list(range(max(n - w - s, 0), n)),
            "These are the last words, as many as are kept. The sinks are the *first* words of the "
            "text, however far back.",
        ),
        Mistake(
            lambda n, w, s: sorted({*range(s), *range(n - w, n)}),
            "In a short text the window reaches back beyond the beginning: a number below 0 names "
            "no word.",
        ),
        Mistake(
            lambda n, w, s: [*range(max(n - w, 0), n), *range(min(s, max(n - w, 0)))],
            "The sinks stand behind the window. In the order of the text they come first.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w, 0),
            "The sinks are missing: the first words stay in sight, however long the text.",
        ),
        Mistake(
            lambda n, w, s: [*range(min(s, n))],
            "The window is missing: these are the sinks alone.",
        ),
        Mistake(
            lambda n, w, s: [j for j in range(n) if j not in kept(n, w, s)],
            "These are the words that are *forgotten*.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w, s)[::-1],
            "The right words, in the opposite order: the text begins with word 0.",
        ),
        Mistake(
            lambda n, w, s: [j + 1 for j in kept(n, w, s)],
            "You numbered the words from 1. The first is word 0.",
        ),
        Mistake(
            lambda n, w, s: [j for j in range(n) if j < w or j >= n - s],
            "Window and sinks have changed places: the *first* words are the sinks, the *last* "
            "ones the window.",
        ),
        Mistake(
            lambda n, w, s: [j for j in range(n) if j < s and j >= n - w],
            "You asked for words that are both, a sink and in the window. One of the two is "
            "enough: `or`.",
        ),
        Mistake(
            lambda n, w, s: [j for j in range(n) if j <= s or j >= n - w],
            "A sink too many: the first `n_sinks` words are numbered 0 … n_sinks − 1.",
        ),
        Mistake(
            lambda n, w, s: [j < s or j >= n - w for j in range(n)],
            "This is the row of the mask. Asked for are the numbers of the words at which it is "
            "True.",
        ),
        Mistake(
            lambda n, w, s: len(kept(n, w, s)),
            "This is how many there are. Asked for is which.",
        ),
        Mistake(
            lambda n, w, s: list(range(min(n, w + s))),
            "These are the first words of the text, as many as are kept. The window moves along "
            "with the text: it holds the last ones.",
        ),
    ),
    properties=(
        Property(
            "A number below 0, or `length` and more, names no word: a short text has no words "
            "before its first.",
            lambda answer, case: set(answer) <= set(range(case.arguments[0])),
        ),
        Property(
            "Some words stand in your list twice: where sinks and window meet, a word is both.",
            lambda answer, case: len(set(answer)) == len(answer),
        ),
    ),
    hints=(
        "Two conditions on the number j of a word, and one of them is enough.",
        "A sink: j < n_sinks. In the window: how far back may j lie, if the last word is number "
        "length − 1?",
        "`[j for j in range(length) if ... or ...]`: so each comes once, whatever overlaps.",
    ),
    insight="However long the text, the list never has more than window + n_sinks words: that is "
    "why such a model can read for ever in the same memory.",
    comes_back="In 11.experiment you recognize such a layer from outside.",
    others=(kept_in_two_parts,),
)

# --- 11.bytes: what a cache weighs -----------------------------------------------------------


def cache_bytes(
    n_layers: int, d_model: int, n_heads: int, n_kv_heads: int, length: int, n_bytes: int
) -> int:
    numbers = n_kv_heads * (d_model // n_heads)  # of one word's keys in one layer
    return 2 * n_layers * length * numbers * n_bytes


def bytes_of_tensors(
    n_layers: int, d_model: int, n_heads: int, n_kv_heads: int, length: int, n_bytes: int
) -> int:
    keys = torch.empty(n_layers, n_kv_heads, length, d_model // n_heads, device="meta")
    return n_bytes * (keys.numel() + keys.numel())


LLAMA = 32, 4096, 32, 8


def bytes_cases(generator: Generator) -> list[Case]:
    def case(note: str, *a: int) -> Case:
        sizes = dict(
            zip(a[4::-1], ("L", "G", "H", "D", "N"), strict=True)
        )  # of equal ones the last
        return Case(a, {name: size for size, name in sizes.items()}, note)

    return [
        case("3 layers of width 60, 10 heads, 5 key heads, 7 words, 4 bytes", 3, 60, 10, 5, 7, 4),
        case("6 layers of width 40, 8 heads, 1 key head, 11 words, 2 bytes", 6, 40, 8, 1, 11, 2),
        case("5 layers of width 72, 6 heads, 6 key heads, 13 words, 1 byte", 5, 72, 6, 6, 13, 1),
        case("32 layers of 4096, 32 heads, 8 key heads, 8192 words, 2 bytes", *LLAMA, 8192, 2),
    ]


def weighed(
    numbers: Callable[[int, int, int], int] = lambda d, h, g: g * (d // h),
    rest: Callable[[int, int, int], int] = lambda n, length, size: 2 * n * length * size,
) -> Callable[[int, int, int, int, int, int], int]:
    """A cache's bytes, with a mistake in the numbers of a word or in what multiplies them."""
    return lambda n, d, h, g, length, size: numbers(d, h, g) * rest(n, length, size)


BYTES = Exercise(
    id="11.bytes",
    title="What a cache weighs",
    level=1,
    minutes=6,
    section="11.4",
    prompt="""
Write `cache_bytes(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes)`: how many bytes the
cache of a language model holds after `length` words of one text. The model has `n_layers` layers;
in each, `n_heads` query heads share `n_kv_heads` heads of keys and values. In this model a head is
d_model / n_heads wide, and a number takes `n_bytes` bytes. Answer with a whole number.
""",
    stub="""
def cache_bytes(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes):
    raise NotImplementedError
""",
    reference=cache_bytes,
    cases=bytes_cases,
    mistakes=(
        Mistake(
            weighed(rest=lambda n, length, size: n * length * size),
            "Half of it. The keys are there, or the values; the cache needs both.",
        ),
        Mistake(
            weighed(lambda d, h, g: d),
            "You gave each query head keys and values of its own. `n_kv_heads` heads are kept, "
            "each d_model / n_heads wide. (d_model / n_kv_heads is not the width of a head.)",
        ),
        Mistake(
            weighed(lambda d, h, g: g * d),
            "You gave each key head the width of the model. Here a head is d_model / n_heads wide.",
        ),
        Mistake(
            weighed(lambda d, h, g: d // h),
            "That is one key head. There are `n_kv_heads` of them.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: 2 * length * size),
            "That is one layer. Each layer has keys and values of its own.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: 2 * n * size),
            "That is what one word adds. There are `length` of them.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: 2 * n * length),
            "You counted numbers. Each takes `n_bytes` bytes.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: 3 * n * length * size),
            "Three times: queries are not kept. Nobody will ask with an old query again.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: 2 * n * length * length * size),
            "`length` came in twice. A cache grows by the same for each word; it is the map of "
            "weights that grows with the square, and that is not kept.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: 16 * n * length * size),
            "These are bits: eight for each byte. `n_bytes` counts bytes already.",
        ),
        Mistake(
            lambda n, d, h, g, length, size: 2 * n * length * size * (d // h) * (h // g),
            "A word's keys have d_model / n_kv_heads numbers in yours (the width of a head times "
            "n_heads / n_kv_heads is the same). What is kept are `n_kv_heads` heads, each "
            "d_model / n_heads wide.",
        ),
        Mistake(
            weighed(lambda d, h, g: h * (d // h) + g * (d // h), lambda n, m, b: n * m * b),
            "Keys were counted for all query heads, values for the shared ones, or the other way "
            "round. Both are shared.",
        ),
        Mistake(
            weighed(lambda d, h, g: d + 2 * g * (d // h), lambda n, m, b: n * m * b),
            "The queries are in it as well. Nobody will ask with an old query again: keys and "
            "values only.",
        ),
        Mistake(
            weighed(lambda d, h, g: d, lambda n, length, size: n * length * size),
            "Two things. Keys and values are both kept; and of the n_heads heads only `n_kv_heads` "
            "have any.",
        ),
        Mistake(
            weighed(lambda d, h, g: h * g),
            "How wide is a head? d_model / n_heads numbers for each of the `n_kv_heads` key heads.",
        ),
        Mistake(
            weighed(lambda d, h, g: g),
            "You counted heads. Each has d_model / n_heads numbers.",
        ),
        Mistake(
            weighed(lambda d, h, g: d * (h // g)),
            "You multiplied by n_heads / n_kv_heads. Sharing makes the cache smaller: full width, "
            "divided by that.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: 2 * n * (length - 1) * size),
            "One word is missing. The newest one's keys and values are kept as well: the next will "
            "look at them.",
        ),
        Mistake(
            lambda n, d, h, g, length, size: n * g * length * length * size,
            "These are maps of weights, length × length. They are made anew for each word, and not "
            "kept: what is kept are keys and values.",
        ),
        Mistake(
            weighed(lambda d, h, g: d // (h * g)),
            "You divided by the number of key heads. More of them need more room, not less.",
        ),
        Mistake(
            weighed(rest=lambda n, length, size: (2 + n) * length * size),
            "The two for keys and values was added where it multiplies: each layer keeps both.",
        ),
        Mistake(
            lambda n, d, h, g, length, size: (
                n * size * (2 * length * g * (d // h) + h * length * length)
            ),
            "The weights are in it as well. They are made anew for each word, and not kept.",
        ),
    ),
    hints=(
        "Count for one word in one layer first: how many numbers are its keys?",
        "A key head has d_model / n_heads numbers. As many again are its values. Then layers, "
        "words, bytes.",
        "`2 * n_layers * length * n_kv_heads * (d_model // n_heads) * n_bytes`.",
    ),
    insight="The last case is the shape of a well-known model with eight thousand words: one GiB "
    "for one reader. With a key head for each query head it would be four.",
    comes_back="11.share computes with shared heads.",
    others=(bytes_of_tensors,),
)

# --- 11.slopes: near counts more, head by head -----------------------------------------------


def my_alibi(n_heads: int, lq: int, lk: int) -> Tensor:
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)  # (H,)
    keys = torch.arange(lk)
    distance = (keys[lk - lq :, None] - keys).abs()  # (Lq, Lk)
    return -slopes[:, None, None] * distance


def alibi_by_loops(n_heads: int, lq: int, lk: int) -> Tensor:
    bias = torch.zeros(n_heads, lq, lk)
    for h in range(n_heads):
        for i in range(lq):
            for j in range(lk):
                bias[h, i, j] = -abs(lk - lq + i - j) / 256 ** ((h + 1) / n_heads)
    return bias


def alibi_cases(generator: Generator) -> list[Case]:
    def case(note: str, h: int, lq: int, lk: int) -> Case:
        sizes = {"H": h, "L": lk} if lq == lk else {"H": h, "Lq": lq, "Lk": lk}
        return Case((h, lq, lk), sizes, note)

    return [
        case("4 heads, 3 words", 4, 3, 3),
        case("2 heads, the newest of 6 words", 2, 1, 6),
        case("2 heads, the 3 newest of 7 words", 2, 3, 7),
        case("16 heads, the 5 newest of 9 words", 16, 5, 9),
        case("1 head, 5 words", 1, 5, 5),
        case("8 heads, the 2 newest of 5 words", 8, 2, 5),
    ]


def minded(
    slopes: Callable[[Tensor, int], Tensor] = lambda h, n: 2.0 ** (-8 * h / n),
    distance: Callable[[Tensor, Tensor], Tensor] = lambda i, j: (i - j).abs(),
    begin: Callable[[int, int], int] = lambda lq, lk: lk - lq,
    sign: float = -1.0,
) -> Callable[[int, int, int], Tensor]:
    """This bias, right unless a wrong part is given: of h = 1 … n, of places i and j."""

    def wrong(n_heads: int, lq: int, lk: int) -> Tensor:
        slope = slopes(torch.arange(1, n_heads + 1), n_heads) * torch.ones(n_heads)
        first = begin(lq, lk)
        far = distance(torch.arange(first, first + lq)[:, None], torch.arange(lk))
        return sign * slope[:, None, None] * far

    return wrong


SLOPES = Exercise(
    id="11.slopes",
    title="Near counts more, head by head",
    level=2,
    minutes=10,
    section="11.8",
    prompt="""
Write `my_alibi(n_heads, lq, lk)`: ALiBi's bias, to be added to the scores. The queries are the
newest `lq` of `lk` words. Head h of H, counted from 1, has the slope 2^(−8h/H), and its bias for
the word at position i and the key at position j is −slope · |i − j|. The answer has shape
(H, Lq, Lk) and PyTorch's default dtype. H is a power of two.
""",
    stub="""
def my_alibi(n_heads, lq, lk):
    raise NotImplementedError
""",
    reference=my_alibi,
    cases=alibi_cases,
    axes="H Lq Lk",
    mistakes=(
        Mistake(
            minded(begin=lambda lq, lk: 0),
            "Your first query stands at position 0. The queries are the newest words: behind a "
            "cache of lk − lq words the first of them stands at lk − lq.",
        ),
        Mistake(
            minded(begin=lambda lq, lk: lq - lk),
            "The shift has the wrong sign: your first query stands *before* the text. Behind a "
            "cache of lk − lq words it stands at lk − lq.",
        ),
        Mistake(
            minded(begin=lambda lq, lk: lk - lq + 1),
            "Off by one: your queries stand one place too far back in the text's order, the last "
            "of them behind the last key. The first stands at lk − lq.",
        ),
        Mistake(
            minded(begin=lambda lq, lk: lk - lq - 1),
            "Off by one: your queries stand one place too early. The first stands at lk − lq, the "
            "last at lk − 1.",
        ),
        Mistake(
            minded(sign=1.0),
            "The sign: far keys gain here. The distance is taken *from* the score.",
        ),
        Mistake(
            minded(begin=lambda lq, lk: 0, sign=1.0),
            "Two things. Far keys gain here, so the sign is turned around; and your first query "
            "stands at position 0, where it should stand at lk − lq.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-8 * (h - 1) / n)),
            "Your heads are counted from 0, so that the first has slope 1. Counted from 1, the "
            "last has 2^−8.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-h)),
            "Your slopes halve from head to head, however many heads there are. That is right for "
            "8: the exponent is −8h/H, so that the last head has 2^−8 always.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-h / n)),
            "The 8 is missing in the exponent: −8h/H.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-8 * h)),
            "The exponent is not divided by the number of heads: −8h/H.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-8 * h // n)),
            "−8h/H was rounded: with 16 heads it is −1/2 for the first. Divide with `/`.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-8 / n) * h),
            "h stands beside the power and not in the exponent: 2^(−8h/H).",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-(8 // n) * h)),
            "8/H was rounded down: with 16 heads it is 0, and all slopes are 1. Divide with `/`.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-8 * h / n) * 0 + 2.0 ** (-8 / n)),
            "All your heads have the slope of the first. They differ, so that some look near and "
            "some look far.",
        ),
        Mistake(
            minded(lambda h, n: 2.0 ** (-8 * h.flip(0) / n)),
            "Your slopes stand in the opposite order: the first head has the steepest.",
        ),
        Mistake(
            minded(lambda h, n: 8 * h / n),
            "These are the exponents. The slope is 2 to the power of −8h/H.",
        ),
        Mistake(
            minded(lambda h, n: torch.exp(-8 * h / n)),
            "You took e to the power of −8h/H. ALiBi takes 2.",
        ),
        Mistake(
            minded(lambda h, n: torch.ones(n)),
            "The distances are right, and the slopes are missing: every head minds them alike.",
        ),
        Mistake(
            minded(lambda h, n: (-8.0 * h / n) ** 2),
            "You squared the exponent: the base of the power is 2, and −8h/H stands above.",
        ),
        Mistake(
            minded(distance=lambda i, j: i - j),
            "Right for the past. A key that comes later has a negative distance in yours, and "
            "gains: take the absolute value. (A causal mask would hide it.)",
        ),
        Mistake(
            minded(distance=lambda i, j: j - i),
            "The distance has a sign here, and the wrong one: |i − j|.",
        ),
        Mistake(
            minded(distance=lambda i, j: (i - j).clamp(min=0)),
            "Later keys cost nothing in yours. A causal mask would hide them, but the card asks "
            "for |i − j| on both sides.",
        ),
        Mistake(
            minded(distance=lambda i, j: (i - j).abs() + 1),
            "Off by one: a word's distance to itself is 0.",
        ),
        Mistake(
            minded(distance=lambda i, j: (i - j) ** 2),
            "The distance was squared. ALiBi is linear: that is the *li* in its name.",
        ),
        Mistake(
            minded(distance=lambda i, j: torch.where(j > i, torch.inf, i - j)),
            "Later keys are −∞ in yours. That is the mask's business: the card asks for |i − j| "
            "on both sides.",
        ),
        Mistake(
            minded(distance=lambda i, j: j.expand(len(i), -1)),
            "You took the position of the key. A distance also asks where the query stands.",
        ),
        Mistake(
            minded(distance=lambda i, j: (len(j) - 1 - j).expand(len(i), -1)),
            "All your rows are equal: this is the distance to the newest word. Each query stands "
            "at a place of its own.",
        ),
        Mistake(
            minded(distance=lambda i, j: (i - j).abs() / len(j)),
            "You divided by the number of keys. A step is a step, however long the text.",
        ),
        Mistake(
            lambda n_heads, lq, lk: my_alibi(n_heads, lq, lk).mT,
            "The keys stand in the rows. A bias has a row for each query and a column for each "
            "key, as the scores have.",
        ),
        Mistake(
            lambda n_heads, lq, lk: my_alibi(n_heads, lq, lk).sum(0),
            "The axis of the heads is missing: (H, Lq, Lk).",
        ),
        Mistake(
            lambda n_heads, lq, lk: my_alibi(n_heads, lk, lk),
            "This is the bias for the whole text, one row per word. Only the newest lq words ask.",
        ),
        Mistake(
            lambda n_heads, lq, lk: my_alibi(n_heads, lq, lk).movedim(0, -1),
            "The heads stand last. They come first: (H, Lq, Lk).",
        ),
        Mistake(
            lambda n_heads, lq, lk: my_alibi(n_heads, lq, lk).exp(),
            "You took the exponential. The softmax does that: the bias is added to the scores.",
        ),
        Mistake(
            lambda n_heads, lq, lk: my_alibi(n_heads, lq, lk).softmax(-1),
            "A softmax is too early: the bias is added to the scores first.",
        ),
    ),
    properties=(
        Property(
            "From head to head the slope shrinks by one and the same factor. Yours does not.",
            lambda answer, case: bool(
                torch.allclose(answer[1:-1] ** 2, answer[:-2] * answer[2:], atol=1e-6)
            ),
        ),
    ),
    hints=(
        "Two parts: H slopes, and a matrix of distances, (Lq, Lk). Where does the first query "
        "stand?",
        "`torch.arange(lk - lq, lk)`, standing, are the places of the queries; `torch.arange(lk)`, "
        "lying, those of the keys.",
        "`-slopes[:, None, None] * distance` has shape (H, Lq, Lk).",
    ),
    insight="Nothing is learned, and nothing depends on the length. For one word more there is one "
    "row more, and the old ones stay as they were.",
    comes_back="Section 11.9 asks whether that is enough to read longer texts.",
    others=(alibi_by_loops,),
)

# --- 11.fate: a new word comes ---------------------------------------------------------------


def fate(thing: str) -> str:
    return {
        "a": "keep",
        "b": "keep",
        "c": "keep",
        "d": "again",
        "e": "drop",
        "f": "keep",
        "g": "again",
        "h": "drop",
    }[thing]


FATE = Exercise(
    id="11.fate",
    title="A new word comes",
    level=2,
    minutes=8,
    section="11.6",
    prompt="""
A model of many layers has read ten words, and an eleventh comes. What happens to the things that it
has computed for the ten? The outputs of the last layer are wanted for the eleventh word if the
model is causal, and for all words if it is not. `fate(thing)` returns `"keep"` (needed, and still
right), `"again"` (needed, but no longer right), or `"drop"` (not needed any more).

| thing | of the first ten words |
|:--|:--|
| `"a"` | keys of the first layer; causal model |
| `"b"` | keys of the second layer; causal model |
| `"c"` | keys of the first layer; no mask, each word sees all |
| `"d"` | keys of the second layer; no mask, each word sees all |
| `"e"` | queries of the second layer; causal model |
| `"f"` | keys, turned by rotary positions 0 to 9; causal model |
| `"g"` | keys, turned by the distance to the end of the text, 9 to 0; causal model |
| `"h"` | outputs of the last layer; causal model |
""",
    stub="""
def fate(thing):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": "", "b": "", "c": "", "d": ""}
    then = {"e": "", "f": "", "g": "", "h": ""}
    return (first | then)[thing]
""",
    reference=fate,
    cases=lambda generator: [Case((t,), note=f"thing {t}") for t in "abcdefgh"],
    mistakes=choices(
        fate,
        {
            ("a", "again"): "A key of the first layer is made of its own word's embedding and its "
            "place. Has one of these changed?",
            ("a", "drop"): "The eleventh word looks back at the ten. What does its query meet?",
            ("b", "again"): "Its word's row after the first layer is a mixture of words up to "
            "itself. Is the eleventh among these?",
            ("b", "drop"): "The eleventh word looks back in the second layer, too. What does its "
            "query meet there?",
            ("c", "again"): "In the first layer a key is made of its own word alone. The mask "
            "plays no part before rows are mixed.",
            ("c", "drop"): "All eleven words look at all, so these keys are met by eleven queries.",
            ("d", "keep"): "The rows that enter the second layer are mixtures of *all* words here. "
            "With an eleventh word each of them is another one.",
            ("d", "drop"): "All eleven words look at all in the second layer, too: keys for the "
            "ten are needed.",
            ("e", "keep"): "With a query one looks. The ten have looked already, and what they "
            "saw does not change.",
            ("e", "again"): "Nothing has changed for the ten, since they look back only. And will "
            "they ask again?",
            ("f", "again"): "Word 3 stays at position 3, whatever comes behind it: its key is "
            "turned as before.",
            (
                "f",
                "drop",
            ): "A key is what a query meets, turned or not, and the eleventh word looks "
            "back at the ten.",
            ("g", "keep"): "What was one word from the end is two words from the end now: every "
            "key is turned by an angle that no longer holds.",
            ("g", "drop"): "The eleventh word looks back at the ten, and needs keys for that.",
            ("h", "keep"): "After the last layer nobody looks. They served to guess the words two "
            "to eleven, and that is done.",
            ("h", "again"): "For the ten nothing changes, since they look back only. And who would "
            "read it?",
        },
    ),
    hints=(
        "Ask two questions of each: who reads it when the eleventh word comes? And is it made of "
        "anything that the eleventh word changes?",
        "Queries look, keys and values are looked at. And a row that has seen all words changes "
        "with each new word.",
        "Two are dropped, two are made again. A causal mask saves the keys of the second layer, "
        "and places counted from the beginning save those that are turned.",
    ),
    insight="A cache works because of the causal mask and of places counted from the front. A "
    "model without a mask, such as an encoder, has none.",
    comes_back="11.repair makes the step, with the keys and values that are kept.",
    code=False,
)

# --- 11.share: several heads ask the same keys -----------------------------------------------


def grouped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    shared = query.size(-3) // key.size(-3)
    key, value = (x.repeat_interleave(shared, dim=-3) for x in (key, value))
    weights = (query @ key.mT / math.sqrt(query.size(-1))).softmax(dim=-1)
    return weights @ value


def grouped_without_copies(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    groups = query.unflatten(-3, (key.size(-3), -1))  # (..., G, H / G, Lq, Dk)
    scores = groups @ key.unsqueeze(-3).mT / math.sqrt(query.size(-1))
    return (scores.softmax(dim=-1) @ value.unsqueeze(-3)).flatten(-4, -3)


def share_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, h, g, lq, lk, dk, dv = sizes
        query = draw(generator, *front, h, lq, dk)
        key, value = draw(generator, *front, g, lk, dk), draw(generator, *front, g, lk, dv)
        names = ("A", "B", "H", "G", "Lq", "Lk", "Dk", "Dv")[-len(sizes) :]
        named = dict(zip(names, sizes, strict=True))
        return Case(
            (query, key, value), {n: s for n, s in named.items() if (n, s) != ("G", h)}, note
        )

    lq, lk, dk, dv = some_sizes(generator, 4)
    return [
        case("4 heads, 2 key heads", 4, 2, 3, 5, 6, 7),
        case("6 heads, 2 key heads", 6, 2, 3, 5, 7, 8),
        case("a batch of 2: 9 heads, 3 key heads", 2, 9, 3, 5, 8, 7, 6),
        case("one axis more in front", 3, 2, 8, 4, 5, 6, 7, 10),
        case("4 heads, 1 key head", 4, 1, lq, lk, dk, dv),
        case("3 heads, 3 key heads", 3, 3, 5, 7, 6, 8),
    ]


Spread = Callable[[Tensor, int], Tensor]


def tiled(x: Tensor, n: int) -> Tensor:
    return torch.cat([x] * n, dim=-3)


def interleaved(x: Tensor, n: int) -> Tensor:
    return x.repeat_interleave(n, dim=-3)


def spread(
    keys: Spread = interleaved,
    values: Spread = interleaved,
    head: Head = Head(),  # noqa: B008  frozen
    queries: Spread = lambda query, n: query,
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Grouped attention, right unless keys or values are dealt out in a wrong way."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        n = query.size(-3) // key.size(-3)
        return head(queries(query, n), keys(key, n), values(value, n))

    return wrong


def the_first(x: Tensor, n: int) -> Tensor:
    return x[..., :1, :, :].expand(*x.shape[:-3], n * x.size(-3), -1, -1)


def the_mean(x: Tensor, n: int) -> Tensor:
    return the_first(x.mean(-3, keepdim=True), n * x.size(-3))


def mixed_up(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Query heads cut into H / G groups of G neighbors."""
    groups = query.unflatten(-3, (-1, key.size(-3)))  # (..., H / G, G, Lq, Dk)
    return Head()(groups, key.unsqueeze(-4), value.unsqueeze(-4)).flatten(-4, -3)


SHARE = Exercise(
    id="11.share",
    title="Several heads ask the same keys",
    level=2,
    minutes=12,
    section="11.4",
    prompt="""
Write `grouped(query, key, value)`: grouped-query attention. `query` has shape (..., H, Lq, Dk),
`key` (..., G, Lk, Dk), `value` (..., G, Lk, Dv), and the output (..., H, Lq, Dv). H is G times a
whole number. *Neighboring* heads share: with 6 heads and 2 key heads, heads 0, 1, 2 ask key head 0
and heads 3, 4, 5 key head 1. The dots stand for any number of leading dimensions.
""",
    stub="""
def grouped(query, key, value):
    raise NotImplementedError
""",
    reference=grouped,
    cases=share_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            spread(tiled, tiled),
            "Your heads take turns: heads 0, 2, 4 ask key head 0 and heads 1, 3, 5 key head 1. "
            "`repeat` and `cat` put whole copies one behind the other, 0 1 0 1; neighbors get the "
            "same with `repeat_interleave`, 0 0 1 1. (Cut into groups, it is G groups of H/G: "
            "`unflatten(-3, (G, -1))`.)",
        ),
        Mistake(
            spread(values=tiled),
            "The keys are dealt out rightly, the values are not: each head mixes values that "
            "belong to another key head.",
        ),
        Mistake(
            spread(keys=tiled),
            "The values are dealt out rightly, the keys are not: each head mixes values by keys "
            "that belong to another.",
        ),
        Mistake(
            spread(the_first, the_first),
            "All heads ask key head 0. There are G of them: with G = 1 this would be right.",
        ),
        Mistake(
            spread(the_mean, the_mean),
            "You averaged the key heads, and all heads ask the average. Each group has its own.",
        ),
        Mistake(
            spread(
                lambda x, n: x,
                lambda x, n: x,
                queries=lambda q, n: q.unflatten(-3, (-1, n)).mean(-3),
            ),
            "You averaged the *queries* of a group. Every head keeps a query of its own; it is the "
            "keys and values that are shared.",
        ),
        Mistake(
            spread(
                lambda x, n: x,
                lambda x, n: x,
                queries=lambda q, n: q[..., :: max(n, 1), :, :],
            ),
            "Only the first head of each group asks. All H heads do: repeat the keys and values, "
            "do not leave out queries.",
        ),
        Mistake(
            spread(
                lambda x, n: interleaved(x, n).flip(-3), lambda x, n: interleaved(x, n).flip(-3)
            ),
            "Your key heads stand in the opposite order: heads 0, 1, 2 ask the last one.",
        ),
        Mistake(
            spread(
                lambda x, n: x.repeat_interleave(n, dim=0),
                lambda x, n: x.repeat_interleave(n, dim=0),
            ),
            "You repeated along axis 0. Without a batch that is the heads; with one it is the "
            "batch. Count from the end: `dim=-3`.",
        ),
        Mistake(
            spread(
                lambda x, n: x.repeat_interleave(n, dim=1),
                lambda x, n: x.repeat_interleave(n, dim=1),
            ),
            "You repeated along axis 1. With a batch in front that is the heads, without one the "
            "words: count from the end, `dim=-3`.",
        ),
        Mistake(
            spread(lambda x, n: x, lambda x, n: x),
            "H query heads meet G heads of keys or values, and broadcasting only stretches an axis "
            "of 1. Repeat both along the axis of the heads first, which is the third from the end: "
            "`dim=-3`.",
        ),
        Mistake(
            spread(head=Head(scores=lambda q, k: k @ q.mT / math.sqrt(q.size(-1)))),
            "Two matrices of a head do not fit. The scores have a row for each query, `query @ "
            "key.mT`, (Lq, Lk); and the weights, of the same shape, stand left of the values.",
        ),
        Mistake(
            spread(
                lambda x, n: x.repeat_interleave(n, dim=-1),
                lambda x, n: x.repeat_interleave(n, dim=-1),
            ),
            "You repeated the columns. The axis of the heads is the third from the end: `dim=-3`.",
        ),
        Mistake(
            lambda query, key, value: grouped(query, key, value) * key.size(-3) / query.size(-3),
            "The output is divided by the number of heads that share. Each head has an output of "
            "its own: nothing is to be divided.",
        ),
        Mistake(
            spread(lambda x, n: x.repeat(n, 1, 1), lambda x, n: x.repeat(n, 1, 1)),
            "`repeat(n, 1, 1)` fits a tensor of three axes, and puts whole copies one behind the "
            "other, 0 1 0 1. Neighbors share: `repeat_interleave(n, dim=-3)`.",
        ),
        Mistake(
            spread(lambda x, n: x.repeat(1, n, 1, 1), lambda x, n: x.repeat(1, n, 1, 1)),
            "`repeat(1, n, 1, 1)` fits a tensor of four axes, and puts whole copies one behind the "
            "other, 0 1 0 1. Neighbors share: `repeat_interleave(n, dim=-3)`.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: spread(head=head),
        SCORE_MISTAKES,
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
        widths={
            "Dv": lambda query, key, value: value.size(-1),
            "H": lambda query, key, value: query.size(-3),
            "(H · Dk)": lambda query, key, value: query.size(-3) * query.size(-1),
            "(H / G)": lambda query, key, value: query.size(-3) // key.size(-3),
        },
    ),
    hints=(
        "How many heads share one key head? Give each head a copy, and the rest is attention as "
        "always.",
        "Copies in the order 0 0 0 1 1 1. PyTorch has two functions that repeat, and they differ "
        "in just this order.",
        "`key.repeat_interleave(query.size(-3) // key.size(-3), dim=-3)`, the same for the values.",
    ),
    insight="With G = H it is multi-head attention, with G = 1 multi-query attention. No score is "
    "saved; what is saved is what has to be kept and, if no copies are made, read for each new "
    "word.",
    comes_back="The chapter's `GroupedQueryAttention` does the same with the matrices around it.",
    others=(grouped_without_copies,),
)

# --- 11.repair: one step with a cache --------------------------------------------------------


def next_output(
    x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    old, new = keys.size(-2), x.size(-2)
    positions = torch.arange(old, old + new, device=x.device)
    query, key = apply_rotary(x @ w_q, positions), apply_rotary(x @ w_k, positions)
    keys = torch.cat((keys, key), dim=-2)
    values = torch.cat((values, x @ w_v), dim=-2)
    mask = torch.ones(new, old + new, dtype=torch.bool, device=x.device).tril(old)
    return scaled_dot_product_attention(query, keys, values, mask)[0]


def next_output_in_two_parts(
    x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> Tensor:
    places = torch.arange(keys.size(-2) + x.size(-2), device=x.device)
    here = places[keys.size(-2) :]
    query = apply_rotary(x @ w_q, here) / math.sqrt(w_q.size(-1))
    before = query @ keys.mT
    among = query @ apply_rotary(x @ w_k, here).mT
    among = among.masked_fill(here > here[:, None], -math.inf)
    weights = torch.cat((before, among), dim=-1).softmax(dim=-1)
    return weights @ torch.cat((values, x @ w_v), dim=-2)


def step_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, new, old, d, dk, dv = sizes
        shapes = ((*front, new, d), (*front, old, dk), (*front, old, dv), (d, dk), (d, dk), (d, dv))
        names = ("A", "B", "new", "old", "D", "Dk", "Dv")[-len(sizes) :]
        drawn = tuple(draw(generator, *shape) for shape in shapes)
        return Case(drawn, dict(zip(names, sizes, strict=True)), note)

    return [
        case("1 new word behind 3", 1, 3, 7, 6, 5),
        case("3 new words behind 5", 3, 5, 8, 6, 7),
        case("4 new words, nothing before", 4, 0, 7, 10, 5),
        case("2 texts, 3 new words behind 4", 2, 3, 4, 7, 6, 5),
        case("one axis more in front", 2, 3, 4, 5, 7, 8, 6),
    ]


def step(
    first: Callable[[int, int], int | Tensor] = lambda old, new: old,
    join_keys: Callable[[Tensor, Tensor], tuple[Tensor, ...]] = lambda old, new: (old, new),
    join_values: Callable[[Tensor, Tensor], tuple[Tensor, ...]] = lambda old, new: (old, new),
    diagonal: Callable[[int, int], int] = lambda old, new: old,
    head: Head = Head(),  # noqa: B008  frozen
    turn_query: bool = True,
    turn_key: bool = True,
    turn_value: bool = False,
    turn_old: bool = False,
    apart: int = 1,
    look: Callable[[Tensor, int], Tensor] = torch.tril,
) -> Callable[..., Tensor]:
    """The step, right unless a wrong line is given."""

    def wrong(
        x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
    ) -> Tensor:
        old, new = keys.size(-2), x.size(-2)
        begin = first(old, new)
        places = begin + apart * torch.arange(new, device=x.device)
        query, key, value = x @ w_q, x @ w_k, x @ w_v
        query = apply_rotary(query, places) if turn_query else query
        key = apply_rotary(key, places) if turn_key else key
        value = apply_rotary(value, places) if turn_value else value
        if turn_old:
            keys = apply_rotary(keys, torch.arange(old, device=x.device))
        keys = torch.cat(join_keys(keys, key), dim=-2)
        values = torch.cat(join_values(values, value), dim=-2)
        mask = torch.ones(new, keys.size(-2), dtype=torch.bool, device=x.device)
        return head(query, keys, values, look(mask, diagonal(old, new)))

    return wrong


def from_0(old: int, new: int) -> int:
    return 0


def in_front(old: Tensor, new: Tensor) -> tuple[Tensor, ...]:
    return new, old


def at_top_left(old: int, new: int) -> int:
    return 0


REPAIR = Exercise(
    id="11.repair",
    title="One step with a cache",
    level=3,
    minutes=15,
    section="11.6",
    prompt="""
A causal head with rotary positions has read some words; `keys` (..., old, Dk), turned already, and
`values` (..., old, Dv) have been kept. Now `x` (..., new, D) holds the rows of the next words, one
or more. These lines should return their outputs, (..., new, Dv), as if all words had been read at
once. They run; and with nothing kept yet they are right. Find the three faults. `w_q`, `w_k`
(D, Dk) and `w_v` (D, Dv) are the head's matrices.
""",
    stub="""
def next_output(x, keys, values, w_q, w_k, w_v):
    raise NotImplementedError  # repair the lines below, then delete this one
    old, new = keys.size(-2), x.size(-2)
    positions = torch.arange(new, device=x.device)
    query, key = apply_rotary(x @ w_q, positions), apply_rotary(x @ w_k, positions)
    keys = torch.cat((keys, key), dim=-2)
    values = torch.cat((x @ w_v, values), dim=-2)
    mask = torch.ones(new, old + new, dtype=torch.bool, device=x.device).tril()
    return scaled_dot_product_attention(query, keys, values, mask)[0]
""",
    reference=next_output,
    cases=step_cases,
    axes="A B new Dv",
    mistakes=(
        Mistake(
            step(from_0, join_values=in_front, diagonal=at_top_left),
            "All three faults are still there. At which position does the first new word stand? In "
            "which order lie keys and values? What may the first new word see?",
        ),
        Mistake(
            step(join_values=in_front, diagonal=at_top_left),
            "The positions are right now. Do keys and values lie in the same order? And what may "
            "the first new word see?",
        ),
        Mistake(
            step(from_0, diagonal=at_top_left),
            "Keys and values fit together now. At which position does the first new word stand? "
            "And what may it see?",
        ),
        Mistake(
            step(from_0, join_values=in_front),
            "The mask is right now. At which position does the first new word stand? And do keys "
            "and values lie in the same order?",
        ),
        Mistake(
            step(from_0),
            "The first new word stands at position 0 still, as if nothing had been read. It stands "
            "behind the `old` ones.",
        ),
        Mistake(
            step(join_values=in_front),
            "The new values lie in front of the old ones, and the new keys behind them: a weight "
            "that was meant for one word takes the value of another.",
        ),
        Mistake(
            step(diagonal=at_top_left),
            "The triangle starts in the top left corner: the first new word sees only the first of "
            "all words. It may see all old ones and itself: `tril(old)`.",
        ),
        Mistake(
            step(first=torch.arange, apart=0),
            "`torch.arange(old, new)` was meant to have `new` positions. Its second number is "
            "where it ends: `old + new`.",
        ),
        Mistake(
            step(first=lambda old, new: old + 1),
            "Off by one: the old words stand at 0 … old − 1, so the first new one at `old`.",
        ),
        Mistake(
            step(first=lambda old, new: old - 1),
            "Off by one: the old words stand at 0 … old − 1, so the first new one at `old`.\n"
            "(Yours has the place of the last old one.)",
        ),
        Mistake(
            step(first=lambda old, new: -new),
            "Your positions are counted back from the end. The old keys were turned by positions "
            "counted from the beginning, 0 … old − 1: go on from there.",
        ),
        Mistake(
            step(first=lambda old, new: new),
            "The first new word stands at position `new` in yours. It is the `old` words that "
            "stand before it.",
        ),
        Mistake(
            step(apart=0),
            "All new words stand at one position, that of the first. Each stands one further: "
            "`torch.arange(old, old + new)`.",
        ),
        Mistake(
            step(look=lambda ones, diagonal: ones.triu(diagonal)),
            "`triu` keeps the other side: each new word sees itself and what comes after it.",
        ),
        Mistake(
            step(look=lambda ones, diagonal: ~ones.tril(diagonal)),
            "The mask says the opposite. True means may look.",
        ),
        Mistake(
            step(join_keys=in_front, join_values=in_front),
            "The new words lie in front of the old ones. Keys and values fit together, but the "
            "mask counts from the left: old words first.",
        ),
        Mistake(
            step(join_keys=in_front),
            "The values are right now, and you moved the new keys to the front: they have to lie "
            "in the same order, old words first.",
        ),
        Mistake(
            step(diagonal=lambda old, new: old + new),
            "Everybody sees everything: of several new words the first sees those behind it. The "
            "triangle moves to the right, `tril(old)`; it does not vanish.",
        ),
        Mistake(
            step(diagonal=lambda old, new: old + 1),
            "Off by one: each new word sees the one behind it, too.",
        ),
        Mistake(
            step(diagonal=lambda old, new: old - 1),
            "Off by one: a new word does not see itself.",
        ),
        Mistake(
            step(diagonal=lambda old, new: new),
            "The triangle was moved by `new`. It is the `old` words that stand in front of every "
            "new one.",
        ),
        Mistake(
            step(diagonal=lambda old, new: -old),
            "The shift has the wrong sign: to the right is the positive direction of `tril`.",
        ),
        Mistake(
            step(turn_key=False),
            "The new keys are not turned. Queries and keys both are, each by its position.",
        ),
        Mistake(
            step(turn_query=False),
            "The queries are not turned. Queries and keys both are, each by its position.",
        ),
        Mistake(
            step(turn_query=False, turn_key=False),
            "Neither the queries nor the new keys are turned, and the old keys were.",
        ),
        Mistake(
            step(turn_old=True),
            "The old keys are turned once more. They were turned when they were put away, and "
            "their positions have not changed.",
        ),
        Mistake(
            step(turn_value=True),
            "The values are turned as well. Positions decide who is looked at; what is fetched "
            "there stays as it is.",
        ),
        Mistake(
            step(join_keys=lambda old, new: (new,), join_values=lambda old, new: (new,)),
            "The old words are gone: only the new ones are looked at.",
        ),
        Mistake(
            step(diagonal=at_top_left, join_keys=in_front, join_values=in_front),
            "Keys and values fit together, but the new ones lie in front, and the triangle shows "
            "the new words to one another only. Old words first, and `tril(old)`.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: step(head=head),
        SCORE_MISTAKES,
        OUTPUT_MISTAKES,
        widths={"D": lambda x, keys, values, w_q, w_k, w_v: x.size(-1)},
    ),
    hints=(
        "Take three old words and two new ones, and write down for each line what it should hold: "
        "positions 3 and 4, five keys, five values, a mask of two rows.",
        "The new words come behind the old ones, everywhere. The first of them sees all old words "
        "and itself.",
        "`torch.arange(old, old + new)`, `cat((values, x @ w_v))`, `tril(old)`.",
    ),
    insight="With nothing kept all three faults are invisible, and later they raise nothing. Feed "
    "a text in pieces, several words at a time, and compare with the whole.",
    comes_back="11.experiment asks of a whole layer how it is told the places.",
    others=(next_output_in_two_parts,),
)

# --- 11.pairs: halves or neighbors ----------------------------------------------------------


def for_pairs(weight: Tensor, n_heads: int) -> Tensor:
    halves = weight.unflatten(0, (n_heads, 2, -1))  # (H, 2, Dk / 2, D)
    return halves.transpose(1, 2).flatten(0, 2)


def for_pairs_by_numbers(weight: Tensor, n_heads: int) -> Tensor:
    width = len(weight) // n_heads
    rows = []
    for h in range(n_heads):
        for k in range(width // 2):
            rows += [h * width + k, h * width + k + width // 2]
    return weight[rows]


def pairs_cases(generator: Generator) -> list[Case]:
    def case(note: str, h: int, dk: int, d: int) -> Case:
        return Case((draw(generator, h * dk, d), h), {"H": h, "Dk": dk, "D": d}, note)

    return [
        case("1 head of width 6", 1, 6, 7),
        case("2 heads of width 6", 2, 6, 5),
        case("3 heads of width 10", 3, 10, 7),
        case("5 heads of width 14", 5, 14, 11),
    ]


def reordered(order: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """The rows in another order: of the numbers of a head's rows, (H, Dk)."""

    def wrong(weight: Tensor, n_heads: int) -> Tensor:
        rows = torch.arange(len(weight), device=weight.device).view(n_heads, -1)
        return weight[order(rows).flatten()]

    return wrong


def half_and_half(rows: Tensor) -> Tensor:
    return rows.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)


def with_a_minus(weight: Tensor, n_heads: int) -> Tensor:
    halves = weight.unflatten(0, (n_heads, 2, -1))
    return torch.stack((halves[:, 0], -halves[:, 1]), dim=2).flatten(0, 2)


PAIRS = Exercise(
    id="11.pairs",
    title="Halves or neighbors",
    level=3,
    minutes=15,
    section="11.7 (second reading)",
    prompt="""
In Hugging Face's edition of Llama, rotary positions turn column k of a head together with column
k + Dk/2. Ours turn columns 2k and 2k + 1, as Meta's own code does. Both give the same scores if the
columns of queries and keys are put in another order. Write `for_pairs(weight, n_heads)`: it gets
the weight of Hugging Face's `q_proj` or `k_proj` as `nn.Linear` stores it, (H · Dk, D). Its *rows*
make the columns of a query, the first Dk of them those of head 0. Return the weight for our
layer, its rows in the order that our `apply_rotary` needs.
""",
    stub="""
def for_pairs(weight, n_heads):
    raise NotImplementedError
""",
    reference=for_pairs,
    cases=pairs_cases,
    axes="H·Dk D",
    mistakes=(
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)),
            "This is the way back, from neighbors to halves: 0, 2, 4, …, 1, 3, 5, … The way to "
            "neighbors is 0, Dk/2, 1, Dk/2 + 1, …",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows.flatten()[None])),
            "You took all heads for one. The halves are those of each head: Dk/2 rows each.",
        ),
        Mistake(
            reordered(lambda rows: rows.flatten().unflatten(0, (-1, 2)).transpose(0, 1)),
            "Two things. This is the way back, from neighbors to halves; and you took all heads "
            "for one.",
        ),
        Mistake(
            lambda weight, n_heads: (
                weight.unflatten(0, (n_heads, 2, -1)).transpose(0, 1).flatten(0, 2)
            ),
            "You exchanged heads and halves: first halves of all heads, then second halves. It is "
            "halves and columns that change places: `transpose(1, 2)`.",
        ),
        Mistake(
            lambda weight, n_heads: torch.cat(
                (
                    for_pairs(weight[: len(weight) // n_heads], 1),
                    torch.zeros_like(weight[len(weight) // n_heads :]),
                )
            ),
            "The rows of head 0 are right, and those of the other heads are empty: run over the "
            "heads.",
        ),
        Mistake(
            lambda weight, n_heads: weight,
            "The rows are still in Hugging Face's order. (Cut into heads and halves and put "
            "together again, they come out as they were: in between two axes have to change "
            "places.)",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows).unflatten(-1, (-1, 2)).flip(-1)),
            "The pairs are right, and each is turned around: row k comes before row k + Dk/2, or "
            "the pair would turn the other way.",
        ),
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (2, -1)).flip(-2)),
            "You exchanged the two halves. They have to be interleaved: one row of the first, one "
            "of the second, and so on.",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows).flip(0)),
            "Within each head the order is right, and the heads stand in the opposite order.",
        ),
        Mistake(
            reordered(lambda rows: rows.mT),
            "Your heads take turns: the first row of each, then the second of each. The heads stay "
            "where they are; the order changes inside them.",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows).mT),
            "Within each head the order is right, but now the heads take turns: keep each head's "
            "rows together.",
        ),
        Mistake(
            reordered(lambda rows: rows.flip(-1)),
            "You turned the rows of each head around. Row k has to stand beside row k + Dk/2.",
        ),
        Mistake(
            lambda weight, n_heads: for_pairs(weight, n_heads).unflatten(0, (n_heads, -1)),
            "The order is right. Put the heads back onto one axis: (H · Dk, D), as `nn.Linear` "
            "stores it.",
        ),
        Mistake(
            lambda weight, n_heads: for_pairs(weight, n_heads).T,
            "The order is right, and the matrix is transposed: `nn.Linear` stores a row for each "
            "number that comes out.",
        ),
        Mistake(
            lambda weight, n_heads: torch.cat([weight[:, 0::2], weight[:, 1::2]], dim=1),
            "You put the *columns* in another order. They belong to the input; the columns of a "
            "query are made by the rows.",
        ),
        Mistake(
            with_a_minus,
            "The order is right, and half of the rows have another sign. The minus is part of the "
            "turn, which `apply_rotary` makes; here rows only move.",
        ),
    ),
    hints=(
        "For one head of width 6: our pairs are rows (0, 1), (2, 3), (4, 5). Which rows of Hugging "
        "Face's weight belong there?",
        "0, 3, 1, 4, 2, 5. Two halves of three rows become three pairs: two axes change places.",
        "`weight.unflatten(0, (n_heads, 2, -1))` is (H, 2, Dk/2, D). Exchange the axes in the "
        "middle, and flatten.",
    ),
    insight="A dot product does not ask in which order its terms come, as long as queries and keys "
    "agree. So the values, and W_O, stay as they are.",
    comes_back="Section 11.7 says at its end how closely our layer then matches Llama's.",
    others=(for_pairs_by_numbers,),
)

# --- 11.experiment: how is it told the places? -----------------------------------------------

Layer = Callable[[Tensor], Tensor]


def how_told(attend: Layer) -> str:
    word = torch.randn(8, dtype=torch.float64)
    row = attend(word.expand(200, 8))[-1]  # one word 200 times, and the last looks back
    if not row.all():
        return "window"
    if torch.allclose(row, row[:1]):
        return "nothing"
    silent = attend(torch.zeros(200, 8, dtype=torch.float64))[-1]
    if torch.allclose(silent, silent[:1]):
        return "rotary"  # turned zeros are zeros
    steps = row.log().diff()
    return "alibi" if torch.allclose(steps, steps[:1]) else "added"


W_Q, W_K = draw(Generator().manual_seed(11), 2, 8, 8) / 3
TABLE = draw(Generator().manual_seed(12), 256, 8)
LATER = TABLE * (torch.arange(256)[:, None] > 3)


def looking_back(
    rows: Callable[[Tensor], Tensor] = lambda x: x,
    turn: Callable[[Tensor, Tensor], Tensor] = lambda x, places: x,
    slope: float = 0.0,
    window: int = 256,
    n_sinks: int = 0,
) -> Layer:
    """The weights of a causal head that is told the places in one of these ways."""

    def attend(x: Tensor) -> Tensor:
        x = rows(x.double().cpu())
        places = torch.arange(len(x))
        query, key = turn(x @ W_Q, places), turn(x @ W_K, places)
        bias = -slope * (places[:, None] - places).abs()
        mask = sink_mask(len(x), window, n_sinks)
        return scaled_dot_product_attention(query, key, x, mask, bias.double())[1]

    return attend


def half_turned(x: Tensor, places: Tensor) -> Tensor:
    return torch.cat((apply_rotary(x[:, :4], places), x[:, 4:]), dim=-1)


BOXES: dict[str, tuple[str, Layer]] = {
    "no positions": ("nothing", looking_back()),
    "no positions, rows of length 1": (
        "nothing",
        looking_back(lambda x: x / x.norm(dim=-1, keepdim=True).clamp_min(1e-9)),
    ),
    "sinusoids, added to the rows": (
        "added",
        looking_back(lambda x: x + sinusoids(torch.arange(len(x)), 8)),
    ),
    "learned rows, added": ("added", looking_back(lambda x: x + TABLE[: len(x)])),
    "learned rows, added from place 4 on": (
        "added",
        looking_back(lambda x: x + LATER[: len(x)]),
    ),
    "rotary": ("rotary", looking_back(turn=apply_rotary)),
    "rotary, half of the columns": ("rotary", looking_back(turn=half_turned)),
    "ALiBi, slope 1/4": ("alibi", looking_back(slope=0.25)),
    "ALiBi, slope 1/256": ("alibi", looking_back(slope=1 / 256)),
    "a window of 6": ("window", looking_back(window=6)),
    "a window of 120": ("window", looking_back(window=120)),
    "a window of 5 and 3 sinks": ("window", looking_back(window=5, n_sinks=3)),
}
SEEN = "weights of exactly 0 tell a window. Here every word up to itself gets some weight"
FOUND: dict[tuple[str, str], str] = {
    ("no positions", "added"): "with one word in all places all weights of a row are equal here. "
    "If yours differ, your words did.",
    ("no positions", "rotary"): "with one word in all places all weights of a row are equal here. "
    "Rotary positions would make them differ.",
    ("no positions", "alibi"): "with one word in all places all weights of a row are equal here. "
    "ALiBi would favor the near ones.",
    ("no positions", "window"): f"{SEEN}. The future is hidden: look at the last row.",
    ("no positions, rows of length 1", "added"): "it makes all rows equally long, and knows no "
    "places: one word in all places gets equal weights.",
    ("no positions, rows of length 1", "rotary"): "it makes all rows equally long, and knows no "
    "places. Rows of zeros alone do not tell that: try one word in all places.",
    ("no positions, rows of length 1", "alibi"): "it makes all rows equally long. The near ones "
    "do not gain: one word in all places gets equal weights.",
    ("no positions, rows of length 1", "window"): f"{SEEN}, near or far.",
    ("sinusoids, added to the rows", "nothing"): "sinusoids are added. With one word in all "
    "places, are the weights of the last row equal?",
    ("sinusoids, added to the rows", "rotary"): "encodings are added to the rows, so rows of zeros "
    "are told apart. A turn leaves zeros as they are.",
    ("sinusoids, added to the rows", "alibi"): "encodings are added to the rows. From key to key "
    "the logarithm of the weight does not change by the same step.",
    ("sinusoids, added to the rows", "window"): f"{SEEN}, however small.",
    ("learned rows, added", "nothing"): "each place adds a row of its own. With one word in all "
    "places, are the weights of the last row equal?",
    ("learned rows, added", "rotary"): "each place adds a row of its own, so rows of zeros are "
    "told apart. A turn leaves zeros as they are.",
    ("learned rows, added", "alibi"): "each place adds a row of its own. From key to key the "
    "logarithm of the weight does not change by the same step.",
    ("learned rows, added", "window"): f"{SEEN}: small is not 0.",
    ("learned rows, added from place 4 on", "nothing"): "the first four places are not marked, the "
    "others are. Was your text long enough to show it?",
    ("learned rows, added from place 4 on", "rotary"): "the first four places are not marked, the "
    "others are. Rows of zeros show it, if there are enough of them.",
    ("learned rows, added from place 4 on", "alibi"): "the first four places are not marked, the "
    "others are. Compare the steps all along the row, not two of them.",
    ("learned rows, added from place 4 on", "window"): f"{SEEN}, even if some get very little.",
    ("rotary", "nothing"): "queries and keys are turned. Rows of zeros do not show it: there is "
    "nothing to turn. Take one word, not zeros, in all places.",
    ("rotary", "added"): "move a pair of words along together, and their score stays: the distance "
    "counts, not the place. Or take rows of zeros: nothing to turn.",
    ("rotary", "alibi"): "the distance counts, but not as a steady loss: the logarithms of the "
    "weights rise and fall along the row, and with rows of zeros they are equal.",
    ("rotary", "window"): f"{SEEN}, in whatever direction it is turned.",
    ("rotary, half of the columns", "nothing"): "half of the columns are turned. A word with zeros "
    "in these does not show it: take one with random numbers.",
    ("rotary, half of the columns", "added"): "half of the columns are turned. Rows of zeros stay "
    "zeros, and all get the same weight.",
    ("rotary, half of the columns", "alibi"): "half of the columns are turned. The logarithms of "
    "the weights rise and fall along the row; ALiBi's only fall.",
    ("rotary, half of the columns", "window"): f"{SEEN}, turned or not.",
    ("ALiBi, slope 1/4", "nothing"): "with one word in all places the near ones get more here.",
    ("ALiBi, slope 1/4", "added"): "nothing is added to the rows. The logarithm of the weight "
    "falls by the same step from key to key, whatever the word.",
    ("ALiBi, slope 1/4", "rotary"): "with rows of zeros there is nothing to turn, and still the "
    "near ones get more here.",
    ("ALiBi, slope 1/4", "window"): f"{SEEN}, though it fades with the distance.",
    ("ALiBi, slope 1/256", "nothing"): "the near ones get a little more: the slope is 1/256. Over "
    "100 words that adds up; and how far apart may your numbers be to count as equal?",
    ("ALiBi, slope 1/256", "added"): "the logarithm of the weight falls by the same small step, "
    "1/256, from key to key, whatever the word.",
    ("ALiBi, slope 1/256", "rotary"): "with rows of zeros the near ones still get a little more: "
    "the slope is 1/256.",
    ("ALiBi, slope 1/256", "window"): f"{SEEN}, nearly the same.",
    (
        "a window of 6",
        "nothing",
    ): "six words are seen, the others have weights of exactly 0. Do you "
    "look at the last row, or only at words next to each other?",
    ("a window of 6", "added"): "six words are seen, and these get equal weights if they are "
    "equal. The others have exactly 0.",
    ("a window of 6", "rotary"): "equal words are weighed equally here, as long as they are seen: "
    "six of them, and the others have exactly 0.",
    ("a window of 6", "alibi"): "the weights do not fade with the distance, they end: six words "
    "are seen, the others have exactly 0.",
    ("a window of 120", "nothing"): "120 words are seen, and no more. Was your text long enough?",
    ("a window of 120", "added"): "120 words are seen, equal words equally, and the others have "
    "exactly 0.",
    ("a window of 120", "rotary"): "120 words are seen, equal words equally, and nothing is "
    "turned. Was your text long enough?",
    ("a window of 120", "alibi"): "the weights do not fade with the distance, they end after 120 "
    "words.",
    ("a window of 5 and 3 sinks", "nothing"): "the first three and the last five are seen, and "
    "nothing between. Do you look at the first word only?",
    ("a window of 5 and 3 sinks", "added"): "the first three and the last five are seen, equal "
    "words equally, and the others have exactly 0.",
    ("a window of 5 and 3 sinks", "rotary"): "equal words are weighed equally here, as long as "
    "they are seen; those between the sinks and the window have exactly 0.",
    ("a window of 5 and 3 sinks", "alibi"): "the weights do not fade with the distance: the first "
    "three words get as much as the last.",
}

EXPERIMENT = Exercise(
    id="11.experiment",
    title="How is it told the places?",
    level=3,
    minutes=15,
    section="11.10",
    prompt="""
Twelve causal heads came without a description. Each takes rows `x` (L, 8) of your own making, L at
most 256, and returns its weights, (L, L). `how_told(attend)` calls one as often as it likes and
says how it is told where the words stand:

- `"nothing"`: not at all, but for the causal mask;
- `"added"`: something is added to the rows, for each place another;
- `"rotary"`: queries and keys are turned, all of their columns or some;
- `"alibi"`: each step of distance takes the same from the score;
- `"window"`: not at all, but it sees only the last words, 120 at most, and perhaps the first few.
""",
    stub="""
def how_told(attend):
    raise NotImplementedError
""",
    reference=how_told,
    cases=lambda generator: [Case((layer,), note=name) for name, (_, layer) in BOXES.items()],
    mistakes=choices(
        how_told, {(BOXES[name][1], said): tells for (name, said), tells in FOUND.items()}
    ),
    hints=(
        "Take away what you do not ask about: one word in all places. Which weights of the last "
        "row are 0, and are the others equal?",
        "Three ways are left: what remains of each if the word is a row of zeros? And what does "
        "ALiBi do to the logarithm of the weight, from key to key?",
        "Exact zeros: window. All equal: nothing. Equal for zeros alone: rotary. "
        "`row.log().diff()` all the same: alibi. Else: added.",
    ),
    insight="Five ways, five fingerprints, and each needs its own input: a long text, one word "
    "everywhere, silence. An input in which two ways look alike decides nothing between them.",
    comes_back="Any head can be asked in the same way: change one thing, see what moves.",
    code=False,
)

CHAPTER = "11. Language models"
EXERCISES = (KEPT, BYTES, SLOPES, FATE, SHARE, REPAIR, PAIRS, EXPERIMENT)
