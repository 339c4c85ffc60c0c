"""Exercises of chapter 10: long sequences."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention import scaled_dot_product_attention
from attnbook.exercises.common_mistakes import (
    OUTPUT_MISTAKES,
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
    some_sizes,
)

# --- 10.pattern: near words, and a few that everybody knows ----------------------------------


def my_pattern(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    place = torch.arange(length)
    near = (place - place[:, None]).abs() <= window  # (L, L)
    known = torch.tensor([token in global_tokens for token in range(length)])  # (L,)
    return near | known | known[:, None]


def pattern_filled_in(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    mask = torch.ones(length, length, dtype=torch.bool).tril(window).triu(-window)
    for token in global_tokens:
        mask[token, :] = True
        mask[:, token] = True
    return mask


def pattern_cases(generator: Generator) -> list[Case]:
    asked = ((5, 1, ()), (8, 1, (3,)), (7, 0, (2,)), (11, 2, (0, 6)), (13, 3, (9,)), (6, 9, (1,)))
    return [
        Case((n, w, tokens), {"L": n}, f"length {n}, window {w}, global_tokens {tokens}")
        for n, w, tokens in asked
    ]


def drawn(
    near: Callable[[Tensor, int], Tensor] = lambda back, window: back.abs() <= window,
    join: Callable[[Tensor, Tensor], Tensor] = lambda near, known: near | known | known[:, None],
) -> Callable[[int, int, Sequence[int]], Tensor]:
    """This mask, right unless a wrong step is given. `back` is i − j, (L, L)."""

    def wrong(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
        place = torch.arange(length)
        known = torch.tensor([token in global_tokens for token in range(length)])
        return join(near(place[:, None] - place, window), known)

    return wrong


def sliced(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    """What Python makes of `mask[i, i - window : i + window + 1] = True`."""
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, i - window : i + window + 1] = True
    return mask | my_pattern(length, 0, global_tokens) & ~torch.eye(length, dtype=torch.bool)


def marked(length: int, global_tokens: Sequence[int]) -> Tensor:
    known = torch.tensor([token in global_tokens for token in range(length)])
    return known | known[:, None]


def by_a_tuple(length: int, window: int, global_tokens: Sequence[int], columns: bool) -> Tensor:
    """What PyTorch makes of `mask[global_tokens] = True`."""
    mask = my_pattern(length, window, ())
    mask[tuple(global_tokens)] = True
    return mask | marked(length, global_tokens).T.logical_and(
        torch.tensor([token in global_tokens and columns for token in range(length)])
    )


PATTERN = Exercise(
    id="10.pattern",
    title="Near words, and a few that everybody knows",
    level=1,
    minutes=8,
    section="10.8",
    prompt="""
Write `my_pattern(length, window, global_tokens)`: Longformer's mask, boolean, True = may look, of
shape (L, L). Each word sees itself and `window` words on each side. `global_tokens`, a sequence of
positions such as `(0, 6)`, holds words that see every word and are seen by every word.
""",
    stub="""
def my_pattern(length, window, global_tokens):
    raise NotImplementedError
""",
    reference=my_pattern,
    cases=pattern_cases,
    axes="L L",
    mistakes=(
        Mistake(
            drawn(lambda back, window: back.abs() < window),
            "Off by one: the words at a distance of exactly `window` are missing, and with a "
            "window of 0 a word does not even see itself. Compare with `<=`.",
        ),
        Mistake(
            drawn(lambda back, window: (back <= window) & (back > -window)),
            "The farthest word ahead is missing. `range` and slices stop *before* their end: "
            "i − window, …, i + window needs `i + window + 1` there.",
        ),
        Mistake(
            drawn(lambda back, window: (back < window) & (back >= -window)),
            "The farthest word behind is missing: the window reaches from i − window to i + "
            "window, both included.",
        ),
        Mistake(
            lambda length, window, tokens: (
                my_pattern(length, window, tokens) & sliced(length, window, tokens)
            ),
            "The first words have lost their neighbors. A slice that begins at i − window, which "
            "is negative there, counts from the end and comes out empty: `max(i - window, 0)`.",
        ),
        Mistake(
            lambda length, window, tokens: (
                torch.ones(length, length, dtype=torch.bool).triu(window).tril(-window)
                | my_pattern(length, 0, tokens) & ~torch.eye(length, dtype=torch.bool)
                | my_pattern(length, 0, tokens) & marked(length, tokens)
            ),
            "The two diagonals have changed places, and nothing is left between them. `tril(d)` "
            "keeps what lies below diagonal d: the window is `tril(window)` and `triu(-window)`.",
        ),
        Mistake(
            lambda length, window, tokens: (
                torch.ones(length, length, dtype=torch.bool).triu(window).tril(window)
                | my_pattern(length, 0, tokens) & ~torch.eye(length, dtype=torch.bool)
                | my_pattern(length, 0, tokens) & marked(length, tokens)
            ),
            "Only one diagonal is left of the window. It lies between two: `tril(window)` and "
            "`triu(-window)`, the second to the left of the main one.",
        ),
        Mistake(
            lambda length, window, tokens: by_a_tuple(length, window, tokens, columns=False),
            "`mask[(0, 6)]` is the cell in row 0 and column 6, and `mask[()]` the whole mask: a "
            "tuple counts axes. Rows are `mask[list(global_tokens)]`; columns are missing, too.",
        ),
        Mistake(
            lambda length, window, tokens: by_a_tuple(length, window, tokens, columns=True),
            "`mask[(0, 6)]` is the cell in row 0 and column 6, and `mask[()]` the whole mask: a "
            "tuple counts axes. Rows are `mask[list(global_tokens)]`, or one word at a time.",
        ),
        Mistake(
            drawn(lambda back, window: back**2 <= window),
            "You compared the square of the distance with the window. The distance itself is "
            "meant: `.abs()`.",
        ),
        Mistake(
            drawn(lambda back, window: back.abs() <= window // 2),
            "You took `window` for the whole width and halved it. Here it counts the words on "
            "*each* side.",
        ),
        Mistake(
            drawn(lambda back, window: back.abs() <= 2 * window),
            "Your window is twice as wide as asked: `window` words on each side are 2 · window + 1 "
            "in all.",
        ),
        Mistake(
            drawn(lambda back, window: (back >= 0) & (back <= window)),
            "Your words look back only. This window has two sides: it is the *distance* that "
            "counts, whichever its sign.",
        ),
        Mistake(
            drawn(lambda back, window: (back <= 0) & (back >= -window)),
            "Your words look ahead only. This window has two sides: it is the *distance* that "
            "counts, whichever its sign.",
        ),
        Mistake(
            drawn(lambda back, window: back <= window),
            "One side of your window is open: `j` may be as far ahead as it likes. Take the "
            "absolute value of the difference, or cut on both sides.",
        ),
        Mistake(
            drawn(lambda back, window: -back <= window),
            "One side of your window is open: `j` may be as far back as it likes. Take the "
            "absolute value of the difference, or cut on both sides.",
        ),
        Mistake(
            drawn(lambda back, window: (back.abs() <= window) & (back != 0)),
            "Your words do not see themselves. A distance of 0 is in every window.",
        ),
        Mistake(
            drawn(join=lambda near, known: near | known[:, None]),
            "Your global words see everybody, and nobody far away sees them: their columns are "
            "missing. What they have gathered could not be passed on.",
        ),
        Mistake(
            drawn(join=lambda near, known: near | known),
            "Everybody sees your global words, and they see only their neighbors: their rows are "
            "missing. There is nothing in them worth looking up.",
        ),
        Mistake(
            drawn(join=lambda near, known: near | (known & known[:, None])),
            "Your global words see one another, and that is all. Each needs its whole row and its "
            "whole column.",
        ),
        Mistake(
            drawn(join=lambda near, known: near & (known | known[:, None])),
            "You combined with *and*, so that only looks remain that are near and global. One "
            "reason is enough to look: *or*.",
        ),
        Mistake(
            drawn(join=lambda near, known: near),
            "The window is right, and the global words have had no influence.",
        ),
        Mistake(
            drawn(join=lambda near, known: known | known[:, None]),
            "The global words are right, and the window is missing.",
        ),
        Mistake(
            drawn(join=lambda near, known: ~(near | known | known[:, None])),
            "The cells are right, and their meaning is the opposite one: True = may NOT look.",
        ),
        Mistake(
            drawn(join=lambda near, known: near ^ (known | known[:, None])),
            "Where a near word is also a global one, your two reasons cancel: `^` and a sum modulo "
            "2 want just one of them. Either is enough, and so are both: `|`.",
        ),
        Mistake(
            lambda length, window, tokens: my_pattern(length, window, range(len(tokens))),
            "You marked the first words, as many as `global_tokens` is long. It holds their "
            "*positions*: `(3,)` is the word at position 3.",
        ),
        Mistake(
            lambda length, window, tokens: my_pattern(length, window, tokens[:1]),
            "Only the first of the global words is marked. There may be several.",
        ),
        Mistake(
            lambda length, window, tokens: my_pattern(length, window, tokens[-1:]),
            "Only the last of the global words is marked. Does your loop make the mask anew each "
            "time?",
        ),
        Mistake(
            lambda length, window, tokens: my_pattern(
                length, window, [(t - 1) % length for t in tokens]
            ),
            "Your global words stand one place too early. Positions are counted from 0.",
        ),
        Mistake(
            lambda length, window, tokens: my_pattern(length, window, tokens).tril(),
            "The future is hidden. This mask is not causal: Longformer reads the whole document.",
        ),
        Mistake(
            lambda length, window, tokens: my_pattern(length, window, tokens).double(),
            "Numbers are added to the scores: a 1 for yes and a 0 for no hide nothing (section "
            "6.7).",
        ),
        Mistake(
            lambda length, window, tokens: my_pattern(length, window, tokens).long(),
            "Whole numbers are no mask: `~` and `masked_fill` want True and False (section 6.7).",
        ),
    ),
    hints=(
        "The window is about the distance between two positions. `torch.arange(length)` twice, "
        "once lying and once standing, gives all of them.",
        "A global word fills its row and its column: two assignments, or a vector that is joined "
        "once lying and once standing.",
        "`(place - place[:, None]).abs() <= window`, and then `|`.",
    ),
    insight="The window costs L · (2 · window + 1) looks, each global word 2 · L more: all of it "
    "grows with L, nothing with L².",
    comes_back="10.hops counts the layers that such a mask needs to carry a word to everybody.",
    others=(pattern_filled_in,),
)

# --- 10.cheapest: which form at which size ---------------------------------------------------

TEXTS = {
    "a": (50, 64, 32, 0),
    "b": (512, 64, 64, 0),
    "c": (4096, 64, 15, 0),
    "d": (100, 128, 60, 0),
    "e": (100_000, 128, 256, 0),
    "f": (4096, 64, 8, 30),
    "g": (4096, 128, 8, 30),
}


def cheapest(text: str) -> str:
    return {
        "a": "dense",
        "b": "linear",
        "c": "window",
        "d": "dense",
        "e": "linear",
        "f": "linear",
        "g": "window",
    }[text]


CHEAPEST = Exercise(
    id="10.cheapest",
    title="Which form at which size?",
    level=1,
    minutes=8,
    section="10.14",
    prompt="""
