"""Exercises of chapter 11: from the Transformer to today's language models."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.attention.masks import sink_mask
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.common_mistakes import (
    OUTPUT_MISTAKES,
    SCORE_MISTAKES,
    WEIGHT_MISTAKES,
    Head,
    MistakeSet,
    WrongLine,
)
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, choices, draw, some_sizes
from attnbook.language import _
from attnbook.positions.absolute import sinusoids
from attnbook.positions.rotary import apply_rotary

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
    return [
        Case(
            (n, w, s),
            {"L": n},
            _("{words} words, window {window}, {sinks} sinks").format(words=n, window=w, sinks=s),
        )
        for n, w, s in asked
    ]


KEPT = Exercise(
    id="11.kept",
    title="What a window with sinks keeps",
    level=1,
    minutes=5,
    section="11.10",
    prompt="""
A text has `length` words, numbered from 0. The layer has a window with sinks, so the last word
attends to the last `window` words, itself included, and to the first `n_sinks` words of the text.
Write `kept(length, window, n_sinks)`. It returns the numbers of these words as a list, in the order
of the text, with each number once.
""",
    reference=kept,
    cases=kept_cases,
    mistakes=(
        Mistake(
            lambda n, w, s: [*range(s), *range(n - w, n)],
            "This is right only if sinks and window do not overlap. In a short text, they do.",
        ),
        Mistake(
            lambda n, w, s: [*range(s), *range(max(n - w, 0), n)],
            "In a short text, the sinks are in the window, and some words appear twice.",
        ),
        Mistake(
            lambda n, w, s: sorted({*range(s), *range(max(n - w, 0), n)}),
            "This is right unless the text is shorter than `n_sinks`. In such a text, every word "
            "is a sink.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w - s, s) if w > s else kept(n, 0, s),
            "You counted the sinks as part of the window. They come in addition to it.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w + 1, s),
            "One word too many: the window includes the last word itself.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w - 1, s),
            "Off by one: the word at position length − window belongs to the window.",
        ),
        Mistake(
            lambda n, w, s: [j for j in kept(n, w, s) if j != n - 1],
            "The last word itself is missing. It belongs to its window.",
        ),
        Mistake(
            lambda n, w, s: kept(n, w + s, 0),
            "You made the window longer by `n_sinks`. The sinks are the *first* words of the text.",
        ),
        Mistake(
            lambda n, w, s: kept(n, s, w),
            "You swapped window and sinks. The sinks are the first words.",
        ),
    ),
    properties=(
        Property(
            "Your list has numbers below 0 or above `length` − 1. There are no such words.",
            lambda answer, case: {*map(int, answer)} <= {*range(case.arguments[0])},
        ),
        Property(
            "Some words appear twice. A word can be a sink and also lie in the window.",
            lambda answer, case: len({*map(int, answer)}) == len(answer),
        ),
    ),
    hints=(
        "There are two conditions for a word j. It is kept if it meets at least one of them.",
        "A sink has j < n_sinks. If the last word is at position length − 1, which j are in its "
        "window?",
        "`[j for j in range(length) if ... or ...]` contains each word once.",
    ),
    insight="However long the text is, the list has at most window + n_sinks words. So the model "
    "can keep reading forever without using more memory.",
    comes_back="In 11.experiment you recognize such a layer from the outside.",
    others=(kept_in_two_parts,),
)

# --- 11.bytes: the size of a KV cache --------------------------------------------------------


def cache_bytes(
    n_layers: int, d_model: int, n_heads: int, n_kv_heads: int, length: int, n_bytes: int
) -> int:
    numbers = n_kv_heads * (d_model // n_heads)  # in one word's keys in one layer
    return 2 * n_layers * length * numbers * n_bytes


def bytes_of_tensors(
    n_layers: int, d_model: int, n_heads: int, n_kv_heads: int, length: int, n_bytes: int
) -> int:
    keys = torch.empty(n_layers, n_kv_heads, length, d_model // n_heads, device="meta")
    return n_bytes * (keys.numel() + keys.numel())


def bytes_cases(generator: Generator) -> list[Case]:
    def case(*a: int) -> Case:
        text = _(
            "{layers} layers of width {width}, {heads} heads, {key_heads} key heads, "
            "{words} words, {bytes}-byte numbers"
        )
        names = ("layers", "width", "heads", "key_heads", "words", "bytes")
        return Case(a, note=text.format(**dict(zip(names, a, strict=True))))

    return [
        case(3, 60, 10, 5, 7, 4),
        case(6, 40, 8, 1, 11, 2),
        case(5, 72, 6, 6, 13, 1),
        case(32, 4096, 32, 8, 8192, 2),  # as in Llama 3 with 8 billion parameters
    ]


def counted(
    numbers: Callable[[int, int, int], int] = lambda d, h, g: 2 * g * (d // h),
    times: Callable[[int, int, int], int] = lambda n, length, size: n * length * size,
) -> Callable[[int, int, int, int, int, int], int]:
    """Count a cache's bytes, with a mistake in the numbers per word or in the other factors."""
    return lambda n, d, h, g, length, size: numbers(d, h, g) * times(n, length, size)


