"""Exercises of chapter 10: long sequences."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    limited_to,
    some_sizes,
)
from attnbook.language import _

# --- 10.pattern: Longformer's mask -----------------------------------------------------------


def my_pattern(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    position = torch.arange(length)
    near = (position - position[:, None]).abs() <= window  # (L, L)
    is_global = torch.tensor([token in global_tokens for token in range(length)])  # (L,)
    return near | is_global | is_global[:, None]


def pattern_filled_in(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    mask = torch.ones(length, length, dtype=torch.bool).tril(window).triu(-window)
    for token in global_tokens:
        mask[token, :] = True
        mask[:, token] = True
    return mask


def pattern_cases(generator: Generator) -> list[Case]:
    asked = (
        (5, 1, ()),
        (8, 1, (3,)),
        (7, 0, (2,)),
        (11, 2, (0, 6)),
        (17, 1, (0, 8, 14)),
        (13, 3, (9,)),
        (6, 9, (1,)),
    )
    return [
        Case((n, w, tokens), {"L": n}, f"length {n}, window {w}, global_tokens {tokens}")
        for n, w, tokens in asked
    ]


def pattern(
    near: Callable[[Tensor, int], Tensor] = lambda back, window: back.abs() <= window,
    join: Callable[[Tensor, Tensor], Tensor] = lambda near, column: near | column | column.mT,
) -> Callable[[int, int, Sequence[int]], Tensor]:
    """Longformer's mask, right unless a part is replaced.

    `near` gets i − j, (L, L). `join` gets the window and the global words' columns, both (L, L).
    """

    def wrong(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
        position = torch.arange(length)
        columns = torch.zeros(length, length, dtype=torch.bool)
        columns[:, list(global_tokens)] = True
        return join(near(position[:, None] - position, window), columns)

    return wrong


def pattern_by_slices(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        mask[i, i - window : i + window + 1] = True
    for token in global_tokens:
        mask[token, :] = mask[:, token] = True
    return mask


def pattern_by_a_tuple(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    mask = my_pattern(length, window, ())
    mask[global_tokens] = True
    mask[:, global_tokens] = True
    return mask


PATTERN = Exercise(
    id="10.pattern",
    title="A window and global words",
    level=1,
    minutes=8,
    section="10.8",
    prompt="""
Write `my_pattern(length, window, global_tokens)`, which returns Longformer's mask: a boolean tensor
of shape (L, L), where True means *may attend*. Each word attends to itself and to `window` words on
each side. `global_tokens` is a tuple of positions such as `(0, 6)`. The words at these positions
attend to every word, and every word attends to them.
""",
    reference=my_pattern,
    cases=pattern_cases,
    axes="L L",
    mistakes=(
        Mistake(
            pattern(lambda back, window: back.abs() < window),
            "Off by one: words at a distance of exactly `window` belong to the window.",
        ),
        Mistake(
            pattern(lambda back, window: (back <= window) & (back > -window)),
            "The last word of each window is missing. `range` and slices stop *before* their end.",
        ),
        Mistake(
            pattern_by_slices,
            "The first windows are empty: i − window is negative there, so the slice counts from "
            "the end. Begin at 0 there.",
        ),
        Mistake(
            pattern(lambda back, window: back.abs() <= window // 2),
            "You halved `window`. It counts the words on *each* side.",
        ),
        Mistake(
            pattern(lambda back, window: (back >= 0) & (back <= window)),
            "Your window contains only earlier words. It should extend to both sides of the word.",
        ),
        Mistake(
            pattern(lambda back, window: back <= window),
            "Your window includes all later words. Use the distance without its sign.",
        ),
        Mistake(
            pattern(join=lambda near, column: near | column.mT),
            "The global words attend to all words, but not all words attend to them: their "
            "columns are missing.",
        ),
        Mistake(
            pattern(join=lambda near, column: near | column),
            "All words attend to the global words, but these attend only to their windows: their "
            "rows are missing.",
        ),
        Mistake(
            pattern(join=lambda near, column: near | (column & column.mT)),
            "Your global words attend only to one another. Each needs its whole row and column.",
        ),
        Mistake(
            pattern(join=lambda near, column: near),
            "The window is right, but the global words have no effect.",
        ),
        Mistake(
            pattern_by_a_tuple,
            "`mask[(0, 6)]` is one cell, row 0 and column 6, and `mask[()]` is the whole mask: "
            "each number in a tuple indexes one axis. Use a list, or set one word at a time.",
        ),
        Mistake(
            pattern(join=lambda near, column: (near | column | column.mT).tril()),
            "You hid the later words. Longformer's mask is not causal.",
        ),
    ),
    properties=(
        Property(
            "Each word should attend to itself, but some of yours do not.",
            lambda answer, case: bool(answer.diagonal().all()),
        ),
    ),
    hints=(
        "The window is about the distance between two positions. Take `torch.arange(length)` "
        "as a row and as a column, and subtract.",
        "A global word fills its row and its column.",
        "`(position - position[:, None]).abs() <= window`, then `|`.",
    ),
    insight="A window allows at most L · (2 · window + 1) pairs, and each global word adds at most "
    "2 · L: the number grows with L, not with L².",
    comes_back="10.hops counts the layers that such masks need.",
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
TABLE = "\n".join(
    f'| `"{text}"` | {length:,} | {width} | {window} | {known} |'
    for text, (length, width, window, known) in TEXTS.items()
)


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
    prompt=f"""
