"""Exercises of chapter 6: masks."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention.masks import causal_mask
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.common_mistakes import MASK_MISTAKES, WEIGHT_MISTAKES, MistakeSet
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    named_sizes,
    some_sizes,
)
from attnbook.language import _

# --- 06.causal: a triangle for the newest words ----------------------------------------------


def my_causal(n_queries: int, n_keys: int) -> Tensor:
    everyone = torch.ones(n_queries, n_keys, dtype=torch.bool)
    return everyone.tril(n_keys - n_queries)


def last_rows(n_queries: int, n_keys: int) -> Tensor:
    return causal_mask(n_keys)[n_keys - n_queries :]


def by_positions(n_queries: int, n_keys: int) -> Tensor:
    key = torch.arange(n_keys)
    query = key[n_keys - n_queries :, None]  # (Lq, 1), the position of each query
    return key <= query


def causal_cases(generator: Generator) -> list[Case]:
    lq, lk = sorted(some_sizes(generator, 2))
    return [
        Case((4, 4), {"L": 4}, "4 queries, 4 keys"),
        Case((2, 5), {"Lq": 2, "Lk": 5}, "the 2 newest of 5 words"),
        Case((5, 7), {"Lq": 5, "Lk": 7}, "the 5 newest of 7 words"),
        Case(
            (lq, lk),
            {"Lq": lq, "Lk": lk},
            _("the {n} newest of {words} words").format(n=lq, words=lk),
        ),
        Case((1, 6), {"Lq": 1, "Lk": 6}, "the newest of 6 words"),
    ]


def triangle(side: str, shift: int) -> Callable[[int, int], Tensor]:
    """Make a wrong mask: the other triangle, or one whose diagonal is shifted."""

    def wrong(n_queries: int, n_keys: int) -> Tensor:
        everyone = torch.ones(n_queries, n_keys, dtype=torch.bool)
        return getattr(everyone, side)(n_keys - n_queries + shift)

    return wrong


CAUSAL = Exercise(
    id="06.causal",
    title="A triangle for the newest words",
    level=1,
    minutes=8,
    section="6.12",
    prompt="""
Write `my_causal(n_queries, n_keys)`: the causal mask for the newest `n_queries` words of a sentence
of `n_keys` words. With as many queries as keys, it is the triangle of section 6.3; with one query,
it is the row of section 6.12. The answer is boolean (True = may look) and has shape (Lq, Lk).
""",
    reference=my_causal,
    cases=causal_cases,
    axes="Lq Lk",
    mistakes=(
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).tril(),
            "Your triangle starts in the top left corner. The queries are the *newest* words, so "
            "it has to end in the bottom right corner.",
        ),
        Mistake(
            triangle("tril", 1),
            "Off by one: each word also sees the next one, which it has to predict.",
        ),
        Mistake(triangle("tril", -1), "Off by one: a word may also see itself."),
        Mistake(
            triangle("triu", 1),
            "In your mask, True means hidden, as in `nn.MultiheadAttention`. In this book, True "
            "means may look.",
        ),
        Mistake(
            triangle("triu", 0),
            "Each word sees itself and what comes after it. This is the triangle for words in "
            "columns (section 6.4).",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_keys, n_queries, dtype=torch.bool).tril(
                n_queries - n_keys
            ),
            "Your rows belong to the keys. A mask has one row per query, like the scores.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).tril(
                n_queries - n_keys
            ),
            "The shift has the wrong sign. The diagonal has to move to the right, which is "
            "positive in `tril`.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool),
            "Everything is permitted. That is right only for the newest word.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).triu(1),
            "In your mask, True means hidden, and the triangle starts in the top left corner.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys).tril(n_keys - n_queries),
            "These are numbers. If they are added to the scores, 1 and 0 hide nothing (section "
            "6.7).",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.full((n_queries, n_keys), -torch.inf).triu(
                n_keys - n_queries + 1
            ),
            "0 and −inf would work if they were added to the scores. The book's masks are boolean.",
        ),
    ),
    hints=(
        "At which position of the sentence is query 0? That many keys come before it.",
        "Query i is at position i + n_keys − n_queries and sees the keys up to there.",
        "`torch.ones(..., dtype=torch.bool).tril(d)` keeps the columns j ≤ i + d of row i.",
    ),
    insight="With one query, the mask is all True: the newest word needs no mask. `is_causal=True` "
    "would show it only the first word.",
    comes_back="06.heads combines the square causal mask with a padding mask.",
    others=(last_rows, by_positions),
)

# --- 06.verdict: which program leaks? --------------------------------------------------------


def verdict(program: str) -> str:
    return {
        "a": "leak",
        "b": "blind",
        "c": "leak",
        "d": "sealed",
        "e": "sealed",
        "f": "leak",
    }[program]


VERDICT = Exercise(
    id="06.verdict",
    title="Sealed, blind or leaking",
    level=2,
    minutes=10,
    section="6.11",
    prompt="""