One head of width D reads L words. Which form needs the fewest multiplications for comparing and
mixing: `"dense"` (every pair), `"window"` (each word meets itself and w words on each side, edges
not subtracted, and g global words have their rows and columns), or `"linear"` (not causal: the sum
of D × D matrices first)? `cheapest(text)` says it. Leave softmax and φ out, and do not count twice
what window and global words have in common: it is little.

| text | L | D | w | g |
|:--|--:|--:|--:|--:|
| `"a"` | 50 | 64 | 32 | 0 |
| `"b"` | 512 | 64 | 64 | 0 |
| `"c"` | 4,096 | 64 | 15 | 0 |
| `"d"` | 100 | 128 | 60 | 0 |
| `"e"` | 100,000 | 128 | 256 | 0 |
| `"f"` | 4,096 | 64 | 8 | 30 |
| `"g"` | 4,096 | 128 | 8 | 30 |
""",
    stub="""
def cheapest(text):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": ""}
    return found[text]
""",
    reference=cheapest,
    cases=lambda generator: [Case((t,), note=f"text {t}") for t in TEXTS],
    mistakes=choices(
        cheapest,
        {
            ("a", "window"): "32 words on each side and itself are 65, more than the text has. A "
            "window that is wider than the text saves nothing.",
            ("a", "linear"): "The text is shorter than the head is wide: L² · D is less than "
            "L · D².",
            ("b", "dense"): "Dense pays for all 512 keys of each word. What do the other two pay "
            "for each word?",
            ("b", "window"): "The window shows 129 keys to each word, and linear attention costs "
            "as much as 64 keys would.",
            ("c", "dense"): "4,096 keys for each word are the most of the three.",
            ("c", "linear"): "Linear attention costs as much as 64 keys would. The window shows "
            "each word only 31.",
            ("d", "window"): "60 words on each side and itself are 121, and the text has 100.",
            ("d", "linear"): "Linear attention costs as much as 128 keys would, and the text has "
            "100.",
            ("e", "dense"): "At this length dense costs two hundred times what a window does, and "
            "more still than the third form.",
            ("e", "window"): "256 words on *each* side: 513 keys for each word. Linear attention "
            "costs as much as 128 would.",
            ("f", "dense"): "30 global words are not 4,096. Count what each word sees.",
            ("f", "window"): "Each word sees 17 near ones and 30 global ones: 47. But the 30 also "
            "look at everybody, 30 · L more, as much as 30 keys for each word: 77 in all.",
            ("g", "dense"): "Dense pays for 4,096 keys of each word. A wider head makes all three "
            "dearer, and the third the most.",
            ("g", "linear"): "17 near words, 30 global ones to look at, and 30 that look: as much "
            "as 77 keys for each word. Linear attention costs as much as 128, for the head is "
            "wider here.",
        },
    ),
    hints=(
        "Dense: L · L · D for the scores and as much for mixing. Write the other two the same way, "
        "and look for what all three have in common.",
        "2 · L · D is in all of them. What remains is L, or 2w + 1 + 2g, or D.",
        "So compare the three numbers: text a has 50, 65 and 64.",
    ),
    insight="All three are 2 · L · D times something: the length, what a word sees, or the width. "
    "The smallest of the three numbers wins, whatever the length.",
    comes_back="It counts multiplications. What a machine makes of them the chapter measures.",
    code=False,
)

# --- 10.hops: how many layers until the last word hears of the first? ------------------------


def layers_needed(pattern: str) -> int:
    return {"a": 8, "b": 4, "c": 2, "d": 5, "e": 0, "f": 3}[pattern]


HOPS = Exercise(
    id="10.hops",
    title="How many layers until the last word hears of the first?",
    level=2,
    minutes=10,
    section="10.8",
    prompt="""
Six masks for nine words; row i has an `x` where word i may look. Every layer of a model has the
same mask. `layers_needed(pattern)` returns the smallest number of layers after which the output of
the *last* word, row 8, can depend on the *first* word, 0; and 0 if that never happens.

```
      a                     b                     c
0     x x . . . . . . .     x x x . . . . . .     x x . . x . . . .
1     x x x . . . . . .     x x x x . . . . .     x x x . x . . . .
2     . x x x . . . . .     x x x x x . . . .     . x x x x . . . .
3     . . x x x . . . .     . x x x x x . . .     . . x x x . . . .
4     . . . x x x . . .     . . x x x x x . .     x x x x x x x x x
5     . . . . x x x . .     . . . x x x x x .     . . . . x x x . .
6     . . . . . x x x .     . . . . x x x x x     . . . . x x x x .
7     . . . . . . x x x     . . . . . x x x x     . . . . x . x x x
8     . . . . . . . x x     . . . . . . x x x     . . . . x . . x x

      d                     e                     f
0     x x . . x . . . .     x x x . . . . . .     x x . . . . . . x
1     x x x . x . . . .     x x x . . . . . .     x x x . . x . . .
2     . x x x x . . . .     x x x . . . . . .     . x x x . . . . .
3     . . x x x . . . .     . . . x x x . . .     . . x x x . . . .
4     . . . x x x . . .     . . . x x x . . .     x . . x x x . . .
5     . . . . x x x . .     . . . x x x . . .     . . . . x x x . x
6     . . . . x x x x .     . . . . . . x x x     . . x . . x x x .
7     . . . . x . x x x     . . . . . . x x x     . . . x . . x x x
8     . . . . x . . x x     . . . . . . x x x     . . . . . x . x x
```
""",
    stub="""
def layers_needed(pattern):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"a": None, "b": None, "c": None, "d": None, "e": None, "f": None}
    return found[pattern]