BYTES = Exercise(
    id="11.bytes",
    title="The size of a KV cache",
    level=1,
    minutes=6,
    section="11.4",
    prompt="""
Write `cache_bytes(n_layers, d_model, n_heads, n_kv_heads, length, n_bytes)`. It returns, as a whole
number, how many bytes the cache of a language model holds after `length` words of one text. The
model has `n_layers` layers. In each, `n_heads` query heads share `n_kv_heads` heads of keys and
values. A head is d_model / n_heads wide, and a number takes `n_bytes` bytes.
""",
    reference=cache_bytes,
    cases=bytes_cases,
    mistakes=(
        Mistake(
            counted(lambda d, h, g: g * (d // h)),
            "That is half of the memory. The cache keeps keys and values.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * d),
            "You counted d_model numbers for a word's keys. It has `n_kv_heads` key heads, each "
            "d_model / n_heads wide.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * g * d),
            "You gave each key head the width of the model. A head is d_model / n_heads wide.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * (d // h)),
            "You counted only one key head. There are `n_kv_heads` of them.",
        ),
        Mistake(
            counted(times=lambda n, length, size: length * size),
            "You counted only one layer. Each layer has its own keys and values.",
        ),
        Mistake(
            counted(times=lambda n, length, size: n * size),
            "You counted only one word. There are `length` of them.",
        ),
        Mistake(
            counted(times=lambda n, length, size: n * length),
            "You counted numbers, not bytes. Each number takes `n_bytes` bytes.",
        ),
        Mistake(
            counted(lambda d, h, g: 3 * g * (d // h)),
            "You counted three tensors. The cache keeps keys and values, but no queries.",
        ),
        Mistake(
            counted(lambda d, h, g: d + 2 * g * (d // h)),
            "You counted the queries, too. Later words need only keys and values.",
        ),
        Mistake(
            counted(times=lambda n, length, size: n * length**2 * size),
            "You multiplied by `length` twice. Each word adds the same amount to the cache. Only "
            "the attention map grows with the square of the length, and it is not kept.",
        ),
        Mistake(
            counted(lambda d, h, g: 2 * (d // h) * (h // g)),
            "You divided by `n_kv_heads`. More key heads need more memory.",
        ),
    ),
    hints=(
        "Begin with one word in one layer. How many numbers do its keys have?",
        "A key has d_model / n_heads numbers in each key head. Then count values, layers, words "
        "and bytes.",
        "`2 * n_layers * length * n_kv_heads * (d_model // n_heads) * n_bytes`.",
    ),
    insight="The last case has the sizes of Llama 3 with 8 billion parameters: 1 GiB for one text "
    "of 8,192 words. With a key head for each query head it would be 4 GiB.",
    comes_back="11.share computes attention with shared key heads.",
    others=(bytes_of_tensors,),
)

# --- 11.slopes: ALiBi's bias -----------------------------------------------------------------


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
        sizes = {"H": h, "Lk": lk} if lq == lk else {"H": h, "Lq": lq, "Lk": lk}
        return Case((h, lq, lk), sizes, note)

    return [
        case("4 heads, 3 words", 4, 3, 3),
        case("2 heads, the newest of 6 words", 2, 1, 6),
        case("2 heads, the 3 newest of 7 words", 2, 3, 7),
        case("16 heads, the 5 newest of 9 words", 16, 5, 9),
        case("1 head, 5 words", 1, 5, 5),
        case("8 heads, the 2 newest of 5 words", 8, 2, 5),
    ]


def alibi(
    slopes: Callable[[Tensor, int], Tensor] = lambda h, n: 2.0 ** (-8 * h / n),
    distance: Callable[[Tensor, Tensor], Tensor] = lambda i, j: (i - j).abs(),
    first: Callable[[int, int], int] = lambda lq, lk: lk - lq,
) -> Callable[[int, int, int], Tensor]:
    """ALiBi's bias, right unless a part is replaced.

    `slopes` gets 1 … H and the number of heads; `distance` gets the query and key positions.
    """

    def wrong(n_heads: int, lq: int, lk: int) -> Tensor:
        slope = slopes(torch.arange(1, n_heads + 1), n_heads)
        queries = torch.arange(lq)[:, None] + first(lq, lk)
        return -slope[:, None, None] * distance(queries, torch.arange(lk))

    return wrong


SLOPES = Exercise(
    id="11.slopes",
    title="ALiBi's bias",
    level=2,
    minutes=10,
    section="11.8",
    prompt="""
Write `my_alibi(n_heads, lq, lk)`, which returns the bias that ALiBi adds to the scores. The queries
belong to the newest `lq` of `lk` words. Head h of H, counted from 1, has the slope 2^(−8h/H), and
its bias for the query at position i and the key at position j is −slope · |i − j|. The answer has
shape (H, Lq, Lk) and PyTorch's default dtype. H is a power of two.
""",
    asks_for_dtype=True,
    reference=my_alibi,
    cases=alibi_cases,
    axes="H Lq Lk",
    mistakes=(
        Mistake(
            alibi(first=lambda lq, lk: 0),
            "Your first query is at position 0, but there are lk − lq words before it.",
        ),
        Mistake(
            alibi(distance=lambda i, j: -(i - j).abs()),
            "Your bias is positive, so the scores of distant keys rise. ALiBi reduces them.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-8 * (h - 1) / n)),
            "You counted the heads from 0. Counted from 1, the last has the slope 2^−8.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (8 * h / n)),
            "Your slopes are larger than 1: the minus sign in the exponent −8h/H is missing.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-h / n)),
            "Your slope is 2^(−h/H). The 8 in the exponent is missing.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0**-h),
            "Your slope halves from head to head, which is right only for 8 heads.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-8 * h // n)),
            "You rounded −8h/H to a whole number. With 16 heads it is −1/2 for the first head.",
        ),
        Mistake(
            alibi(lambda h, n: 2.0 ** (-8 // n * h)),
            "You rounded −8/H to a whole number. With 16 heads it is −1/2.",
        ),
        Mistake(
            alibi(distance=lambda i, j: i - j),
            "This is right for earlier keys, but you give later keys a negative distance, so their "
            "scores rise.",
        ),
        Mistake(
            alibi(distance=lambda i, j: torch.where(j > i, torch.inf, i - j)),
            "Your bias for later keys is −∞. The card asks for |i − j| on both sides.",
        ),
    ),
    properties=(
        Property(
            "The bias of a word for itself is 0. The first query is at position lk − lq.",
            lambda answer, case: (
                not answer.diagonal(case.arguments[2] - case.arguments[1], 1, 2).any()
            ),
        ),
    ),
    hints=(
        "The bias has two parts: H slopes, and a matrix of distances, (Lq, Lk).",
        "The positions of the queries are `torch.arange(lk - lq, lk)`, as a column, and those of "
        "the keys are `torch.arange(lk)`, as a row.",
        "`-slopes[:, None, None] * distance` has shape (H, Lq, Lk).",
    ),
    insight="Nothing is learned, and nothing depends on the length: a new word adds a row and a "
    "column, and the rest stays the same.",
    comes_back="Section 11.9 measures whether that is enough to read longer texts.",
    others=(alibi_by_loops,),
)

# --- 11.fate: what a cache keeps -------------------------------------------------------------


def fate(thing: str) -> str:
    if thing in ("e", "h"):
        return "drop"
    return "again" if thing in ("d", "g") else "keep"


FATE = Exercise(
    id="11.fate",
    title="What is kept when a new word comes?",
    level=2,
    minutes=8,
    section="11.6",
    prompt="""
A model of many layers has read ten words, and an eleventh arrives. What happens to the things that
it has computed for the first ten? We want the outputs of the last layer for the eleventh word
if the model is causal, and for all words if it is not. `fate(thing)` returns `"keep"` (needed, and
still right), `"again"` (needed, but no longer right), or `"drop"` (no longer needed).

| thing | of the first ten words |
|:--|:--|
| `"a"` | keys of the first layer; causal model |
| `"b"` | keys of the second layer; causal model |
| `"c"` | keys of the first layer; no mask, each word attends to all |
| `"d"` | keys of the second layer; no mask, each word attends to all |
| `"e"` | queries of the second layer; causal model |
| `"f"` | keys, rotated by the positions 0 to 9; causal model |
| `"g"` | keys, rotated by the distance to the end of the text, 9 to 0; causal model |
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
    cases=lambda generator: [Case((t,), note=_("thing {name}").format(name=t)) for t in "abcdefgh"],
    mistakes=(
        *choices(
            fate,
            {
                ("c", "again"): "In the first layer a key depends on its own word alone.",
                ("d", "keep"): "The inputs of the second layer mix *all* words, so they change.",
                ("f", "again"): "Word 3 stays at position 3, so its key is rotated as before.",
                ("g", "keep"): "The tenth word was at distance 0 from the end, and now it is at "
                "distance 1.",
            },
        ),
        Mistake(
            lambda thing: "drop",
            "The eleventh word attends to the first ten. What are its queries compared with in "
            "each layer?",
        ),
        Mistake(
            lambda thing: "again",
            "In a causal model, nothing about the first ten words depends on the eleventh.",
        ),
        Mistake(
            lambda thing: "keep",
            "What would still use it? Nothing more is computed for the first ten words.",
        ),
    ),
    hints=(
        "Ask two questions about each thing: what uses it when the eleventh word comes? And does "
        "it depend on the eleventh word?",
        "The query of an old word is not used again, but its key and value are. A vector that "
        "mixes all words changes with each new word.",
        "Two are dropped, and two are computed again. A causal mask keeps the keys of the second "
        "layer valid, and positions counted from the beginning do the same for rotated keys.",
    ),
    insight="A cache relies on the causal mask and on positions counted from the beginning. A "
    "model without a mask, such as an encoder, cannot have a cache.",
    comes_back="11.repair computes such a step, with cached keys and values.",
    code=False,
)

# --- 11.share: grouped-query attention -------------------------------------------------------


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
        if g == h:
            del named["G"]
        return Case((query, key, value), named, note)

    lq, lk, dk, dv = some_sizes(generator, 4)
    return [
        case("4 heads, 2 key heads", 4, 2, 3, 5, 6, 7),
        case("6 heads, 2 key heads", 6, 2, 3, 5, 7, 8),
        case("a batch of 2: 9 heads, 3 key heads", 2, 9, 3, 5, 8, 7, 6),
        case("one more leading axis", 3, 2, 8, 4, 5, 6, 7, 10),
        case("4 heads, 1 key head", 4, 1, lq, lk, dk, dv),
        case("3 heads, 3 key heads", 3, 3, 5, 7, 6, 8),
    ]


def repeated(
    repeat: Callable[[Tensor, int], Tensor] = lambda x, n: x.repeat_interleave(n, dim=-3),
    head: Head = Head(),  # noqa: B008  frozen
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Grouped-query attention, right unless the repetition or the head is replaced."""

    def wrong(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        n = query.size(-3) // key.size(-3)
        return head(query, repeat(key, n), repeat(value, n))

    return wrong


SHARE = Exercise(
    id="11.share",
    title="Grouped-query attention",
    level=2,
    minutes=12,
    section="11.4",
    prompt="""
Write `grouped(query, key, value)` for grouped-query attention without a mask. `query` has shape
(..., H, Lq, Dk), `key` (..., G, Lk, Dk), `value` (..., G, Lk, Dv), and the output
(..., H, Lq, Dv). H is a multiple of G. *Neighboring* heads share: with 6 heads and 2 key heads,
heads 0, 1, 2 use key head 0, and heads 3, 4, 5 use key head 1. The dots stand for any number of
leading dimensions.
""",
    reference=grouped,
    cases=share_cases,
    axes="A B H Lq Dv",
    mistakes=(
        Mistake(
            repeated(lambda x, n: torch.cat([x] * n, dim=-3)),
            "Your heads take turns: heads 0, 2, 4 use key head 0. Neighbors share, so the key "
            "heads have to be repeated in the order 0 0 1 1, not 0 1 0 1.",
        ),
        Mistake(
            repeated(lambda x, n: x.repeat(n, 1, 1)),
            "`repeat(n, 1, 1)` works only with three axes, and it repeats heads in the order 0 1 "
            "0 1. Neighbors share: 0 0 1 1.",
        ),
        Mistake(
            repeated(lambda x, n: x[..., [0] * n * x.size(-3), :, :]),
            "All heads use key head 0. Each group has its own key head.",
        ),
        Mistake(
            repeated(lambda x, n: x.repeat_interleave(n, dim=0)),
            "You repeated along axis 0, which is the batch if there is one. Count from the end.",
        ),
        Mistake(
            repeated(lambda x, n: x.repeat_interleave(n, dim=1)),
            "You repeated along axis 1, which works only with one batch axis. Count from the end.",
        ),
        Mistake(
            repeated(lambda x, n: x),
            "You combined H query heads with G heads of keys or values. Broadcasting stretches "
            "only an axis of size 1.",
        ),
        Mistake(
            repeated(head=Head(scores=lambda q, k: k @ q.mT / math.sqrt(q.size(-1)))),
            "The shapes of two matrices do not match. Scores and weights have the shape (Lq, Lk).",
        ),
        Mistake(
            repeated(
                head=Head(weights=lambda s: (s + torch.full_like(s, -math.inf).triu(1)).softmax(-1))
            ),
            "You masked later words. The card asks for no mask.",
        ),
    ),
    common_mistakes=MistakeSet(
        lambda head: repeated(head=head),
        SCORE_MISTAKES,
        WEIGHT_MISTAKES,
        OUTPUT_MISTAKES,
        widths={"Dv": lambda query, key, value: value.size(-1)},
    ),
    hints=(
        "How many heads share one key head? Give each of them a copy.",
        "The copies come in the order 0 0 0 1 1 1. PyTorch has two functions that repeat, and they "
        "differ in this order.",
        "`key.repeat_interleave(query.size(-3) // key.size(-3), dim=-3)`, and the same "
        "for the values.",
    ),
    insight="With G = H this is multi-head attention, and with G = 1 it is multi-query attention. "
    "All three compute equally many scores, but with fewer key heads there are fewer keys and "
    "values to keep and, without copies, fewer to read.",
    comes_back="The chapter's `GroupedQueryAttention` adds the projections.",
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
    old, new = keys.size(-2), x.size(-2)
    here = torch.arange(old, old + new, device=x.device)
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
        x, keys, values, *matrices = (draw(generator, *shape) for shape in shapes)
        drawn = (x, keys, values, *(w / d**0.5 for w in matrices))  # so that no score dominates
        return Case(drawn, dict(zip(names, sizes, strict=True)), note)

    return [
        case("1 new word after 3", 1, 3, 7, 6, 5),
        case("3 new words after 5", 3, 5, 8, 6, 7),
        case("4 new words, an empty cache", 4, 0, 7, 10, 5),
        case("2 texts, 3 new words after 4", 2, 3, 4, 7, 6, 5),
        case("one more leading axis", 2, 3, 4, 5, 7, 8, 6),
    ]


Pair = tuple[Tensor, ...]


@dataclass(frozen=True)
class Step:
    """The parts of the step. Each is right unless it is replaced."""

    first: Callable[[int, int], int] = lambda old, new: old
    key: Callable[[Tensor, Tensor], Tensor] = apply_rotary  # (key, positions)
    join_keys: Callable[[Tensor, Tensor], Pair] = lambda old, new: (old, new)
    join_values: Callable[[Tensor, Tensor], Pair] = lambda old, new: (old, new)
    diagonal: Callable[[int, int], int] = lambda old, new: old

    def __call__(
        self, x: Tensor, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
    ) -> Tensor:
        old, new = keys.size(-2), x.size(-2)
        positions = torch.arange(new, device=x.device) + self.first(old, new)
        query, key = apply_rotary(x @ w_q, positions), self.key(x @ w_k, positions)
        keys = torch.cat(self.join_keys(keys, key), dim=-2)
        values = torch.cat(self.join_values(values, x @ w_v), dim=-2)
        mask = torch.ones(new, keys.size(-2), dtype=torch.bool, device=x.device)
        mask = mask.tril(self.diagonal(old, new))
        return scaled_dot_product_attention(query, keys, values, mask)[0]


def at_0(old: int, new: int) -> int:
    return 0


def in_front(old: Tensor, new: Tensor) -> Pair:
    return new, old


def only_new(old: Tensor, new: Tensor) -> Pair:
    return (new,)


STEP_MISTAKES = (
    WrongLine(
        "first", at_0, "Your first new word is still at position 0, as if the cache were empty."
    ),
    WrongLine(
        "first",
        lambda old, new: old + 1,
        "Off by one: the old words are at 0 to old − 1, so the first new one is at `old`.",
    ),
    WrongLine("key", lambda key, positions: key, "The new keys are not rotated."),
    WrongLine(
        "key",
        lambda key, positions: apply_rotary(key, positions - positions[0]),
        "The new keys are rotated as if the first were at position 0. They are at the same "
        "positions as their queries.",
    ),
    WrongLine(
        "join_keys",
        lambda old, new: (apply_rotary(old, torch.arange(old.size(-2), device=old.device)), new),
        "You rotated the old keys once more. The keys in the cache are already rotated.",
    ),
    WrongLine(
        "join_values",
        in_front,
        "The new values come before the old ones, but the new keys come after the old ones.",
    ),
    WrongLine(
        "diagonal",
        at_0,
        "Your triangle starts in the top left corner, so the first new word attends to word 0 "
        "alone. It may attend to all old words and to itself.",
    ),
    WrongLine("diagonal", lambda old, new: old - 1, "Off by one: a new word may attend to itself."),
    WrongLine(
        "diagonal",
        lambda old, new: old + new,
        "Your mask hides nothing, so the first of several new words attends to later ones.",
    ),
    WrongLine(
        "diagonal",
        lambda old, new: new,
        "You moved the triangle by `new`. Move it by `old`, the number of words before the first "
        "new one.",
    ),
)


REPAIR = Exercise(
    id="11.repair",
    title="One step with a cache",
    level=3,
    minutes=15,
    section="11.6",
    prompt="""
A causal head with rotary positions has read some words. Their `keys` (..., old, Dk), already
rotated, and `values` (..., old, Dv) are in a cache. Now `x` (..., new, D) holds the next words, one
or more. This function should return their outputs, (..., new, Dv), as if all words had been read at
once. It runs, and with an empty cache it is right. Find the three faults. `w_q`, `w_k` (D, Dk) and
`w_v` (D, Dv) are the head's matrices.
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
            Step(at_0, join_values=in_front, diagonal=at_0),
            "All three faults are still there. At which position is the first new word? Are keys "
            "and values in the same order? Which words may the first new word attend to?",
        ),
        Mistake(
            Step(join_values=in_front, diagonal=at_0),
            "The positions are now right. What about the order of the values, and the mask?",
        ),
        Mistake(
            Step(at_0, diagonal=at_0),
            "The order of the values is now right. What about the positions, and the mask?",
        ),
        Mistake(
            Step(at_0, join_values=in_front),
            "The mask is now right. What about the positions, and the order of the values?",
        ),
        Mistake(
            Step(join_keys=in_front, join_values=in_front),
            "The new words come before the old ones. The mask expects the old words first.",
        ),
        Mistake(
            Step(join_keys=only_new, join_values=only_new, diagonal=at_0),
            "The old words have no effect: each new word attends to the new ones alone.",
        ),
    ),
    common_mistakes=MistakeSet(lambda step: step, STEP_MISTAKES, right=Step()),
    hints=(
        "Take three old words and two new ones, and write down what each line should give: "
        "positions 3 and 4, five keys, five values, and a mask of two rows.",
        "The new words come after the old ones in every line, and attend to all of them.",
        "`torch.arange(old, old + new)`, `cat((values, x @ w_v))`, `tril(old)`.",
    ),
    insight="With an empty cache, all three faults are invisible, and otherwise none raises an "
    "error. So test a cache on a text that is read in pieces of several words, and compare the "
    "outputs with those of one pass over the whole text.",
    comes_back="11.experiment asks how a head is told about positions.",
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
    """Make a function that reorders the rows. `order` gets their indices, (H, Dk)."""

    def wrong(weight: Tensor, n_heads: int) -> Tensor:
        rows = torch.arange(len(weight), device=weight.device).view(n_heads, -1)
        return weight[order(rows).flatten()]

    return wrong


def half_and_half(rows: Tensor) -> Tensor:
    return rows.unflatten(-1, (2, -1)).mT.flatten(-2)


PAIRS = Exercise(
    id="11.pairs",
    title="Halves or neighbors",
    level=3,
    minutes=15,
    section="11.7",
    second_reading=True,
    prompt="""
In Hugging Face's version of Llama, rotary positions rotate column k of a head together with column
k + Dk/2. Ours rotate columns 2k and 2k + 1, as Meta's own code does. Both give the same scores if
the columns of queries and keys are reordered to match. Write `for_pairs(weight, n_heads)`. It gets
the weight of Hugging Face's `q_proj` or `k_proj` as `nn.Linear` stores it, (H · Dk, D). Its *rows*
compute the columns of a query, and the first Dk rows belong to head 0. Return the weight for our
layer, with the rows in the order that our `apply_rotary` needs.
""",
    reference=for_pairs,
    cases=pairs_cases,
    axes="H·Dk D",
    mistakes=(
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (-1, 2)).mT),
            "This is the reverse, from neighbors to halves: 0, 2, 4, …, 1, 3, 5, …",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows.flatten())),
            "You treated all heads as one. Each head has its own two halves.",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows)[:1].repeat(len(rows), 1)),
            "Every head got the rows of head 0. Head h begins at row h · Dk.",
        ),
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (2, -1)).transpose(0, 1)),
            "You swapped heads and halves. Swap halves and columns instead.",
        ),
        Mistake(
            reordered(lambda rows: rows),
            "The rows are still in Hugging Face's order. Reshaping back and forth moves no row.",
        ),
        Mistake(
            reordered(lambda rows: half_and_half(rows).unflatten(-1, (-1, 2)).flip(-1)),
            "The pairs are right, but each is reversed, so it would rotate the other way.",
        ),
        Mistake(
            reordered(lambda rows: rows.unflatten(-1, (2, -1)).flip(-2)),
            "You swapped the two halves. They have to be interleaved.",
        ),
        Mistake(
            reordered(lambda rows: rows.mT),
            "Your rows alternate between heads. The order should change only within a head.",
        ),
        Mistake(
            lambda weight, n_heads: torch.cat((weight[:, 0::2], weight[:, 1::2]), dim=1),
            "You reordered the *columns*, which belong to the input. Reorder the rows.",
        ),
    ),
    hints=(
        "For a head of width 6, our pairs are rows (0, 1), (2, 3), (4, 5). Which rows does Hugging "
        "Face pair?",
        "The order is 0, 3, 1, 4, 2, 5. Two halves of three rows become three pairs: two axes are "
        "swapped.",
        "`weight.unflatten(0, (n_heads, 2, -1))`, swap the two axes in the middle, then flatten.",
    ),
    insight="A dot product does not depend on the order of its terms, as long as queries and keys "
    "agree. So the values and W_O stay as they are.",
    comes_back="Section 11.7 says how closely our layer then matches Llama.",
    others=(for_pairs_by_numbers,),
)

# --- 11.experiment: how is it told the positions? --------------------------------------------

Layer = Callable[[Tensor], Tensor]


def how_told(attend: Layer) -> str:
    word = torch.randn(8, dtype=torch.float64)
    row = attend(word.expand(200, 8))[-1]  # one word 200 times: what the last attends to
    if not row.all():
        return "window"
    if torch.allclose(row, row[:1]):
        return "nothing"
    zeros = attend(torch.zeros(200, 8, dtype=torch.float64))[-1]
    if torch.allclose(zeros, zeros[:1]):
        return "rotary"  # rotated zeros are zeros
    steps = row.log().diff()
    return "alibi" if torch.allclose(steps, steps[:1]) else "added"


W_Q, W_K = draw(Generator().manual_seed(11), 2, 8, 8) / 3
TABLE = draw(Generator().manual_seed(12), 256, 8)
LATER = TABLE * (torch.arange(256)[:, None] > 3)


def causal_head(
    rows: Callable[[Tensor], Tensor] = lambda x: x,
    rotate: Callable[[Tensor, Tensor], Tensor] = lambda x, positions: x,
    slope: float = 0.0,
    window: int = 256,
    n_sinks: int = 0,
) -> Layer:
    """Return a function for the weights of a causal head with this kind of positional encoding.

    The function computes in float64, and returns weights in the dtype of its input.
    """

    def attend(x: Tensor) -> Tensor:
        inputs = rows(x.double().cpu())
        positions = torch.arange(len(x))
        query, key = rotate(inputs @ W_Q, positions), rotate(inputs @ W_K, positions)
        bias = -slope * (positions[:, None] - positions).abs()
        mask = sink_mask(len(x), window, n_sinks)
        return scaled_dot_product_attention(query, key, inputs, mask, bias.double())[1].to(x.dtype)

    return attend


def rotate_half(x: Tensor, positions: Tensor) -> Tensor:
    return torch.cat((apply_rotary(x[:, :4], positions), x[:, 4:]), dim=-1)


HEADS = {
    "no positions": causal_head(),
    "rows of length 1": causal_head(lambda x: x / x.norm(dim=-1, keepdim=True).clamp_min(1e-9)),
    "sinusoids, added to the rows": causal_head(lambda x: x + sinusoids(torch.arange(len(x)), 8)),
    "learned rows, added": causal_head(lambda x: x + TABLE[: len(x)]),
    "added from position 4 on": causal_head(lambda x: x + LATER[: len(x)]),
    "rotary": causal_head(rotate=apply_rotary),
    "rotary, half of the columns": causal_head(rotate=rotate_half),
    "ALiBi, slope 1/4": causal_head(slope=0.25),
    "ALiBi, slope 1/256": causal_head(slope=1 / 256),
    "a window of 6": causal_head(window=6),
    "a window of 120": causal_head(window=120),
    "a window of 5 and 3 sinks": causal_head(window=5, n_sinks=3),
}

CONFUSED = {
    ("rows of length 1", "rotary"): "zeros are not enough. Use one random word at all positions.",
    ("added from position 4 on", "nothing"): "positions 0 to 3 are not marked. Use a longer text.",
    ("rotary", "nothing"): "rotated zeros are zeros. Use one random word at all positions.",
    ("ALiBi, slope 1/4", "window"): "a window has weights of exactly 0. Here they are only small.",
    ("ALiBi, slope 1/256", "nothing"): "the slope is 1/256. Use a long text and a small tolerance.",
    ("a window of 120", "nothing"): "it attends to 120 words. Use a longer text.",
}

EXPERIMENT = Exercise(
    id="11.experiment",
    title="How is it told about positions?",
    level=3,
    minutes=15,
    section="11.10",
    prompt="""
Here are twelve causal heads without descriptions. Each takes rows `x` (L, 8) of your choice, with L
at most 256, and returns its weights, (L, L). `how_told(attend)` may call a head as often as you
like, and returns how it is told about positions:

- `"nothing"`: not at all, apart from the causal mask;
- `"added"`: something is added to the rows, different for each position;
- `"rotary"`: queries and keys are rotated, all of their columns or some;
- `"alibi"`: each step of distance subtracts the same amount from the score;
- `"window"`: not at all, but it attends only to the last words, 120 at most, and perhaps to the
  first few.
""",
    reference=how_told,
    cases=lambda generator: [Case((head,), note=name) for name, head in HEADS.items()],
    mistakes=(
        *choices(how_told, {(HEADS[name], said): text for (name, said), text in CONFUSED.items()}),
        Mistake(
            lambda attend: "nothing",
            "with one random word at all positions, the weights in the last row differ.",
        ),
        Mistake(
            lambda attend: "added",
            "if something is added, rows of zeros get weights that differ. None is exactly 0, and "
            "their logarithms do not change in equal steps. That is not the case here.",
        ),
        Mistake(
            lambda attend: "rotary",
            "with rotary positions, rows of zeros get equal weights, and one random word at all "
            "positions gets weights that differ. One of the two is not true here.",
        ),
        Mistake(
            lambda attend: "alibi",
            "for one word at all positions, ALiBi changes the logarithm of the weight by the same "
            "step from key to key, and this step is not 0.",
        ),
        Mistake(
            lambda attend: "window",
            "with a window of at most 120 words, some weights in a text of 200 words are "
            "exactly 0. Here, none of them are.",
        ),
    ),
    hints=(
        "Put one word at all positions, so that only the positions differ. Which weights of the "
        "last row are 0, and are the others equal?",
        "Three kinds are left. What remains of each if the word is a row of zeros? And what does "
        "ALiBi do to the logarithm of the weight, from key to key?",
        "If some weights are exactly 0, it is `window`; if all are equal, `nothing`; if they are "
        "equal only for rows of zeros, `rotary`. If `row.log().diff()` is the same everywhere, it "
        "is `alibi`, and otherwise `added`.",
    ),
    insight="Each kind needs its own input: a long text, one word at all positions, or zeros. An "
    "input on which two of the five agree cannot decide between them.",
    comes_back="You can test any head this way: change one thing, and see what effect it has.",
    code=False,
)

CHAPTER = "11. Language models"
EXERCISES = (KEPT, BYTES, SLOPES, FATE, SHARE, REPAIR, PAIRS, EXPERIMENT)