One head of width D reads L words. Which form needs the fewest multiplications for its scores and
its output: `"dense"` (every pair), `"window"` (each word attends to itself and to w words on each
side, and g global words have their rows and columns), or `"linear"` (not causal, computing the
D × D state first)? `cheapest(text)` returns the answer. Leave out the softmax and φ. Count a full
window even at the ends of the text. If a pair is both in the window and in a global row or column,
count it twice.

| text | L | D | w | g |
|:--|--:|--:|--:|--:|
{TABLE}
""",
    stub="""
def cheapest(text):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": ""}
    return found[text]
""",
    reference=cheapest,
    cases=lambda generator: [Case((t,), note=_("text {name}").format(name=t)) for t in TEXTS],
    mistakes=(
        Mistake(
            lambda text: "window" if text in "ad" else cheapest(text),
            "A window with w words on each side is wider than this text.",
        ),
        Mistake(
            lambda text: "window" if text == "f" else cheapest(text),
            "Every word attends to the 30 global words, and they attend to every word. That "
            "doubles the cost of the global words.",
        ),
        Mistake(
            lambda text: "window",
            "A window has w words on *each* side. Compare its size with the head's width.",
        ),
        Mistake(
            lambda text: "dense",
            "Dense attention computes L scores for each word. Another form needs fewer "
            "multiplications here.",
        ),
        Mistake(
            lambda text: "linear",
            "Linear attention needs as many multiplications as dense attention with D scores for "
            "each word. Another form needs fewer here.",
        ),
    ),
    hints=(
        "Dense attention needs L · L · D multiplications for the scores and as many for the "
        "output. Write down the other two in the same way.",
        "All three have the factor 2 · L · D. The other factor is L, or 2w + 1 + 2g, or D.",
        "So compare three numbers. For text a, they are 50, 65 and 64.",
    ),
    insight="Each form needs 2 · L · D · f multiplications, where the factor f is L, 2w + 1 + 2g, "
    "or D. The form with the smallest f wins.",
    comes_back="Section 10.14 lists the forms in the order in which to try them.",
    code=False,
)

# --- 10.hops: how many layers until the last word can depend on the first? -------------------


def layers_needed(pattern: str) -> int:
    return {"a": 8, "b": 4, "c": 2, "d": 5, "e": 0, "f": 3}[pattern]


HOPS = Exercise(
    id="10.hops",
    title="How many layers from the first word to the last?",
    level=2,
    minutes=10,
    section="10.8",
    prompt="""
Here are six masks for nine words. Row i has an `x` for each word that word i may attend to. All
layers of a model use the same mask. `layers_needed(pattern)` returns the smallest number of layers
after which the output of the *last* word, row 8, can depend on the *first* word, 0. If that never
happens, it returns 0.

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
    raise NotImplementedError  # fill in, 0 for never; then delete this line
    found = {"a": None, "b": None, "c": None, "d": None, "e": None, "f": None}
    return found[pattern]