Six programs should be causal. Each gets six words; `attend(x, mask)` is one head that masks before
the softmax, `ones` is a (6, 6) mask that is True everywhere, and `causal` is `ones.tril()`.

| | program |
|:--|:--|
| a | `attend(x, ones.tril(1))` |
| b | `attend(x, causal & ~ones.tril(-3))` |
| c | `(scores.softmax(-1) * causal) @ value` |
| d | `scores.masked_fill(~causal, -1e9).softmax(-1) @ value`, in float32 |
| e | `y = x + attend(x, causal)`, then `y + attend(y, causal)` |
| f | `out = attend(x, causal)`, then `out - out.mean(0)` |

The leak detector replaces each word in turn. `verdict(program)` returns `"leak"` if some output
changes with a later word; otherwise `"blind"` if some output does not change with its own or an
earlier word; otherwise `"sealed"`.
""",
    stub="""
def verdict(program):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"a": "", "b": "", "c": "", "d": "", "e": "", "f": ""}
    return found[program]
""",
    reference=verdict,
    cases=lambda generator: [Case((p,), note=_("program {name}").format(name=p)) for p in "abcdef"],
    mistakes=choices(
        verdict,
        {
            ("a", "sealed"): "`tril(1)` keeps one diagonal too many. Which column does it add to "
            "row 0?",
            (("a", "c", "f"), "blind"): "Every output still depends on all words up to its own.",
            ("b", "sealed"): "`~ones.tril(-3)` removes the lower left corner: row 4 cannot see "
            "word 0.",
            ("b", "leak"): "`&` can only hide more. Nothing above the diagonal is permitted.",
            ("c", "sealed"): "The weights above the diagonal are 0, but the others were divided "
            "by a sum. Over which words?",
            ("d", "leak"): "In float32, exp(−10⁹) is exactly 0, and each row has at least one "
            "ordinary score: that of its own word.",
            (("d", "e"), "blind"): "Nothing but the future is hidden.",
            ("e", "leak"): "Row j of `y` depends on words 0 … j, and row i attends only to rows j "
            "≤ i.",
            ("f", "sealed"): "`mean(0)` runs over the words, so part of the last row enters "
            "every row.",
        },
    ),
    hints=(
        "Output i is computed from several numbers. Which words affect each of them? Check more "
        "than the weights.",
        "A sum can leak. What do the softmax of (c) and the mean of (f) sum over?",
        "Three programs leak and one is blind. If no layer looks ahead, neither does a stack of "
        "two.",
    ),
    insight="Two of the three leaks have triangular weights, so no attention map reveals them, "
    "but changing a word does.",
    comes_back="In 06.experiment you change words yourself. Chapter 7 shuffles them.",
)

# --- 06.weights: a softmax with a rule for empty rows ----------------------------------------


def my_weights(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim=-1).masked_fill(~mask, 0.0)


def filled_once(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)


def by_hand(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(~mask, -1e9)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp_min(1e-9)


def weight_cases(generator: Generator) -> list[Case]:
    def some(*shape: int) -> Tensor:
        """A mask with at least one True and one False in each row."""
        places = torch.rand(*shape, generator=generator).argsort(-1)
        return (places < shape[-1] // 2 + 1) & (places != 0)

    def case(
        note: str, mask: Tensor, *sizes: int, hidden: float | None = None, plus: float = 0.0
    ) -> Case:
        scores = draw(generator, *sizes) + plus
        if hidden is not None:
            scores = scores.masked_fill(~mask, hidden)
        return Case((scores, mask), named_sizes("A B H Lq Lk", sizes), note)

    lq, lk = some_sizes(generator, 2)
    empty = some(4, 6)
    empty[1] = False
    lengths = torch.tensor([7, 4])[:, None, None, None]  # (B, 1, 1, 1)
    return [
        case("3 queries, 5 keys", some(3, 5), 3, 5),
        case(_("{queries} queries, {keys} keys").format(queries=lq, keys=lk), some(lq, lk), lq, lk),
        case("padding, a mask of shape (2, 1, 1, 7)", torch.arange(7) < lengths, 2, 3, 5, 7),
        case("one more axis in front, one mask for all", some(5, 6), 2, 4, 3, 5, 6),
        case("every hidden key has the score 1000", some(3, 8), 3, 8, hidden=1000.0),
        case(
            "permitted scores near −20000, hidden ones 0", some(5, 7), 5, 7, hidden=0.0, plus=-2e4
        ),
        case("row 1 may look at nothing", empty, 4, 6),
    ]


def rows_sum_to_one_or_none(answer: Tensor, case: Case) -> bool:
    wanted = case.arguments[1].any(-1).to(answer).expand(answer.shape[:-1])
    return bool((answer.sum(-1) - wanted).abs().max() < 1e-6)


def hidden_are_zero(answer: Tensor, case: Case) -> bool:
    return not bool(answer.masked_select(~case.arguments[1]).any())


WEIGHTS = Exercise(
    id="06.weights",
    title="A softmax with a rule for empty rows",
    level=2,
    minutes=12,
    section="6.10",
    second_reading=True,
    prompt="""