""",
    reference=layers_needed,
    cases=lambda generator: [Case((p,), note=f"mask {p}") for p in "abcdef"],
    mistakes=choices(
        layers_needed,
        {
            ("a", 9): "there are nine words, but from the last to the first it is eight steps, "
            "and each layer takes one.",
            ("a", 7): "start at row 8: it sees word 7. From there each layer brings one word more. "
            "How many steps is it from 8 to 0?",
            ("a", 4): "each word sees one word on each side here, not two.",
            ("a", 1): "row 8 sees words 7 and 8 only. What word 7 has heard of comes one layer "
            "later.",
            ("a", 3): "a row has three `x`, but only one of them lies further to the left.",
            ("a", 0): "the windows overlap: word 8 hears of 7, and 7 has heard of 6. Layer by "
            "layer that goes on.",
            ("b", 8): "each layer takes two steps here: row 8 sees word 6.",
            ("b", 2): "after two layers word 8 has heard of word 4: each layer takes two steps.",
            ("b", 5): "8, 6, 4, 2, 0: count the steps, not the words.",
            ("b", 3): "after three layers word 8 has heard of word 2: each layer takes two steps.",
            ("b", 1): "row 8 sees words 6, 7 and 8. The first is far from these.",
            ("b", 0): "the windows overlap, and what one word has heard of another hears a layer "
            "later.",
            ("c", 1): "row 8 has no `x` in column 0. It has one in column 4: what does word 4 "
            "know?",
            ("c", 8): "there is a shorter way than from neighbor to neighbor: look at row 4 and "
            "column 4.",
            ("c", 3): "word 4 needs one layer to hear of word 0. How many does word 8 need to hear "
            "of word 4?",
            ("c", 5): "word 4 need not go from neighbor to neighbor: its row is full.",
            ("c", 0): "row 8 has an `x` in column 4, and row 4 has one in column 0.",
            ("d", 2): "everybody sees word 4, but what does word 4 see? Its row is an ordinary "
            "window.",
            ("d", 8): "row 8 has an `x` in column 4: one step in place of four.",
            ("d", 4): "from word 4 to word 0 it is four steps. And from word 8 to word 4?",
            ("d", 1): "row 8 has no `x` in column 0.",
            ("d", 6): "from 8 to 4 is one step, since column 4 is full. Then how many are left?",
            ("d", 0): "there is a way: from row 8 to column 4, and from there along the windows.",
            ("e", 8): "words 6, 7 and 8 see one another, and nobody else. However many layers: "
            "what comes in from outside?",
            ("e", 3): "three blocks do not make three steps: no `x` leads from one block to "
            "another.",
            ("e", 2): "the words of a block know all of it after one layer, and no more after "
            "two: no `x` leads out of it.",
            ("e", 1): "row 8 sees words 6, 7 and 8.",
            ("e", 4): "no `x` leads from one block to another. Over which word should the news "
            "come?",
            ("f", 1): "that is row 0, column 8: word 0 sees word 8. You need row 8, column 0, and "
            "it is empty.",
            ("f", 8): "there are shorter ways: follow the single `x` that stand beside the window.",
            ("f", 2): "row 8 sees 5, 7 and 8. Does one of their rows have an `x` in column 0?",
            ("f", 4): "there is a shorter way: row 8 sees word 5, row 5 sees word 4. Now look at "
            "row 4.",
            ("f", 5): "there is a shorter way: row 8 sees word 5. What does word 5 see, and what "
            "sees word 0?",
            ("f", 0): "row 8 sees word 5. From there it is not far.",
        },
    ),
    hints=(
        "Start at row 8 and write down which words it sees. A layer before, what do *those* see?",
        "A row says whom a word may look at. News flow the other way, from column to row.",
        "c goes 8, 4, 0. d goes 8, 4, and then on foot. In f look at rows 8, 5 and 4.",
    ),
    insight="A window of w words a side needs L / w layers to cross a text, a global word two, a "
    "few random looks not many more, and blocks alone never arrive.",
    comes_back="Section 10.10 sends a fact through such a global word.",
    code=False,
)

# --- 10.merge: two chunks, one result --------------------------------------------------------


def my_merge(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> Tensor:
    share = torch.stack((lse_a, lse_b)).softmax(dim=0)[..., None]  # (2, ..., Lq, 1)
    return share[0] * output_a + share[1] * output_b


def merge_by_a_sigmoid(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> Tensor:
    share = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    return output_b + share * (output_a - output_b)


def merge_cases(generator: Generator) -> list[Case]:
    def chunk(*sizes: int, level: float | Tensor = 0.0, empty: int | None = None) -> list[Tensor]:
        output, lse = draw(generator, *sizes), draw(generator, *sizes[:-1]) + level
        if empty is not None:
            gone = torch.arange(sizes[-2]) == empty
            lse = lse.masked_fill(gone, -torch.inf)
            output = output.masked_fill(gone[:, None], 0.0)
        return [output, lse]

    def case(note: str, *sizes: int, b: dict[str, int] | None = None, **a: float | Tensor) -> Case:
        names = ("A", "B", "H", "Lq", "Dv")[-len(sizes) :]
        arguments = (*chunk(*sizes, **a), *chunk(*sizes, **(a if b is None else b)))  # type: ignore[arg-type]
        return Case(arguments, dict(zip(names, sizes, strict=True)), note)

    lq, dv = some_sizes(generator, 2)
    return [
        case("3 queries", 3, 5),
        case(f"{lq} queries", lq, dv),
        case("2 sentences, 3 heads", 2, 3, 5, 7),
        case("one axis more in front", 4, 2, 3, 5, 6),
        case("loud scores: every lse is near 1000", 3, 6, level=1000.0),
        case(
            "query 0 has loud scores, query 1 very low ones",
            3,
            7,
            level=torch.tensor([900.0, -900.0, 0.0]),
        ),
        case("query 2 may look at nothing in chunk a", 5, 3, empty=2, b={}),
        case("query 0 may look at nothing in chunk b", 3, 8, b={"empty": 0}),
    ]


Pair = Callable[[Tensor, Tensor], Tensor]


def shared_by(share: Pair) -> Callable[..., Tensor]:
    """A merge with the share that this function gives to chunk a, (..., Lq)."""

    def wrong(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> Tensor:
        a = share(lse_a, lse_b)[..., None]
        return a * output_a + (1 - a) * output_b

    return wrong


def cut_off(low: float, high: float) -> Callable[..., Tensor]:
    def share(lse_a: Tensor, lse_b: Tensor) -> Tensor:
        a, b = lse_a.clamp(low, high).exp(), lse_b.clamp(low, high).exp()
        return a / (a + b)

    return shared_by(share)


def between(answer: Tensor, case: Case) -> bool:
    a, _, b, _ = case.arguments
    low, high = torch.minimum(a, b), torch.maximum(a, b)
    return not bool(((answer < low - 1e-6) | (answer > high + 1e-6)).any())  # nan is neither


MERGE = Exercise(
    id="10.merge",
    title="Two chunks, one result",
    level=2,
    minutes=12,
    section="10.4",
    prompt="""
The keys were cut into two chunks, and each query has attended to either alone. Of chunk a came its
`output_a` (..., Lq, Dv), as if there were no other keys, and `lse_a` (..., Lq): for each query its
log-sum-exp (LSE), the logarithm of the sum of e^score over this chunk's keys. Chunk b gives the
same two. Write `my_merge(output_a, lse_a, output_b, lse_b)`: the output of attention over all keys,
(..., Lq, Dv).
The scores themselves are gone, and they may have been in the hundreds. A query that could look at
nothing in a chunk has an `lse` of −∞ there and an output of zeros; in one of the two it had
something to look at.
""",
    stub="""
def my_merge(output_a, lse_a, output_b, lse_b):
    raise NotImplementedError