""",
    reference=layers_needed,
    cases=lambda generator: [Case((p,), note=_("mask {name}").format(name=p)) for p in "abcdef"],
    mistakes=(
        *choices(
            layers_needed,
            {
                ("a", 4): "each word attends to one word on each side here, not to two.",
                ("d", 2): "all attend to word 4, but word 4 itself attends only to its window.",
                ("e", 3): "there are three blocks, but no `x` leads from one to another.",
                ("e", 8): "words 6, 7 and 8 attend only to one another, in every layer.",
                ("f", 1): "you read row 0, column 8. Row 8, column 0 is empty.",
            },
        ),
        Mistake(lambda pattern: 1, "row 8 has no `x` in column 0."),
        Mistake(
            lambda pattern: 0,
            "there is a path. The words that word 8 attends to have attended to others in "
            "earlier layers.",
        ),
        Mistake(
            lambda pattern: layers_needed(pattern) + 1,
            "one too many. Count the steps of the path, not its words.",
        ),
        Mistake(
            lambda pattern: max(layers_needed(pattern) - 1, 0),
            "one too few. After that many layers, row 8 depends only on other words.",
        ),
        Mistake(
            lambda pattern: 0 if pattern == "e" else 8,
            "there is a shorter path than the one from neighbor to neighbor.",
        ),
    ),
    hints=(
        "Write down the words that word 8 attends to. Which words did *those* attend to, one "
        "layer earlier?",
        "An `x` in row i, column j takes information from word j to word i.",
        "In c, the path is 8, 4, 0. In d, it is 8, 4, and then from neighbor to neighbor. In f, "
        "look at rows 8, 5, 4.",
    ),
    insight="With a window of w words on each side, information needs about L / w layers to cross "
    "a text. With a global word it needs two, and with separate blocks it never gets across.",
    comes_back="Section 10.10 sends a fact through such a global word.",
    code=False,
)

# --- 10.merge: merge the outputs of two chunks -----------------------------------------------


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
    levels = torch.tensor([900.0, -900.0, 0.0])
    return [
        case("3 queries", 3, 5),
        case(_("{n} queries").format(n=lq), lq, dv),
        case("2 sentences, 3 heads", 2, 3, 5, 7),
        case("one more leading axis", 4, 2, 3, 5, 6),
        case("large scores: every lse is near 1000", 3, 6, level=1000.0),
        case("query 0 has very large scores, query 1 very low ones", 3, 7, level=levels),
        case("query 2 has no key in chunk a", 5, 3, empty=2, b={}),
        case("query 0 has no key in chunk b", 3, 8, b={"empty": 0}),
    ]


Pair = Callable[[Tensor, Tensor], Tensor]


def weighted(share_a: Pair, share_b: Pair | None = None) -> Callable[..., Tensor]:
    """Return a merge with these weights, (..., Lq). Without share_b, chunk b gets 1 − share_a."""

    def wrong(output_a: Tensor, lse_a: Tensor, output_b: Tensor, lse_b: Tensor) -> Tensor:
        a = share_a(lse_a, lse_b)
        b = share_b(lse_a, lse_b) if share_b else 1 - a
        return a[..., None] * output_a + b[..., None] * output_b

    return wrong


def softmax_of_two(a: Tensor, b: Tensor, largest: Any = 0.0) -> Tensor:
    return (a - largest).exp() / ((a - largest).exp() + (b - largest).exp())


def lies_between(answer: Tensor, low: Tensor, high: Tensor) -> bool:
    return not bool(((answer < low - 1e-6) | (answer > high + 1e-6)).any())  # nan passes


MERGE = Exercise(
    id="10.merge",
    title="Merge two chunks",
    level=2,
    minutes=12,
    section="10.4",
    prompt="""