Write `my_weights(scores, mask)`: the softmax of each row of `scores` (..., Lq, Lk) over the keys
that `mask` permits (boolean, True = may look, broadcastable to the scores). Hidden keys get a
weight of exactly 0, and a query that may look at nothing gets a row of zeros.
""",
    reference=my_weights,
    cases=weight_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            lambda scores, mask: (
                scores.masked_fill(~mask, -20.0).softmax(-1) * mask.any(-1, keepdim=True)
            ),
            "Hidden keys still have a small weight. Fill with −∞ to get exactly 0.",
        ),
        Mistake(
            lambda scores, mask: scores.softmax(-1) * mask.any(-1, keepdim=True),
            "The rows of queries that may look at nothing are right. In the others, hidden keys "
            "got some weight.",
        ),
        Mistake(
            lambda scores, mask: (
                scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(1 / scores.size(-1))
            ),
            "A query that may look at nothing got equal weights on hidden keys. Its row has to be "
            "all zeros.",
        ),
        Mistake(
            lambda scores, mask: scores.masked_fill(~mask, -1e4).softmax(-1) * mask,
            "A number such as −100 or −10⁴ hides a key only if the permitted scores are far "
            "larger. −∞ is below all of them.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.weights, MASK_MISTAKES, WEIGHT_MISTAKES),
    properties=(
        Property(
            "A row has to sum to 1, or to 0 if its query may look at nothing. Not all of yours do.",
            rows_sum_to_one_or_none,
        ),
        Property(
            "A hidden key needs a weight of exactly 0. At least one of yours is not 0.",
            hidden_are_zero,
        ),
    ),
    hints=(
        "What do you have to do before the softmax, so that no denominator contains a hidden "
        "score? And what do you have to do after it?",
        "`masked_fill(~mask, -torch.inf)` before the softmax makes every row right, except for "
        "queries that may look at nothing. Their rows become 0/0.",
        "After the softmax, fill all hidden entries with 0. No other entry is nan.",
    ),
    insight="Fill in minus infinity before the softmax, and zero after it. Filling, unlike adding "
    "−∞, also keeps nan out of the gradients, because no gradient flows through a filled entry.",
    comes_back="From here on the book's `softmax` does this in every layer.",
    others=(filled_once, by_hand),
)

# --- 06.heads: two masks and the axis of the heads -------------------------------------------


def may_look(lengths: Tensor, length: int) -> Tensor:
    position = torch.arange(length).to(lengths.device)
    causal = position <= position[:, None]  # (L, L)
    real = position >= length - lengths[:, None]  # (B, L)
    return causal & real[:, None, None, :]


def by_distance(lengths: Tensor, length: int) -> Tensor:
    position = torch.arange(length, device=lengths.device)
    back = position[:, None] - position  # (L, L), how far back each key is
    first = (length - lengths)[:, None, None, None]  # the position of the first real word
    into = position[:, None] - first  # how far into its sentence each query is
    return (back >= 0) & (back <= into)


def head_cases(generator: Generator) -> list[Case]:
    def case(note: str, length: int, *lengths: int) -> Case:
        sizes = {"B": len(lengths), "H": 1, "L": length}
        return Case((torch.tensor(lengths), length), sizes, note)

    some = torch.randint(1, 6, (4,), generator=generator).tolist()
    return [
        case("2 sentences, of 3 words and 1 word", 4, 3, 1),
        case("3 sentences, one of them full", 5, 5, 2, 4),
        case(_("4 sentences of {lengths} words").format(lengths=some), 6, *some),
        case("one sentence is empty", 3, 0, 2),
    ]


def combined(how: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """Return a wrong combination of the right masks, causal (L, L) and real (B, L)."""

    def wrong(lengths: Tensor, length: int) -> Tensor:
        place = torch.arange(length, device=lengths.device)
        return how(place <= place[:, None], place >= length - lengths[:, None])

    return wrong


HEADS = Exercise(
    id="06.heads",
    title="Two masks and the axis of the heads",
    level=2,
    minutes=10,
    section="6.10",
    second_reading=True,
    prompt="""