""",
    reference=my_merge,
    cases=merge_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (output_a + output_b) / 2,
            "You took the average of the two. A chunk counts as much as the sum of its e^score, "
            "and that is not the same for both.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: output_a + output_b,
            "You added the two outputs. Each is an average by itself already: their shares have to "
            "sum to 1.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                (lse_a[..., None] * output_a + lse_b[..., None] * output_b)
                / (lse_a + lse_b)[..., None]
            ),
            "The shares are those of the logarithms. It is the sums themselves that count: "
            "e^lse_a against e^lse_b. (A logarithm may be negative.)",
        ),
        Mistake(
            shared_by(lambda a, b: a.exp() / (a.exp() + b.exp())),
            "Right as long as the scores are small. e^1000 is infinite, and infinite over infinite "
            "is nan; e^−900 is 0, and 0/0 is nan. Subtract the larger of the two first, as a safe "
            "softmax does.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                (output_a + (lse_b - lse_a).exp()[..., None] * output_b)
                / (1 + (lse_b - lse_a).exp()[..., None])
            ),
            "e^(lse_b − lse_a) is infinite if chunk b is far louder than chunk a, or a is empty, "
            "and infinite over infinite is nan. Measure both by the larger of the two, as a safe "
            "softmax does.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                (lse_a - (lse_a.exp() + lse_b.exp()).log()).exp()[..., None] * output_a
                + (lse_b - (lse_a.exp() + lse_b.exp()).log()).exp()[..., None] * output_b
            ),
            "Right as long as the scores are small. The sum of both is taken without a maximum: "
            "e^1000 is infinite, and so is its logarithm. `torch.logaddexp` does this safely.",
        ),
        Mistake(
            cut_off(-math.inf, 80.0),
            "You cut the logarithms off where e^lse would overflow. Then a chunk at 1000 and one "
            "at 1002 count alike. Subtract the larger of the two instead: only their *difference* "
            "matters.",
        ),
        Mistake(
            cut_off(-80.0, 80.0),
            "You cut the logarithms off at both ends. Then chunks at 1000 and at 1002 count alike, "
            "and so do those at −900 and −902. Subtract the larger of the two instead: only their "
            "*difference* matters.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                shared_by(lambda a, b: a.exp() / (a.exp() + b.exp()))(
                    output_a, lse_a, output_b, lse_b
                )
            ).nan_to_num(),
            "Where e^1000 is infinite you put 0 for nan. That hides the fault and keeps the wrong "
            "number: subtract the larger of the two logarithms first, as a safe softmax does.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                (lse_a - torch.maximum(lse_a, lse_b)).exp()[..., None] * output_a
                + (lse_b - torch.maximum(lse_a, lse_b)).exp()[..., None] * output_b
            ),
            "The powers are safe, and nothing divides them by their sum: the two shares have to "
            "sum to 1.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                (
                    (lse_a - torch.maximum(lse_a, lse_b))[..., None] * output_a
                    + (lse_b - torch.maximum(lse_a, lse_b))[..., None] * output_b
                )
                / (lse_a + lse_b - 2 * torch.maximum(lse_a, lse_b))[..., None]
            ),
            "The maximum is subtracted, and the exponential is missing: the shares are those of "
            "e^(lse − maximum).",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                torch.cat((lse_a, lse_b), -1).softmax(-1).chunk(2, -1)[0][..., None] * output_a
                + torch.cat((lse_a, lse_b), -1).softmax(-1).chunk(2, -1)[1][..., None] * output_b
            ),
            "One softmax ran over all queries of both chunks. For each query its *two* shares have "
            "to sum to 1: stack the chunks along an axis of their own, and take the softmax over "
            "that.",
        ),
        Mistake(
            shared_by(lambda a, b: a.exp() / (a.exp() + b.exp() + 1e-9)),
            "A small number in the denominator does not help: e^1000 is infinite. Subtract the "
            "larger of the two logarithms first, as a safe softmax does.",
        ),
        Mistake(
            shared_by(
                lambda a, b: (
                    (a - max(a.max(), b.max())).exp()
                    / ((a - max(a.max(), b.max())).exp() + (b - max(a.max(), b.max())).exp())
                )
            ),
            "You subtracted one largest number for all queries. Where another query is far louder, "
            "a quiet one is left with 0/0, nan. Each query has a maximum of its own: "
            "`torch.maximum(lse_a, lse_b)`.",
        ),
        Mistake(
            shared_by(lambda a, b: torch.sigmoid(b - a)),
            "The shares are exchanged: chunk a has got what belongs to chunk b.",
        ),
        Mistake(
            shared_by(lambda a, b: torch.sigmoid(a)),
            "The share of chunk a hangs on `lse_a` alone. It is how much *larger* it is than the "
            "other that counts: the sigmoid of lse_a − lse_b.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                output_a if bool((lse_a > lse_b).all()) else output_b
            ),
            "One chunk is taken whole, for all queries. Each query has shares of its own, and both "
            "chunks get something.",
        ),
        Mistake(
            shared_by(lambda a, b: (a > b).to(a)),
            "The chunk with the larger sum takes everything. The other has its share, too.",
        ),
        Mistake(
            shared_by(lambda a, b: a.softmax(-1)),
            "Your softmax ran over the queries. What has to sum to 1 are the shares of the two "
            "chunks, for each query: stack `lse_a` and `lse_b`, and take the softmax over that "
            "axis.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                lse_a.softmax(-1)[..., None] * output_a + lse_b.softmax(-1)[..., None] * output_b
            ),
            "Each chunk ran a softmax over its own queries. What has to sum to 1 are the shares of "
            "the two chunks, query by query.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                lse_a.exp()[..., None] * output_a + lse_b.exp()[..., None] * output_b
            ),
            "The outputs are multiplied by the sums of their chunks, and the division by the sum "
            "of both is missing.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                lse_a[..., None] * output_a + lse_b[..., None] * output_b
            ),
            "The outputs are multiplied by logarithms. The share of chunk a is e^lse_a divided by "
            "e^lse_a + e^lse_b.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                torch.sigmoid(lse_a - lse_b)[..., None] * output_a + output_b
            ),
            "Chunk b counts whole. Its share is what chunk a leaves: 1 minus the other.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                lse_a.sigmoid()[..., None] * output_a + lse_b.sigmoid()[..., None] * output_b
            ),
            "A sigmoid of each alone: these shares do not sum to 1. The sigmoid of the "
            "*difference* lse_a − lse_b is the share of chunk a.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                torch.sigmoid(lse_a - lse_b) * output_a
                + (1 - torch.sigmoid(lse_a - lse_b)) * output_b
            ),
            "Each query has one share for its whole row, so shares (..., Lq) that meet outputs "
            "(..., Lq, Dv) need one more axis, at the end: `[..., None]`.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: torch.maximum(output_a, output_b),
            "You took the larger number in each place. The output is a mixture of the two, with a "
            "share for each query.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                (lse_a - torch.logaddexp(lse_a, lse_b))[..., None] * output_a
                + (lse_b - torch.logaddexp(lse_a, lse_b))[..., None] * output_b
            ),
            "You have the logarithms of the shares, lse_a − logaddexp(lse_a, lse_b). The shares "
            "themselves are e to that power.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: output_a,
            "Chunk b has had no influence.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: torch.cat((output_a, output_b), dim=-2),
            "You put the outputs one below the other. The *keys* were cut, not the queries: each "
            "query has one output, made of two.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: torch.cat((output_a, output_b), dim=-1),
            "You put the outputs side by side, as heads are. Both are as wide as the answer: they "
            "have to be mixed.",
        ),
    ),
    properties=(
        Property(
            "Each number has to lie between those of the two outputs, since both shares are "
            "between 0 and 1. Yours does not.",
            between,
        ),
    ),
    hints=(
        "With the sums S_a and S_b of e^score, how much of the whole belongs to chunk a? "
        "`lse_a` is the logarithm of S_a.",
        "The shares are e^lse_a and e^lse_b, divided by their sum. Which function of the book "
        "computes just that, safely?",
        "`torch.stack((lse_a, lse_b)).softmax(dim=0)` holds both shares, (2, ..., Lq). Give each "
        "an axis for the width.",
    ),
    insight="Two chunks are two keys, with their lse for scores and their outputs for values: a "
    "softmax over chunks. So pieces can be computed anywhere, and merged in any order.",
    comes_back="The next exercise but one does the same along a text, chunk by chunk, and keeps "
    "one running sum.",
    others=(merge_by_a_sigmoid,),
)

# --- 10.running: linear attention as a running state -----------------------------------------


def my_running(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    state: Any = 0
    total: Any = 0
    rows = []
    for q, k, v in zip(query.unbind(-2), key.unbind(-2), value.unbind(-2), strict=True):
        state = state + k[..., :, None] * v[..., None, :]  # (..., Dk, Dv)
        total = total + k  # (..., Dk)
        read = (q[..., None, :] @ state).squeeze(-2)  # (..., Dv)
        rows.append(read / (q * total).sum(-1, keepdim=True))
    return torch.stack(rows, dim=-2)


def running_in_parallel(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = (query @ key.mT).tril()
    return (weights / weights.sum(-1, keepdim=True)) @ value


def running_cases(generator: Generator) -> list[Case]:
    def case(note: str, *sizes: int) -> Case:
        *front, length, dk, dv = sizes
        names = ("A", "B", "H", "L", "Dk", "Dv")[-len(sizes) :]
        query, key = (draw(generator, *front, length, dk).exp() for _ in range(2))
        value = draw(generator, *front, length, dv)
        return Case((query, key, value), dict(zip(names, sizes, strict=True)), note)

    length, dk, dv = some_sizes(generator, 3)
    return [
        case("3 words", 3, 5, 7),
        case(f"{length} words", length, dk, dv),
        case("2 sentences, 3 heads", 2, 3, 5, 6, 7),
        case("one axis more in front", 4, 2, 3, 5, 7, 6),
        case("1 word", 1, 5, 3),
    ]


def in_sums(
    state: Callable[[Tensor], Tensor] = lambda pairs: pairs.cumsum(-3),
    total: Callable[[Tensor], Tensor] = lambda key: key.cumsum(-2),
    before: Callable[[Tensor], Tensor] = lambda x: x,
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """The same with all states at once, right unless a wrong sum is given."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        query, key = before(query), before(key)
        states = state(key[..., :, None] * value[..., None, :])  # (..., L, Dk, Dv)
        read = (query[..., None, :] @ states).squeeze(-2)
        return read / (query * total(key)).sum(-1, keepdim=True)

    return wrong