The keys were cut into two chunks, and each query has attended to each chunk separately. Chunk a
gave `output_a` (..., Lq, Dv), as if there were no other keys, and `lse_a` (..., Lq): for each query
the log-sum-exp (LSE), the logarithm of the sum of e^score over this chunk's keys. Chunk b gave
`output_b` and `lse_b` in the same way. Write `my_merge(output_a, lse_a, output_b, lse_b)`, which
returns the output of attention over all keys, (..., Lq, Dv).
The scores themselves are no longer available, and they may have been in the hundreds. In one of the
two chunks, a query may have had no key to attend to. Then its `lse` for this chunk is −∞, and its
output is all zeros.
""",
    reference=my_merge,
    cases=merge_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            weighted(lambda a, b: torch.full_like(a, 0.5)),
            "You averaged the outputs. A chunk's weight is its fraction of the sum of all e^score.",
        ),
        Mistake(
            weighted(lambda a, b: torch.ones_like(a), lambda a, b: torch.ones_like(a)),
            "You added the two outputs. Each is an average already, so their weights have to sum "
            "to 1.",
        ),
        Mistake(
            weighted(lambda a, b: a / (a + b), lambda a, b: b / (a + b)),
            "You weighted by the logarithms. The weights are e^lse_a and e^lse_b, divided by "
            "their sum.",
        ),
        Mistake(
            weighted(softmax_of_two),
            "This overflows: e^1000 is infinite, and e^−900 is 0. Only the difference of the two "
            "logarithms matters, so subtract the larger one first.",
        ),
        Mistake(
            weighted(
                lambda a, b: 1 / (1 + (b - a).exp()),
                lambda a, b: (b - a).exp() / (1 + (b - a).exp()),
            ),
            "e^(lse_b − lse_a) is infinite if chunk b's scores are far larger, or chunk a is "
            "empty. Subtract the larger of the two logarithms from both.",
        ),
        Mistake(
            weighted(lambda a, b: softmax_of_two(a, b, torch.maximum(a.max(), b.max()))),
            "You subtracted one maximum from all queries. A query with much lower scores is left "
            "with 0/0. Each query has its own maximum.",
        ),
        Mistake(
            weighted(
                lambda a, b: (a - torch.maximum(a, b)).exp(),
                lambda a, b: (b - torch.maximum(a, b)).exp(),
            ),
            "The two exponentials are not divided by their sum.",
        ),
        Mistake(
            weighted(lambda a, b: torch.sigmoid(b - a)),
            "The weights are swapped: chunk a got the weight of chunk b.",
        ),
        Mistake(
            weighted(lambda a, b: a.softmax(-1), lambda a, b: b.softmax(-1)),
            "Your softmax ran over the queries. For each query, the weights of the two *chunks* "
            "have to sum to 1.",
        ),
        Mistake(
            weighted(lambda a, b: softmax_of_two(a.clamp(max=80), b.clamp(max=80))),
            "You clamped large logarithms, so chunks at 1000 and at 1002 get the same weight. "
            "Only the difference matters.",
        ),
        Mistake(
            weighted(lambda a, b: (a > b).to(a)),
            "The chunk with the larger sum gets all the weight. The other chunk needs some, too.",
        ),
        Mistake(
            lambda output_a, lse_a, output_b, lse_b: (
                torch.sigmoid(lse_a - lse_b) * output_a + torch.sigmoid(lse_b - lse_a) * output_b
            ),
            "A query has one weight for its whole row: weights of shape (..., Lq) need one more "
            "axis, at the end.",
        ),
    ),
    properties=(
        Property(
            "Each number has to lie between the matching numbers of the two outputs, but some of "
            "yours do not. Do the two weights sum to 1, even for very large scores?",
            lambda answer, case: lies_between(
                answer, *torch.stack(case.arguments[::2]).aminmax(dim=0)
            ),
        ),
    ),
    hints=(
        "If S_a and S_b are the sums of e^score, which fraction of the whole sum belongs to chunk "
        "a? `lse_a` is the logarithm of S_a.",
        "The weights are e^lse_a and e^lse_b, divided by their sum. Which function computes that "
        "safely?",
        "`torch.stack((lse_a, lse_b)).softmax(dim=0)` holds both weights, (2, ..., Lq).",
    ),
    insight="A chunk is like a key: its LSE is the score, its output is the value, and a softmax "
    "over chunks merges them. So chunks can be computed anywhere and merged in any order.",
    comes_back="10.repair merges chunk after chunk, with one running sum.",
    others=(merge_by_a_sigmoid,),
)

# --- 10.running: linear attention with a running state ---------------------------------------


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
        case(_("{n} words").format(n=length), length, dk, dv),
        case("2 sentences, 3 heads", 2, 3, 5, 6, 7),
        case("one more leading axis", 4, 2, 3, 5, 7, 6),
        case("1 word", 1, 5, 3),
    ]


def divided_by(total: Callable[..., Any]) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Causal linear attention whose denominator is a function of weights, query and key."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        weights = (query @ key.mT).tril()  # (..., L, L)
        return weights @ value / total(weights, query, key)

    return wrong


def earlier(query: Tensor, diagonal: int = 0) -> Tensor:
    """Return the mask, (L, L), in which word i sees the words up to i + diagonal."""
    length = query.size(-2)
    return torch.ones(length, length, dtype=torch.bool, device=query.device).tril(diagonal)


def state_before_it_grows(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = query @ key.mT * earlier(query, -1)
    return weights @ value / weights.sum(-1, keepdim=True)


def by_one_total(weights: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return weights.sum((*range(weights.dim() - 2), -1), keepdim=True)


RUNNING = Exercise(
    id="10.running",
    title="Linear attention with a running state",
    level=2,
    minutes=12,
    section="10.12",
    second_reading=True,
    prompt="""