We want to continue a batch of sentences at the right end, so short ones are padded on the *left*,
to `length` words. `lengths` (B,) holds the number of real words in each sentence. Write
`may_look(lengths, length)`: a mask that is causal, hides the padding, and is the same for all
heads. It is boolean (True = may look) and has shape (B, 1, L, L). The rows of the padding are then
empty, as they should be.
""",
    reference=may_look,
    cases=head_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            combined(lambda causal, real: causal & real[:, None, :]),
            "A mask with three axes is aligned with (H, Lq, Lk), so the mask of sentence b goes to "
            "head b.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real[None, :, None, :]),
            "Your sentences are on the axis of the heads. The batch comes first.",
        ),
        Mistake(
            combined(lambda causal, real: causal | real[:, None, None, :]),
            "You combined the masks with *or*. A key is visible only if both masks permit it.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real[:, None, :, None]),
            "You hid the rows of the padding. Hide its columns, because the keys are what a query "
            "looks at.",
        ),
        Mistake(
            combined(lambda causal, real: real[:, None, None, :].expand(-1, -1, len(causal), -1)),
            "The padding is hidden, but the causal mask is missing.",
        ),
        Mistake(
            combined(lambda causal, real: causal.expand(len(real), 1, -1, -1)),
            "The future is hidden, but the padding is not.",
        ),
        Mistake(
            combined(lambda causal, real: ~(causal & real[:, None, None, :])),
            "Your mask has the opposite meaning: your True means hidden.",
        ),
        Mistake(
            combined(lambda causal, real: causal & ~real[:, None, None, :]),
            "You hid the words and left the padding visible.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real.flip(-1)[:, None, None, :]),
            "You hid the ends of the sentences, as `padding_mask` does. Here the padding is on "
            "the left.",
        ),
        Mistake(
            lambda lengths, length: combined(lambda causal, real: causal & real[:, None, None, :])(
                length - lengths, length
            ),
            "`lengths` counts the real words, not the padding.",
        ),
        Mistake(
            lambda lengths, length: combined(lambda causal, real: causal & real[:, None, None, :])(
                lengths - 1, length
            ),
            "Off by one: the first real word is hidden. After p padding positions, it is at "
            "position p.",
        ),
        Mistake(
            combined(
                lambda causal, real: (
                    causal & real[:, None, None, :]
                    | ~real[:, None, :, None] & torch.eye(len(causal)).to(causal)
                )
            ),
            "You let the padding attend to itself. Leave its rows empty: the book's `softmax` "
            "turns them into zeros.",
        ),
    ),
    hints=(
        "Make two masks first, (L, L) and (B, L). Which axis of the second belongs to the keys?",
        "Compare `torch.arange(length)` with itself, and with the position at which each sentence "
        "begins.",
        "Indexing with None inserts an axis: (B, L) becomes (B, 1, 1, L). Then `&` broadcasts.",
    ),
    insight="The causal mask alone hides padding on the right from real words, but not padding on "
    "the left.",
    comes_back="06.pytorch converts such a mask for PyTorch's layer.",
    others=(by_distance,),
)

# --- 06.pytorch: our mask for PyTorch's layer ------------------------------------------------


def for_pytorch(mask: Tensor, n_heads: int) -> Tensor:
    per_head = mask.expand(-1, n_heads, -1, -1)  # (B, H, Lq, Lk)
    return ~per_head.flatten(0, 1)


def by_stacking(mask: Tensor, n_heads: int) -> Tensor:
    rows = [mask[b, h % mask.size(1)] for b in range(len(mask)) for h in range(n_heads)]
    return torch.stack(rows).logical_not()


def pytorch_cases(generator: Generator) -> list[Case]:
    def case(note: str, n_heads: int, *shape: int) -> Case:
        mask = torch.rand(*shape, generator=generator) < 0.5
        mask[..., 0] = True
        mask[0, 0, 0, 1], mask[-1, 0, 0, 1] = True, False  # the first and last sentence differ
        mask[:, 0, 1, 1], mask[:, -1, 1, 1] = True, shape[1] == 1  # the first and last head differ
        sizes = {"B": shape[0], "H": n_heads, "Lq": shape[2], "Lk": shape[3]}
        return Case((mask, n_heads), sizes, note)

    return [
        case("1 sentence, one mask for 2 heads", 2, 1, 1, 3, 4),
        case("2 sentences, one mask each for all 3 heads", 3, 2, 1, 4, 5),
        case("2 sentences, a mask for each of the 3 heads", 3, 2, 3, 5, 7),
        case("4 sentences, a mask for each of the 2 heads", 2, 4, 2, 3, 6),
    ]


def heads_outside(mask: Tensor, n_heads: int) -> Tensor:
    return mask.transpose(0, 1).expand(n_heads, -1, -1, -1).flatten(0, 1)


PYTORCH = Exercise(
    id="06.pytorch",
    title="Our mask for PyTorch's layer",
    level=3,
    minutes=12,
    section="6.9",
    prompt="""