def everything(x: Tensor, axis: int) -> Tensor:
    return x.sum(axis, keepdim=True).expand_as(x)


def backwards(x: Tensor, axis: int) -> Tensor:
    return x.flip(axis).cumsum(axis).flip(axis)


def without_itself(x: Tensor, axis: int) -> Tensor:
    return x.cumsum(axis) - x


def by_earlier_words(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = (query @ key.mT).tril(-1)
    return (weights / weights.sum(-1, keepdim=True)).nan_to_num() @ value


RUNNING = Exercise(
    id="10.running",
    title="A state that runs along",
    level=2,
    minutes=12,
    section="10.12 (second reading)",
    prompt="""
Write `my_running(query, key, value)`: causal linear attention. `query` and `key`, (..., L, Dk),
have been through φ already, so all their numbers are positive; `value` is (..., L, Dv). Word i
gives each word j ≤ i the weight q_i · k_j, divided by the sum of these weights over all j ≤ i.
Return the outputs, (..., L, Dv). Try it without a matrix of L × L: one word after the other, with a
sum of Dk × Dv numbers and one of Dk that run along.
""",
    stub="""
def my_running(query, key, value):
    raise NotImplementedError
""",
    reference=my_running,
    cases=running_cases,
    axes="A B H L Dv",
    mistakes=(
        Mistake(
            in_sums(lambda pairs: everything(pairs, -3), lambda key: everything(key, -2)),
            "Every word sees all words, those after it too: your sums are complete before the "
            "first word reads them. Word i may know the sums up to word i only.",
        ),
        Mistake(
            in_sums(total=lambda key: everything(key, -2)),
            "You divide by the sum over *all* words, and mix only those up to i. The weights of a "
            "row then sum to less than 1, and the future is in every denominator.",
        ),
        Mistake(
            in_sums(state=lambda pairs: everything(pairs, -3)),
            "The denominator is causal, and what is mixed is not: the state already holds all "
            "words. Both sums grow word by word.",
        ),
        Mistake(
            in_sums(lambda pairs: without_itself(pairs, -3), lambda key: without_itself(key, -2)),
            "A word reads the sums before it has added itself. Then the first has nothing to read, "
            "0/0, and no word sees itself: add first.",
        ),
        Mistake(
            in_sums(lambda pairs: without_itself(pairs, -3)),
            "A word reads the state before it has added its own pair to it: add first.",
        ),
        Mistake(
            in_sums(total=lambda key: without_itself(key, -2)),
            "The denominator lacks the word itself, which is in the numerator: add the key to its "
            "sum first.",
        ),
        Mistake(
            in_sums(lambda pairs: backwards(pairs, -3), lambda key: backwards(key, -2)),
            "Each word sees itself and what comes after it: sums that run from the end, or the "
            "upper triangle.",
        ),
        Mistake(
            in_sums(lambda pairs: pairs, lambda key: key),
            "Nothing is added up: each word sees itself alone, so its output is its own value. "
            "State and sum have to be kept from word to word.",
        ),
        Mistake(
            in_sums(total=lambda key: key),
            "You divide by q · k of the word itself. The keys have a running sum, too.",
        ),
        Mistake(
            in_sums(state=lambda pairs: pairs),
            "The state holds the newest pair only: it has to be added to those before.",
        ),
        Mistake(
            lambda query, key, value: (query @ key.mT).tril() @ value,
            "The division is missing. The weights q · k are positive, but nothing makes them sum "
            "to 1.",
        ),
        Mistake(
            lambda query, key, value: (query @ key.mT).tril() @ value / query.sum(-1, keepdim=True),
            "You divide by the sum of the query's own numbers. What sums the weights of word i is "
            "q_i · (sum of the keys so far).",
        ),
        Mistake(
            by_earlier_words,
            "A word does not see itself here, and so the first has nothing to look at: the sums "
            "run over j ≤ i, the word itself included.",
        ),
        Mistake(
            lambda query, key, value: torch.stack(
                [
                    (query[..., i : i + 1, :] @ key[..., : i + 1, :].mT @ value[..., : i + 1, :])[
                        ..., 0, :
                    ]
                    / (query[..., i, :] * key[..., : i + 1, :].sum(-2)).sum()
                    for i in range(query.size(-2))
                ],
                dim=-2,
            ),
            "One denominator serves all sentences and heads: `.sum()` without an axis adds up "
            "everything. `.sum(-1, keepdim=True)` leaves each its own.",
        ),
        Mistake(
            in_sums(lambda pairs: pairs.cumsum(0), lambda key: key.cumsum(0)),
            "Your sums run along axis 0. With a batch that is the sentences: count axes from the "
            "end, the words are axis −2 of the keys.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT)
                .masked_fill(
                    ~torch.ones(
                        query.size(-2), query.size(-2), dtype=torch.bool, device=query.device
                    ).tril(),
                    -torch.inf,
                )
                .softmax(-1)
                @ value
            ),
            "A softmax over the past. Linear attention does without: q · k is the weight itself, "
            "divided by the sum of the row.",
        ),
        Mistake(
            lambda query, key, value: query @ (key.mT @ value),
            "Two things. The division is missing; and `key.mT @ value` adds up all words, those "
            "after i too.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).tril()
                @ value
                / torch.arange(1, query.size(-2) + 1, device=query.device)[:, None]
            ),
            "You divide by the number of words so far. The weights of word i sum to Σ q_i · k_j: "
            "divide by that.",
        ),
        Mistake(
            lambda query, key, value: (query @ key.mT).tril().softmax(-1) @ value,
            "A softmax is what linear attention does without: it would need every single score. "
            "Here q · k is the weight itself, and is divided by its sum.",
        ),
        Mistake(
            lambda query, key, value: scaled_dot_product_attention(
                query,
                key,
                value,
                torch.ones(
                    query.size(-2), query.size(-2), dtype=torch.bool, device=query.device
                ).tril(),
            )[0],
            "That is ordinary causal attention, with a softmax. Here q · k is the weight itself, "
            "divided by its sum.",
        ),
        Mistake(
            in_sums(total=lambda key: key.cumsum(-1)),
            "The sum of the keys runs along their columns. It runs along the words, axis −2, as "
            "the state does.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).tril()
                @ value
                / ((query @ key.mT).tril() @ value).sum(-1, keepdim=True)
            ),
            "You divided the output by its own sum. What has to sum to 1 are the weights, Σ q_i · "
            "k_j, and not what they have fetched.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).tril() / (query @ key.mT).tril().sum(1, keepdim=True) @ value
            ),
            "The weights are summed along axis 1, which is right for one sentence without heads. "
            "The keys are the last axis: `sum(-1, keepdim=True)`.",
        ),
        Mistake(
            lambda query, key, value: (
                ((query @ key.mT).tril() / math.sqrt(query.size(-1))).softmax(-1) @ value
            ),
            "A softmax of the scaled scores, and those of the future are 0, which e⁰ makes an "
            "ordinary weight. Linear attention has no softmax: q · k is the weight, divided by the "
            "sum of its row.",
        ),
        Mistake(
            lambda query, key, value: (key @ query.mT).tril() @ value,
            "Queries and keys have changed places: the state collects keys, and the query reads "
            "it. And the division is missing.",
        ),
        Mistake(
            lambda query, key, value: my_running(key, query, value),
            "Queries and keys have changed places: the state collects keys, and the query reads "
            "it.",
        ),
        Mistake(
            lambda query, key, value: (
                ((query * key).sum(-1, keepdim=True) * value).cumsum(-2)
                / (query * key).sum(-1, keepdim=True).cumsum(-2)
            ),
            "Each value came in with the weight that its *own* query gives its key. It is word i's "
            "query that weighs all of them, so it must not be in the sums: it reads them.",
        ),
        Mistake(
            in_sums(before=lambda x: F.elu(x) + 1),
            "φ was applied once more. Queries and keys have been through it already.",
        ),
        Mistake(
            in_sums(before=torch.exp),
            "The exponential was taken. Queries and keys are positive already, φ lies behind them.",
        ),
        Mistake(
            lambda query, key, value: (query @ key.mT / math.sqrt(query.size(-1))).tril() @ value,
            "Divided by √Dk, as a softmax needs it. A factor cancels here as soon as you divide by "
            "the sum of the weights, and that division is what is missing.",
        ),
        Mistake(
            lambda query, key, value: (
                query[..., None, :]
                @ (
                    (key[..., :, None] * value[..., None, :]).cumsum(-3)
                    / key.cumsum(-2)[..., :, None]
                )
            ).squeeze(-2),
            "You divided each row of the state by its own sum of keys. The denominator is one "
            "number for each word, q · (sum of keys), and it comes after the query has read.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).tril() @ value / key.cumsum(-2).sum(-1, keepdim=True)
            ),
            "You divide by the sum of all numbers in the keys so far. The query takes part: "
            "q · (sum of keys).",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).tril() @ value / (query * key).sum(-1, keepdim=True).cumsum(-2)
            ),
            "Your denominator adds up q_j · k_j, each word's query with its own key. It is the "
            "query of word i that meets all keys so far: q_i · Σ k_j.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).tril() / (query @ key.mT).tril().sum(-2, keepdim=True) @ value
            ),
            "The columns of your weights sum to 1. Each word shares out its own weights: add up "
            "over the keys, the last axis.",
        ),
        Mistake(
            lambda query, key, value: (
                (query[..., None, :] @ (key[..., :, None] * value[..., None, :]).cumsum(-3))
                / (query * key.cumsum(-2)).sum(-1)[..., None, None]
            ),
            "One axis of size 1 is left over from the product: `.squeeze(-2)`.",
        ),
        Mistake(
            lambda query, key, value: in_sums()(query, key, value)[..., -1:, :],
            "This is the output of the last word. Each word has one: keep them all.",
        ),
    ),
    hints=(
        "q_i · k_j times v_j, added up over j ≤ i: q_i can be drawn in front of the sum. What "
        "remains inside?",
        "The sum of the products of k_j, standing, and v_j, lying: Dk × Dv numbers. The "
        "denominator is q_i · Σ k_j. Both grow by one term a word.",
        "`state = state + k[..., :, None] * v[..., None, :]`, `total = total + k`; then "
        "`q[..., None, :] @ state`, divided by `(q * total).sum(-1, keepdim=True)`.",
    ),
    insight="The state has Dk · Dv numbers after ten words and after a million. That is what "
    "makes it cheap, and why it cannot keep every word apart.",
    comes_back="In 10.experiment you find out from outside who reads with such a state.",
    others=(running_in_parallel,),
)