Write `my_running(query, key, value)` for causal linear attention. φ has already been applied to
`query` and `key`, (..., L, Dk), so all their numbers are positive. `value` is (..., L, Dv). Word i
gives each word j ≤ i the weight q_i · k_j, divided by the sum of these weights over all j ≤ i.
Return the outputs, (..., L, Dv). Try it without an L × L matrix: go from word to word, with a
running sum of Dk × Dv numbers and one of Dk numbers.
""",
    reference=my_running,
    cases=running_cases,
    axes="A B H L Dv",
    on_cpu=True,
    mistakes=(
        Mistake(
            lambda query, key, value: (
                query @ (key.mT @ value) / (query @ key.sum(-2, keepdim=True).mT)
            ),
            "Every word attends to all words, including later ones. Word i may use only the sums "
            "up to word i.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: query @ key.sum(-2, keepdim=True).mT),
            "Your denominator sums over *all* words. It should be a running sum as well.",
        ),
        Mistake(
            state_before_it_grows,
            "You use the sums before you add the word itself, so no word attends to itself, and "
            "the first word gets 0/0.",
        ),
        Mistake(
            lambda query, key, value: (
                (query * key).sum(-1, keepdim=True) * value / (query @ key.mT).tril().sum(-1, True)
            ),
            "Your state holds only the newest word's k and v. Add them to the earlier ones.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: 1.0),
            "The division is missing: the weights of a word have to sum to 1.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: (query * key).sum(-1, keepdim=True)),
            "You divided by q · k of the word itself. The denominator needs the sum of all keys "
            "so far.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: (query * key).sum(-1, keepdim=True).cumsum(-2)),
            "Your denominator adds up q_j · k_j, each key with its own query. The query of word i "
            "has to be multiplied by the sum of all keys so far.",
        ),
        Mistake(
            divided_by(lambda weights, query, key: key.cumsum(-2).sum(-1, keepdim=True)),
            "You divided by the sum of all numbers in the keys. The denominator is q · (sum of "
            "keys).",
        ),
        Mistake(
            divided_by(by_one_total),
            "All sentences and heads share one denominator: `.sum()` without an axis adds up "
            "everything.",
        ),
        Mistake(
            lambda query, key, value: (
                (query @ key.mT).masked_fill(~earlier(query), -torch.inf).softmax(-1) @ value
            ),
            "You took a softmax. Here q · k is the weight itself, divided by the sum.",
        ),
        Mistake(
            lambda query, key, value: scaled_dot_product_attention(
                query, key, value, earlier(query)
            )[0],
            "That is ordinary causal attention, with a softmax. Here q · k is the weight itself.",
        ),
        Mistake(
            lambda query, key, value: my_running(F.elu(query) + 1, F.elu(key) + 1, value),
            "You applied φ once more. It has been applied to queries and keys already.",
        ),
    ),
    properties=(
        Property(
            "Each output has to lie between the smallest and the largest value so far, but some "
            "of yours do not. Do they use later words, or do their weights not sum to 1?",
            lambda answer, case: lies_between(
                answer, case.arguments[2].cummin(-2).values, case.arguments[2].cummax(-2).values
            ),
        ),
    ),
    hints=(
        "In the sum of (q_i · k_j) v_j over j ≤ i, q_i can be moved in front of the sum. What is "
        "left inside?",
        "What is left is a sum of products of k_j as a column and v_j as a row, Dk × Dv numbers. "
        "The denominator is q_i · Σ k_j. Both sums grow by one term for each word.",
        "`state + k[..., :, None] * v[..., None, :]` and `total + k`. Then `q[..., None, :] @ "
        "state`, divided by `(q * total).sum(-1, keepdim=True)`.",
    ),
    insight="The state has Dk · Dv numbers, whether after ten words or after a million. So its "
    "memory is constant, but it cannot keep all words apart.",
    comes_back="10.experiment asks how to recognize linear attention from the outside.",
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
        note: str, chunk: int, *sizes: int, level: Sequence[float] = (), opposite: bool = False
    ) -> Case:
        """The scores of key j are near level[j]; if opposite, query 1's are near −level[j]."""
        *front, lq, lk, dk, dv = sizes
        names = ("A", "B", "H", "Lq", "Lk", "Dk", "Dv")[-len(sizes) :]
        query, key = draw(generator, *front, lq, dk), draw(generator, *front, lk, dk)
        if level:
            signs = 1.0 - 2.0 * (torch.arange(lq) == 1) * opposite
            own = (dk**0.5 * signs.to(query))[:, None].expand(*query.shape[:-1], 1)
            query = torch.cat((own, query[..., 1:]), dim=-1)
            first = torch.tensor(level, dtype=key.dtype)[:, None].expand(*key.shape[:-1], 1)
            key = torch.cat((first, key[..., 1:]), dim=-1)
        arguments = (query, key, draw(generator, *front, lk, dv), chunk)
        return Case(arguments, dict(zip(names, sizes, strict=True)), note)

    lq, lk, dk, dv = some_sizes(generator, 4)
    rising, falling = (3.0, 2.0, 1.0, 800.0, 799.0), (800.0, 799.0, 3.0, 2.0, 1.0)
    large, low = (800.0, 801.0, 799.0, 800.5, 798.0), (-900.0, -901.0, -899.0, -900.5, -898.0)
    many = case("30 queries, 59 keys, chunk 20", 20, 30, 59, 3, 5)
    *tensors, chunk = many.arguments
    small = limited_to(30 * 20, _("the scores of one chunk"))
    return [
        case("one chunk: 3 keys, chunk 3", 3, 5, 3, 6, 7),
        case("6 keys, chunk 3", 3, 5, 6, 7, 8),
        case("7 keys, chunk 3", 3, 2, 7, 5, 6),
        case("5 keys, chunk 8", 8, 3, 5, 6, 7),
        case(_("{n} keys, chunk 2").format(n=lk), 2, lq, lk, dk, dv),
        case("2 sentences, 3 heads: 8 keys, chunk 3", 3, 2, 3, 5, 8, 7, 6),
        case("the scores rise: 3, then 800", 2, 3, 5, 6, 7, level=rising),
        case("the scores fall: 800, then 3", 2, 3, 5, 6, 7, level=falling),
        case("scores near 800, but −800 for query 1", 2, 3, 5, 7, 6, level=large, opposite=True),
        case("every score is near −900", 2, 3, 5, 7, 6, level=low),
        Case((*(x.as_subclass(small) for x in tensors), chunk), many.sizes, many.note),
    ]