`nn.MultiheadAttention` takes one `attn_mask` of shape (B·H, Lq, Lk): first the masks for all heads
of sentence 0, then those for all heads of sentence 1, and so on. In it, True means may NOT look.
Our `mask` (True = may look) has shape (B, 1, Lq, Lk) if it is the same for all `n_heads` heads, and
otherwise (B, H, Lq, Lk). The conversion below runs, and PyTorch accepts what it returns. Repair its
two faults.
""",
    stub="""
def for_pytorch(mask, n_heads):
    raise NotImplementedError  # repair the lines below, then delete this one
    per_head = mask.transpose(0, 1).expand(n_heads, -1, -1, -1)
    return per_head.flatten(0, 1)
""",
    reference=for_pytorch,
    cases=pytorch_cases,
    axes="B·H Lq Lk",
    mistakes=(
        Mistake(
            heads_outside,
            "Both faults are still there. What does True mean to this layer, and which axis comes "
            "first in its order?",
        ),
        Mistake(
            lambda mask, n_heads: ~heads_outside(mask, n_heads),
            "The meaning of True is now right. But the order is still head 0 of all sentences, "
            "then head 1. The sentences come first.",
        ),
        Mistake(
            lambda mask, n_heads: mask.expand(-1, n_heads, -1, -1).flatten(0, 1),
            "The order is now right. But to this layer, True means may NOT look.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask[:, :1].expand(-1, n_heads, -1, -1).flatten(0, 1),
            "Every head got the mask of head 0. If there is an axis of heads already, keep it.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask[:, 0],
            "This is one mask per sentence. This layer needs one per sentence and head.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask.expand(-1, n_heads, -1, -1),
            "Order and meaning are right. Join the axes of sentences and heads with `flatten`.",
        ),
    ),
    hints=(
        "One fault is the meaning of True. The other is the order of the masks, which the shape "
        "does not show.",
        "Flattening (H, B, …) puts all sentences of head 0 first. Which axes do you have to "
        "flatten, and in which order?",
        "Without the `transpose`, `expand` has to stretch axis 1. And add one `~`.",
    ),
    insight="B·H and H·B are the same number, so neither a shape check nor a batch of one sentence "
    "reveals this mistake.",
    comes_back="Chapter 4 has the same trap: a `view` in place of a transpose.",
    others=(by_stacking,),
)

# --- 06.experiment: how far back does it look? -----------------------------------------------

Layer = Callable[[Tensor], Tensor]


def reach(layer: Layer) -> int:
    x = torch.randn(12, 4)
    other = x.clone()
    other[0] = torch.randn(4)
    moved = (layer(other) != layer(x)).any(dim=-1)  # (12,), which outputs change with word 0
    return int(moved.nonzero().max())


def by_gradients(layer: Layer) -> int:
    slopes = torch.autograd.functional.jacobian(layer, torch.randn(12, 4))
    i, _, j, _ = slopes.nonzero().T  # output i depends on word j
    return int((i - j).max())


Offsets = Tensor  # (L, L), how many words back each key is


def attending(*looks: Callable[[Offsets], Tensor]) -> Layer:
    """Return a stack of causal layers, one for each rule about how far back a word may look."""

    def layer(x: Tensor) -> Tensor:
        place = torch.arange(len(x), device=x.device)
        back = place[:, None] - place
        for look in looks:
            mask = (back >= 0) & look(back)
            x = scaled_dot_product_attention(x / 8, x / 8, x, mask)[0]
        return x

    return layer


def windows(*sizes: int) -> Layer:
    """Return a stack of layers, one per size; each word sees that many words, counting itself."""
    return attending(*(lambda back, size=size: back < size for size in sizes))


def same_block(back: Offsets) -> Tensor:
    block = torch.arange(len(back), device=back.device) // 7
    return block[:, None] == block


ALONE, ONE, DEEP, MIXED, GAP, BLOCKS = LAYERS = (
    windows(1),
    windows(3),
    windows(3, 3, 3),
    windows(2, 4),
    attending(lambda back: (back == 0) | (back == 5)),
    attending(same_block),
)


EXPERIMENT = Exercise(
    id="06.experiment",
    title="How far back does it look?",
    level=3,
    minutes=12,
    section="6.11",
    prompt="""