# --- 10.repair: chunks that do not fit together ----------------------------------------------


def my_chunked(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
    query = query / math.sqrt(query.size(-1))
    largest = torch.full_like(query[..., :1], -math.inf)  # (..., Lq, 1)
    total: Any = 0
    output: Any = 0
    for start in range(0, key.size(-2), chunk):
        keys, values = key[..., start : start + chunk, :], value[..., start : start + chunk, :]
        scores = query @ keys.mT  # (..., Lq, chunk)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        old, powers = (largest - new).exp(), (scores - new).exp()
        total = total * old + powers.sum(-1, keepdim=True)
        output = output * old + powers @ values
        largest = new
    return output / total


def chunked_by_merging(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
    outputs, lse = [], []
    for keys, values in zip(key.split(chunk, dim=-2), value.split(chunk, dim=-2), strict=True):
        scores = query @ keys.mT / math.sqrt(query.size(-1))
        outputs.append(scores.softmax(-1) @ values)
        lse.append(scores.logsumexp(-1))
    shares = torch.stack(lse).softmax(0)[..., None]
    return (shares * torch.stack(outputs)).sum(0)


def repair_cases(generator: Generator) -> list[Case]:
    def case(
        note: str, chunk: int, *sizes: int, louder: Sequence[float] = (), quiet: bool = False
    ) -> Case:
        """`louder` is added to the keys' first numbers, and every query begins with √Dk."""
        *front, lq, lk, dk, dv = sizes
        names = ("A", "B", "H", "Lq", "Lk", "Dk", "Dv")[-len(sizes) :]
        query, key = draw(generator, *front, lq, dk), draw(generator, *front, lk, dk)
        if louder:
            signs = 1.0 - 2.0 * (torch.arange(lq) == 1) * quiet
            own = (dk**0.5 * signs.to(query))[:, None].expand(*query.shape[:-1], 1)
            query = torch.cat((own, query[..., 1:]), dim=-1)
            first = torch.tensor(louder, dtype=key.dtype)[:, None].expand(*key.shape[:-1], 1)
            key = torch.cat((first, key[..., 1:]), dim=-1)
        arguments = (query, key, draw(generator, *front, lk, dv), chunk)
        return Case(arguments, dict(zip(names, sizes, strict=True)), note)

    lq, lk, dk, dv = some_sizes(generator, 4)
    return [
        case("one chunk: 3 keys, chunk 3", 3, 5, 3, 6, 7),
        case("6 keys, chunk 3", 3, 5, 6, 7, 8),
        case("7 keys, chunk 3", 3, 2, 7, 5, 6),
        case("5 keys, chunk 8", 8, 3, 5, 6, 7),
        case(f"{lk} keys, chunk 2", 2, lq, lk, dk, dv),
        case("2 sentences, 3 heads: 8 keys, chunk 3", 3, 2, 3, 5, 8, 7, 6),
        case("the scores rise: 3, then 800", 2, 3, 5, 6, 7, louder=(3.0, 2.0, 1.0, 800.0, 799.0)),
        case("the scores fall: 800, then 3", 2, 3, 5, 6, 7, louder=(800.0, 799.0, 3.0, 2.0, 1.0)),
        case(
            "scores of query 0 near 800, of query 1 near −800",
            2,
            3,
            5,
            7,
            6,
            louder=(800.0, 801.0, 799.0, 800.5, 798),
            quiet=True,
        ),
        case(
            "every score is near −900", 2, 3, 5, 7, 6, louder=(-900.0, -901.0, -899.0, -900.5, -898)
        ),
    ]


Rounds = Callable[[int, int], Iterable[int]]


def all_chunks(n: int, chunk: int) -> Iterable[int]:
    return range(-(-n // chunk))


def full_chunks(n: int, chunk: int) -> Iterable[int]:
    return range(n // chunk)


def piecewise(
    rounds: Rounds = all_chunks,
    total_old: Pair = lambda largest, new: (largest - new).exp(),
    output_old: Pair = lambda largest, new: (largest - new).exp(),
    newest: Pair = torch.maximum,
    powers_of: Pair = lambda scores, new: (scores - new).exp(),
    begin: float = -math.inf,
    keep: Pair = lambda largest, new: new,
    whole: Callable[[Any, Any], Tensor] = lambda output, total: output / total,
    head: Head = Head(),  # noqa: B008  frozen
) -> Callable[[Tensor, Tensor, Tensor, int], Tensor]:
    """The loop over chunks, right unless a wrong step is given."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
        largest = torch.full_like(query[..., :1], begin)
        total: Any = 0
        output: Any = 0
        for i in rounds(key.size(-2), chunk):
            keys, values = key.split(chunk, dim=-2)[i], value.split(chunk, dim=-2)[i]
            scores = head.scores(query, keys)
            new = newest(largest, scores.amax(-1, keepdim=True))
            powers = powers_of(scores, new)
            total = total * total_old(largest, new) + powers.sum(-1, keepdim=True)
            here = head.output(powers, query, keys, values)
            output = output * output_old(largest, new) + here
            largest = keep(largest, new)
        return whole(output, total)

    return wrong


def grown_by(add: Callable[[Any, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Both sums become add(sum so far, what this chunk brings, factor)."""

    def wrong(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
        largest = torch.full_like(query[..., :1], -math.inf)
        total: Any = 0
        output: Any = 0
        for keys, values in zip(key.split(chunk, dim=-2), value.split(chunk, dim=-2), strict=True):
            scores = scaled_scores(query.size(-1), query, keys)
            new = torch.maximum(largest, scores.amax(-1, keepdim=True))
            old, powers = (largest - new).exp(), (scores - new).exp()
            total = add(total, powers.sum(-1, keepdim=True), old)
            output = add(output, powers @ values, old)
            largest = new
        return output / total

    return wrong


def as_it_was(largest: Tensor, new: Tensor) -> Tensor:
    return torch.ones_like(new)


def inside_out(largest: Tensor, new: Tensor) -> Tensor:
    return (new - largest).exp()


def averaged(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
    pieces = zip(key.split(chunk, dim=-2), value.split(chunk, dim=-2), strict=True)
    return torch.stack([scaled_dot_product_attention(query, k, v)[0] for k, v in pieces]).mean(0)


def added(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
    pieces = zip(key.split(chunk, dim=-2), value.split(chunk, dim=-2), strict=True)
    return torch.stack([scaled_dot_product_attention(query, k, v)[0] for k, v in pieces]).sum(0)


REPAIR = Exercise(
    id="10.repair",
    title="Chunks that do not fit together",
    level=3,
    minutes=15,
    section="10.5",
    prompt="""
Attention, chunk by chunk, that never holds more than (..., Lq, `chunk`) scores. If the keys fill
just one chunk it is exact. With more it is not, and for some lengths it forgets keys altogether:
find the two faults. One of them sits in two lines. `query` is (..., Lq, Dk), `key` (..., Lk, Dk),
`value` (..., Lk, Dv), the output (..., Lq, Dv).
""",
    stub="""
def my_chunked(query, key, value, chunk):
    raise NotImplementedError  # repair the lines below, then delete this one
    largest, total, output = torch.full_like(query[..., :1], -math.inf), 0, 0
    for i in range(key.size(-2) // chunk):
        keys, values = key.split(chunk, dim=-2)[i], value.split(chunk, dim=-2)[i]
        scores = query @ keys.mT / math.sqrt(query.size(-1))  # (..., Lq, chunk)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        powers = (scores - new).exp()
        total = total + powers.sum(-1, keepdim=True)
        output = output + powers @ values
        largest = new
    return output / total
""",
    reference=my_chunked,
    cases=repair_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            piecewise(full_chunks, as_it_was, as_it_was),
            "Both faults are still there. How many chunks are 7 keys with a chunk of 3? And when a "
            "larger score turns up, what are the sums from before measured in?",
        ),
        Mistake(
            piecewise(total_old=as_it_was, output_old=as_it_was),
            "No key is forgotten now. But what was added up before is measured in e^(−largest) of "
            "that time: when `new` is larger, both sums have to shrink by e^(largest − new). If "
            "you have that factor: is `largest` still the old one where you take it?",
        ),
        Mistake(
            piecewise(full_chunks),
            "The sums fit together now. The last chunk is missing if it is not full: `//` rounds "
            "down.",
        ),
        Mistake(
            piecewise(full_chunks, output_old=as_it_was),
            "`total` is rescaled, `output` is not yet; and the last chunk is missing if it is not "
            "full.",
        ),
        Mistake(
            piecewise(full_chunks, as_it_was),
            "`output` is rescaled, `total` is not yet; and the last chunk is missing if it is not "
            "full.",
        ),
        Mistake(
            piecewise(output_old=as_it_was),
            "`total` is rescaled, `output` is not. Both were added up under the old maximum.",
        ),
        Mistake(
            piecewise(total_old=as_it_was),
            "`output` is rescaled, `total` is not. Both were added up under the old maximum.",
        ),
        Mistake(
            piecewise(total_old=inside_out, output_old=inside_out),
            "From the first chunk on something is infinite, for `largest` is −∞ there. Is the "
            "factor upside down, or without its exponential, or are the powers measured by "
            "`largest` in place of `new`? What was divided by e^largest is to be divided by e^new: "
            "multiply by e^(largest − new).",
        ),
        Mistake(
            piecewise(newest=lambda largest, here: here),
            "`new` is the largest score of this chunk alone. On paper that is right; but when the "
            "scores fall, e^(largest − new) is infinite. The maximum never goes down: "
            "`torch.maximum`.",
        ),
        Mistake(
            piecewise(newest=lambda largest, here: torch.maximum(largest, here.max())),
            "One maximum serves all queries. Where one of them is far louder, the powers of a "
            "quiet one are all 0, and 0/0 is nan. Each has its own: `amax(-1, keepdim=True)`.",
        ),
        Mistake(
            piecewise(keep=lambda largest, new: largest),
            "`largest` is never set to `new`. It stays −∞, so the factor stays 0, and only the "
            "last chunk counts.",
        ),
        Mistake(
            piecewise(begin=0.0),
            "`largest` begins at 0. That is a score like any other: where all scores are far below "
            "it, every power is 0, and 0/0 is nan. Nothing has been seen yet: −∞.",
        ),
        Mistake(
            piecewise(
                powers_of=lambda scores, new: scores.exp(),
                total_old=as_it_was,
                output_old=as_it_was,
            ),
            "Without a maximum nothing has to be rescaled, and the sums fit together. But e^800 is "
            "infinite and e^−900 is 0: that is what the maximum is for.",
        ),
        Mistake(
            piecewise(powers_of=lambda scores, new: scores.exp()),
            "The powers of this chunk are taken without the maximum, the old sums are rescaled by "
            "it: they do not fit together. Subtract `new` from the scores.",
        ),
        Mistake(
            piecewise(powers_of=lambda scores, new: (scores - scores.amax(-1, keepdim=True)).exp()),
            "This chunk's powers are measured by its own maximum, the old sums by the largest of "
            "all. Subtract `new` from the scores.",
        ),
        Mistake(
            piecewise(whole=lambda output, total: output),
            "The division at the end is missing: the weights have to sum to 1.",
        ),
        Mistake(
            piecewise(head=Head(scores=lambda q, k: k @ q.mT / math.sqrt(q.size(-1)))),
            "The scores do not fit under `largest`, which has a row for each query. Row i of the "
            "scores belongs to query i, and has a column for each key of the chunk: `query @ "
            "keys.mT`, as it was.",
        ),
        Mistake(
            averaged,
            "Each chunk has a softmax of its own here, and the outputs are averaged. Chunks count "
            "by their sums of e^score, and those differ.",
        ),
        Mistake(
            added,
            "Each chunk has a softmax of its own here, and the outputs are added: the weights of a "
            "row sum to the number of chunks. Divide once, at the end.",
        ),
        Mistake(
            piecewise(lambda n, chunk: range(n // chunk + 1)),
            "One round too many if the last chunk is full: there is no key left for it. Divide and "
            "round up, or run over `key.split(chunk, dim=-2)` itself.",
        ),
        Mistake(
            piecewise(lambda n, chunk: range(0, n, chunk)),
            "`i` counts keys now, in steps of `chunk`, and still chooses among chunks. Either cut "
            "by hand, `key[..., i : i + chunk, :]`, or count chunks.",
        ),
        Mistake(
            piecewise(
                total_old=lambda largest, new: largest.exp(),
                output_old=lambda largest, new: largest.exp(),
            ),
            "The factor is e^largest. The old sums had been divided by that; now they are to be "
            "divided by e^new, so both come in: e^(largest − new).",
        ),
        Mistake(
            piecewise(
                total_old=lambda largest, new: new.exp(), output_old=lambda largest, new: new.exp()
            ),
            "The factor is e^new, which the old sums should be divided by; and they have been "
            "divided by e^largest already. Both come in: e^(largest − new).",
        ),
        Mistake(
            grown_by(lambda total, here, old: total + here * old),
            "The factor is put on what this chunk adds. Its powers are measured by `new` already: "
            "it is the sums from before that have to shrink. (In the first chunk `largest` is −∞, "
            "the factor 0, and 0/0 is nan.)",
        ),
        Mistake(
            grown_by(lambda total, here, old: (total + here) * old),
            "The factor is put on the sum of old and new. Only what was there before has to "
            "shrink; the first chunk shrinks to nothing here, and 0/0 is nan.",
        ),
        Mistake(
            piecewise(
                head=Head(output=lambda powers, q, k, v: powers @ v / powers.sum(-1, keepdim=True))
            ),
            "What a chunk adds to `output` is divided by the chunk's own sum already, and at the "
            "end by the sum of all. Divide once, at the end.",
        ),
        Mistake(
            piecewise(powers_of=lambda scores, new: (scores - new).softmax(-1)),
            "Inside a chunk runs a softmax, so that each chunk's weights sum to 1. Powers are "
            "wanted, `exp`: the division comes once, at the end.",
        ),
        Mistake(
            piecewise(
                total_old=lambda largest, new: (largest - new).exp() ** 2,
                output_old=lambda largest, new: (largest - new).exp(),
            ),
            "`total` was rescaled twice.",
        ),
        Mistake(
            piecewise(lambda n, chunk: range((n - 1) // chunk)),
            "Your loop ends one chunk too early: the last one is missing, full or not.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: piecewise(head=head), SCORE_MISTAKES, OUTPUT_MISTAKES),
    hints=(
        "Count the rounds of the loop for 6 and for 7 keys and a chunk of 3. Then take two chunks, "
        "the second louder, and follow `total` by hand.",
        "A power from before was e^(score − largest). It should be e^(score − new): what is the "
        "factor between the two?",
        "`for keys, values in zip(key.split(chunk, dim=-2), value.split(chunk, dim=-2))`; and "
        "`total * (largest - new).exp() + …`, the same for `output`.",
    ),
    insight="Nothing is approximated: whatever the chunk, the result is the same, and what has to "
    "be kept between chunks are Dv + 2 numbers a query.",
    comes_back="The library's `chunked_attention` runs this loop, and PyTorch's fused kernel "
    "another of its kind.",
    others=(chunked_by_merging,),
)

# --- 10.experiment: what does it compute? ----------------------------------------------------

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def what_is(attend: Attend) -> str:
    query, key = torch.randn(2, 64, 8)
    seen = attend(query, key, torch.eye(64)) != 0  # values of 0 and 1: the output is the weights
    if not seen[-1].all():  # the last word does not see everybody
        return "global" if seen[-1, :32].any() else "window"
    loudest = attend(1e6 * query, key, torch.eye(64))[-1].max()
    return "softmax" if loudest > 0.9 else "linear"


def masked_by(look: Callable[[Tensor], Tensor]) -> Attend:
    """Attention under the mask that `look` makes of i − j."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        place = torch.arange(len(query), device=query.device)
        return scaled_dot_product_attention(query, key, value, look(place[:, None] - place))[0]

    return attend


def by_features(feature: Callable[[Tensor], Tensor], causal: bool = False) -> Attend:
    """Linear attention with this φ."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        weights = feature(query) @ feature(key).mT
        weights = weights.tril() if causal else weights
        return weights / weights.sum(-1, keepdim=True) @ value

    return attend


def in_chunks(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return chunked_by_merging(query, key, value, 5)


def known(back: Tensor, token: int) -> Tensor:
    """Row and column of one word, in a matrix of i − j."""
    place = torch.arange(len(back), device=back.device) == token
    return place | place[:, None]


DENSE, CHUNKED, CAUSAL, NARROW, WIDE, LATE, FIRST, INNER, ELU, STATE = BOXES = (
    masked_by(lambda back: back == back),
    in_chunks,
    masked_by(lambda back: back >= 0),
    masked_by(lambda back: back.abs() <= 2),
    masked_by(lambda back: back.abs() <= 20),
    masked_by(lambda back: (back >= 0) & (back <= 3)),
    masked_by(lambda back: (back.abs() <= 2) | known(back, 0)),
    masked_by(lambda back: (back.abs() <= 3) | known(back, 7)),
    by_features(lambda x: F.elu(x) + 1),
    by_features(lambda x: F.relu(x) + 0.01, causal=True),
)
NAMES = (
    "all pairs",
    "all pairs, in chunks of 5 keys",
    "all pairs j ≤ i",
    "two words on each side",
    "20 words on each side",
    "the word itself and three before it",
    "two words on each side, and word 0 for all",
    "three words on each side, and word 7 for all",
    "φ(q) · φ(k) with φ = elu + 1",
    "φ(q) · φ(k) with φ = relu + 0.01, j ≤ i",
)

EXPERIMENT = Exercise(
    id="10.experiment",
    title="What does it compute?",
    level=3,
    minutes=15,
    section="10.11",
    prompt="""
Ten programs came without their source. Each takes `query` (L, Dk), `key` (L, Dk) and `value`
(L, Dv) of your own making, L at most 64, and returns the output, (L, Dv): not the weights. Some are
causal. `what_is(attend)` calls one as often as it likes and returns

- `"softmax"` if a word weighs all that it may see, the whole past at least, by e^score;
- `"window"` if it sees only words near it, no more than 20 on each side;
- `"global"` if it sees those near it and a word in the first eight, wherever it stands itself;
- `"linear"` if a word weighs all that it may see by φ(q) · φ(k), without a softmax.
""",
    stub="""
def what_is(attend):
    raise NotImplementedError
""",
    reference=what_is,
    cases=lambda generator: [
        Case((box,), note=f"program {name}") for name, box in zip("ABCDEFGHIJ", BOXES, strict=True)
    ],
    mistakes=choices(
        what_is,
        {
            (DENSE, "window"): "every word sees every other here. Weights may be small without "
            "being 0: do you ask for exactly 0?",
            (DENSE, "global"): "every word sees every other here. Do you count which words are "
            "seen by a *far* one, and how many of them?",
            (DENSE, "linear"): "make the queries louder and louder: here the best match takes "
            "everything in the end. φ(q) · φ(k) cannot do that.",
            (CHUNKED, "window"): "it reads the keys five at a time, and all of them. What matters "
            "is what comes out.",
            (CHUNKED, "global"): "it reads the keys five at a time, and all of them: no weight is "
            "0.",
            (CHUNKED, "linear"): "it runs along the keys and keeps sums, and yet each weight is "
            "e^score: with loud queries the best match takes everything.",
            (CAUSAL, "window"): "a word sees everything up to itself. If you look at the first "
            "words only, that looks narrow: look at the last.",
            (CAUSAL, "global"): "a word sees everything up to itself, not a few chosen ones. How "
            "many far words does the last one see?",
            (CAUSAL, "linear"): "it only looks back, but its weights are e^score: with loud "
            "queries the best match takes everything.",
            (NARROW, "softmax"): "it weighs by e^score, but what does the last word see of the "
            "first? Change a value far away.",
            (NARROW, "global"): "no word is seen from far away here. Is one of your two words too "
            "near the other?",
            (NARROW, "linear"): "what does the last word see of the first? Change a value far "
            "away.",
            (WIDE, "softmax"): "its window is wide: 20 words on each side. Was your text long "
            "enough to see its end?",
            (WIDE, "global"): "its window is wide: 20 words on each side. A word that is seen from "
            "12 places away need not be a global one: take a long text, and look from its end.",
            (WIDE, "linear"): "its window is wide: 20 words on each side. In a text of 64 words, "
            "what does the last see of the first?",
            (LATE, "softmax"): "a word sees itself and three before it. Change a value far away.",
            (LATE, "global"): "a word sees itself and three before it, and nobody else far away.",
            (LATE, "linear"): "a word sees itself and three before it, and has weights of exactly "
            "0 for the others.",
            (FIRST, "softmax"): "the last word sees its neighbors and the first one, and what "
            "lies between is hidden. Did you change the first word only?",
            (FIRST, "window"): "all see the first word here, and it sees all. Do you look at a "
            "column, or only at one far pair?",
            (FIRST, "linear"): "the last word sees its neighbors and the first one, and nothing "
            "between: weights of exactly 0.",
            (INNER, "softmax"): "the last word sees its neighbors and one far word, word 7, and "
            "what lies between is hidden.",
            (INNER, "window"): "one word that all see stands at place 7. If you try the first "
            "word only, you miss it.",
            (INNER, "linear"): "the last word sees its neighbors and one far word, and nothing "
            "between: weights of exactly 0.",
            (ELU, "softmax"): "each word weighs all others, but not by e^score: make the queries "
            "a million times louder. Does the best match take everything?",
            (ELU, "window"): "every word sees every other here. A weight may be small without "
            "being 0.",
            (ELU, "global"): "every word sees every other here, not only a few chosen ones.",
            (STATE, "softmax"): "each word weighs all up to itself, but not by e^score: make the "
            "queries a million times louder. Does the best match take everything?",
            (STATE, "window"): "a word sees everything up to itself. Look at the last.",
            (STATE, "global"): "a word sees everything up to itself, not a few chosen ones.",
        },
    ),
    hints=(
        "You may choose the values. With which ones does the output show the weights themselves?",
        "`attend(query, key, torch.eye(64))` is the matrix of weights. Look at its last row: which "
        "numbers are exactly 0? If none are, what do queries a million times as loud do to it?",
        "All of the last row seen: `softmax` if its largest weight goes to 1 as the queries get "
        "louder, else `linear`. Some of its first half seen: `global`. Nothing of it: `window`.",
    ),
    insight="Loud queries make a softmax choose one word. A sum of φ(q) · φ(k) cannot choose: "
    "beyond a point a louder query only multiplies all weights, and the division takes it back.",
    comes_back="Chapter 11 asks such a box how it is told the places of its words.",
    code=False,
)

CHAPTER = "10. Long sequences"
EXERCISES = (PATTERN, CHEAPEST, HOPS, MERGE, RUNNING, REPAIR, EXPERIMENT)