Growth = Callable[[Any, Tensor, Tensor], Tensor]


def rescaled(so_far: Any, here: Tensor, old: Tensor) -> Tensor:
    return so_far * old + here


def not_rescaled(so_far: Any, here: Tensor, old: Tensor) -> Tensor:
    return so_far + here


def in_chunks_of(
    total_grows: Growth = rescaled,
    output_grows: Growth = rescaled,
    rounds: Callable[[int, int], Iterable[int]] = lambda n, chunk: range(-(-n // chunk)),
    newest: Pair = torch.maximum,
) -> Callable[[Tensor, Tensor, Tensor, int], Tensor]:
    """The loop over chunks, right unless a step is replaced.

    `total_grows` and `output_grows` get the sum so far, this chunk's part, and e^(largest − new).
    """

    def wrong(query: Tensor, key: Tensor, value: Tensor, chunk: int) -> Tensor:
        largest = torch.full_like(query[..., :1], -math.inf)
        total: Any = 0
        output: Any = 0
        for i in rounds(key.size(-2), chunk):
            keys, values = key.split(chunk, dim=-2)[i], value.split(chunk, dim=-2)[i]
            scores = query @ keys.mT / math.sqrt(query.size(-1))
            new = newest(largest, scores.amax(-1, keepdim=True))
            old, powers = (largest - new).exp(), (scores - new).exp()
            total = total_grows(total, powers.sum(-1, keepdim=True), old)
            output = output_grows(output, powers @ values, old)
            largest = new
        return output / total

    return wrong


def full_chunks(n: int, chunk: int) -> Iterable[int]:
    return range(n // chunk)


REPAIR = Exercise(
    id="10.repair",
    title="Chunks that do not fit together",
    level=3,
    minutes=15,
    section="10.5",
    prompt="""
This function computes attention for one chunk of keys at a time, with scores (..., Lq, `chunk`). If
the keys fill exactly one chunk, it is right. With more chunks it is wrong, and for some lengths it
leaves out keys. Find the two faults, one of which affects two lines. `query` has shape
(..., Lq, Dk), `key` (..., Lk, Dk), `value` (..., Lk, Dv), and the output (..., Lq, Dv). Do not
compute any tensor larger than the scores of one chunk, and do not use
`scaled_dot_product_attention`, `fused_attention` or `chunked_attention`.
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
    without=("scaled_dot_product_attention", "fused_attention", "chunked_attention"),
    mistakes=(
        Mistake(
            in_chunks_of(not_rescaled, not_rescaled, full_chunks),
            "Both faults are still there. How many chunks do 7 keys make if a chunk has 3? And "
            "what has to happen to the old sums when a larger score arrives?",
        ),
        Mistake(
            in_chunks_of(not_rescaled, not_rescaled),
            "No key is left out now. But the old sums were computed with the old `largest`. When "
            "it changes, they have to be rescaled by e^(largest − new), with the old `largest`.",
        ),
        Mistake(
            in_chunks_of(rounds=full_chunks),
            "Now the sums are right, but the last chunk is left out if it is not full.",
        ),
        Mistake(
            in_chunks_of(output_grows=not_rescaled),
            "`total` is rescaled, but `output` is not. Both were computed with the old `largest`.",
        ),
        Mistake(
            in_chunks_of(total_grows=not_rescaled),
            "`output` is rescaled, but `total` is not. Both were computed with the old `largest`.",
        ),
        Mistake(
            in_chunks_of(
                lambda so_far, here, old: so_far / old + here,
                lambda so_far, here, old: so_far / old + here,
            ),
            "In the first chunk `largest` is −∞, and there your sums become nan. Is the factor "
            "upside down, or applied to more than the old sums?",
        ),
        Mistake(
            in_chunks_of(newest=lambda largest, here: torch.zeros_like(here)),
            "Without a maximum nothing needs rescaling, but then e^800 is infinite and e^−900 is "
            "0.",
        ),
        Mistake(
            in_chunks_of(newest=lambda largest, here: here),
            "You take the maximum of this chunk alone. When the scores fall, e^(largest − new) "
            "overflows.",
        ),
        Mistake(
            in_chunks_of(newest=lambda largest, here: torch.maximum(largest, here.max())),
            "All queries share one maximum. If one has far larger scores, the others get 0/0.",
        ),
        Mistake(
            in_chunks_of(rounds=lambda n, chunk: range(n // chunk + 1)),
            "One round too many: if the last chunk is full, no keys are left for another round.",
        ),
        Mistake(
            lambda query, key, value, chunk: (
                (query @ key.mT / math.sqrt(query.size(-1))).softmax(-1) @ value
            ),
            "You computed all scores at once. The card asks for one chunk at a time.",
        ),
        Mistake(
            lambda query, key, value, chunk: torch.cat(
                [
                    (q @ key.mT / math.sqrt(q.size(-1))).softmax(-1) @ value
                    for q in query.split(chunk, dim=-2)
                ],
                dim=-2,
            ),
            "You cut the queries into chunks, but each query still attends to all keys at once. "
            "Cut the keys.",
        ),
    ),
    hints=(
        "Count the rounds of the loop for 6 and for 7 keys with chunks of 3. Then take two "
        "chunks, the second with larger scores, and compute `total` by hand.",
        "An old exponential is e^(score − largest). It should be e^(score − new). What is the "
        "factor between the two?",
        "Loop over `key.split(chunk, dim=-2)` itself. Multiply `total` and `output` by "
        "`(largest - new).exp()` before you add.",
    ),
    insight="Nothing is approximated: the result does not depend on the chunk size. Between "
    "chunks, only Dv + 2 numbers are kept for each query.",
    comes_back="The library's `chunked_attention` runs this loop, and a fused kernel does the "
    "same.",
    others=(chunked_by_merging,),
)

# --- 10.experiment: which kind of attention is it? -------------------------------------------

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def what_is(attend: Attend) -> str:
    query, key = torch.randn(2, 64, 8)
    seen = attend(query, key, torch.eye(64)) != 0  # values of 0 and 1: the output is the weights
    if not seen[-1].all():  # if the last word does not attend to every word
        return "global" if seen[-1, :32].any() else "window"
    largest = attend(1e6 * query, key, torch.eye(64))[-1].max()
    return "softmax" if largest > 0.9 else "linear"


def masked_by(look: Callable[[Tensor], Tensor]) -> Attend:
    """Return attention with the mask that `look` computes from i − j."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        position = torch.arange(len(query), device=query.device)
        mask = look(position[:, None] - position)
        return scaled_dot_product_attention(query, key, value, mask)[0]

    return attend


def by_features(feature: Callable[[Tensor], Tensor], causal: bool = False) -> Attend:
    """Return linear attention with this feature map φ."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        weights = feature(query) @ feature(key).mT
        weights = weights.tril() if causal else weights
        return weights / weights.sum(-1, keepdim=True) @ value

    return attend


def five_keys_at_a_time(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return chunked_by_merging(query, key, value, 5)


def row_and_column(back: Tensor, token: int) -> Tensor:
    """Return a mask that is True in one word's row and column, given a matrix of i − j."""
    is_token = torch.arange(len(back), device=back.device) == token
    return is_token | is_token[:, None]


PROGRAMS = {
    "all pairs": masked_by(lambda back: back == back),
    "chunks": five_keys_at_a_time,
    "causal": masked_by(lambda back: back >= 0),
    "two words": masked_by(lambda back: back.abs() <= 2),
    "20 words": masked_by(lambda back: back.abs() <= 20),
    "three words, causal": masked_by(lambda back: (back >= 0) & (back <= 3)),
    "word 0": masked_by(lambda back: (back.abs() <= 2) | row_and_column(back, 0)),
    "word 7": masked_by(lambda back: (back.abs() <= 3) | row_and_column(back, 7)),
    "φ = elu + 1": by_features(lambda x: F.elu(x) + 1),
    "φ = relu + 0.01, causal": by_features(lambda x: F.relu(x) + 0.01, causal=True),
}

CONFUSED = {
    ("causal", "window"): "it attends to all earlier words. Look at the last row.",
    ("20 words", "softmax"): "its window has 20 words on each side. Was your text long enough?",
    ("20 words", "global"): "its window has 20 words on each side. It has no global word.",
    ("word 0", "softmax"): "the last word attends to the first, but not to most words in between.",
    ("word 7", "window"): "every word attends to word 7. Did you try only the first word?",
    ("chunks", "linear"): "it reads keys in chunks, but large queries give one key all the weight.",
}

EXPERIMENT = Exercise(
    id="10.experiment",
    title="Which kind of attention is it?",
    level=3,
    minutes=15,
    section="10.11",
    prompt="""
Here are ten programs without source code. Each takes `query` (L, Dk), `key` (L, Dk) and `value`
(L, Dv) of your choice, with L at most 64, and returns the output, (L, Dv), without the weights.
Some are causal. `what_is(attend)` may call a program as often as you like, and returns

- `"softmax"` if each word attends to all words, or to all earlier ones, with weights e^score / sum;
- `"window"` if it attends only to words near it, at most 20 on each side;
- `"global"` if every word attends to those near it and to one word among the first eight;
- `"linear"` if it attends to the same words as a softmax, but with weights φ(q) · φ(k) / sum.
""",
    reference=what_is,
    cases=lambda generator: [
        Case((program,), note=_("program {name}").format(name=name))
        for name, program in zip("ABCDEFGHIJ", PROGRAMS.values(), strict=True)
    ],
    mistakes=(
        *choices(
            what_is, {(PROGRAMS[name], said): text for (name, said), text in CONFUSED.items()}
        ),
        Mistake(
            lambda attend: "softmax",
            "in a softmax over all keys, ordinary queries give no key a weight of exactly 0, and "
            "very large ones give one key all the weight. One of the two is not true here.",
        ),
        Mistake(
            lambda attend: "window",
            "the last word attends to a word far away. Look at its weights on the first eight.",
        ),
        Mistake(
            lambda attend: "global",
            "the last word attends to all distant words, or to none. With a global word it "
            "attends to exactly one.",
        ),
        Mistake(
            lambda attend: "linear",
            "in linear attention, ordinary queries give no key a weight of exactly 0, and very "
            "large ones do not give one key all the weight. One of the two is not true here.",
        ),
    ),
    hints=(
        "You choose the values. For which values is the output equal to the weights?",
        "`attend(query, key, torch.eye(64))` returns the weights. Which numbers of the last row "
        "are exactly 0? If none, what changes with queries a million times as large?",
        "Suppose the last row has no 0: it is `softmax` if the largest weight goes to 1 as the "
        "queries grow, and otherwise `linear`. Suppose it has one: it is `global` if the first "
        "half of the row has a number other than 0, and otherwise `window`.",
    ),
    insight="Large queries make a softmax choose one key. φ(q) · φ(k) cannot choose: beyond some "
    "size, larger queries multiply all weights by the same factor, which the division cancels.",
    comes_back="11.experiment asks how such a program is told about positions.",
    code=False,
)

CHAPTER = "10. Long sequences"
EXERCISES = (PATTERN, CHEAPEST, HOPS, MERGE, RUNNING, REPAIR, EXPERIMENT)