You get six causal programs without their source code. Each takes `x` (L, D), for any L and D, and
returns L rows. How many words back is the farthest word on which some output depends? Write
an experiment like the leak detector of section 6.11: `reach(layer)` calls `layer` on tensors of
your choice and returns that whole number, 0 if each output depends only on its own word. None of
the six looks back farther than 8 words.
""",
    reference=reach,
    cases=lambda generator: [
        Case((layer,), note=_("program {name}").format(name=name))
        for name, layer in zip("ABCDEF", LAYERS, strict=True)
    ],
    mistakes=choices(
        reach,
        {
            (ONE, 1): "each output also depends on the word two positions back.",
            (DEEP, 2): "one layer reaches that far. The next ones reach farther.",
            (DEEP, 4): "two layers reach that far. Is your text long enough, and does your test "
            "notice small changes?",
            (DEEP, 9): "the windows overlap: each layer adds two words.",
            (MIXED, 1): "the first layer alone reaches that far. The second adds to it.",
            (MIXED, 3): "the second layer alone reaches that far. The first adds to it.",
        },
    ),
    properties=(
        Property(
            "none of the six looks that far back. Count from the word that you changed.",
            lambda answer, case: answer <= 8,
        ),
        Property(
            "the word itself is 0 words back. Do you count it?",
            lambda answer, case: answer != reach(case.arguments[0]) + 1,
        ),
        Property(
            "some output depends on a word farther back. Do you compare all outputs, and do you "
            "go on after a word that changes nothing?",
            lambda answer, case: answer >= reach(case.arguments[0]),
        ),
    ),
    hints=(
        "Run it on two texts that differ in one word. Which outputs differ?",
        "Change the first word of a text of 12, and look at all outputs after it.",
        "`(layer(other) != layer(x)).any(dim=-1)` shows which rows changed; `.nonzero().max()` is "
        "the last of them.",
    ),
    insight="A single layer sees no farther than its mask permits, but in a stack each layer adds "
    "its own reach.",
    comes_back="Chapter 7 tests in the same way what a layer knows about the order of its words.",
    others=(by_gradients,),
)

CHAPTER = "6. Masks"
EXERCISES = (CAUSAL, VERDICT, WEIGHTS, HEADS, PYTORCH, EXPERIMENT)
