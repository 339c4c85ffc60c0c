"""Exercises of chapter 6: masks."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention import scaled_dot_product_attention
from attnbook.exercises.common_mistakes import MASK_MISTAKES, WEIGHT_MISTAKES, MistakeSet
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    some_sizes,
)
from attnbook.masks import causal_mask

# --- 06.causal: a triangle for the newest words ----------------------------------------------


def my_causal(n_queries: int, n_keys: int) -> Tensor:
    everyone = torch.ones(n_queries, n_keys, dtype=torch.bool)
    return everyone.tril(n_keys - n_queries)


def last_rows(n_queries: int, n_keys: int) -> Tensor:
    return causal_mask(n_keys)[n_keys - n_queries :]


def by_places(n_queries: int, n_keys: int) -> Tensor:
    key = torch.arange(n_keys)
    query = key[n_keys - n_queries :, None]  # (Lq, 1), where each query stands
    return key <= query


def causal_cases(generator: Generator) -> list[Case]:
    lq, lk = sorted(some_sizes(generator, 2))
    return [
        Case((4, 4), {"L": 4}, "4 queries, 4 keys"),
        Case((2, 5), {"Lq": 2, "Lk": 5}, "the 2 newest of 5 words"),
        Case((5, 7), {"Lq": 5, "Lk": 7}, "the 5 newest of 7 words"),
        Case((lq, lk), {"Lq": lq, "Lk": lk}, f"the {lq} newest of {lk} words"),
        Case((1, 6), {"Lq": 1, "Lk": 6}, "the newest of 6 words"),
    ]


def triangle(side: str, shift: int) -> Callable[[int, int], Tensor]:
    """The mistakes with this mask: the other side, or a diagonal that lies beside the right one."""

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
of `n_keys` words. With as many queries as keys it is the triangle of section 6.3; with one query it
is the row that section 6.12 needs. The answer is boolean, True = may look, of shape (Lq, Lk).
""",
    stub="""
def my_causal(n_queries, n_keys):
    raise NotImplementedError
""",
    reference=my_causal,
    cases=causal_cases,
    axes="Lq Lk",
    mistakes=(
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).tril(),
            "Your triangle starts in the top left corner, as `is_causal=True` does: the first of "
            "your queries counts as the first word. The queries are the newest words, so the last "
            "of them sees everything.",
        ),
        Mistake(
            triangle("tril", 1),
            "Off by one: each word also sees the word after it, which is the answer it has to "
            "guess.",
        ),
        Mistake(
            triangle("tril", -1),
            "Off by one: a word does not see itself here, and the first word of a sentence sees "
            "nothing. It may see itself, for its own word is known.",
        ),
        Mistake(
            triangle("triu", 1),
            "Right cells, opposite meaning: your True says may NOT look, as in "
            "`nn.MultiheadAttention`. In this book True means may look.",
        ),
        Mistake(
            triangle("triu", 0),
            "Your True lies on the side of the future: each word sees itself and what comes after. "
            "This triangle belongs to words in columns (section 6.4).",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_keys, n_queries, dtype=torch.bool).tril(
                n_queries - n_keys
            ),
            "The keys lie in the rows. A mask has one row per query and one column per key, as the "
            "scores have.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).tril(
                n_queries - n_keys
            ),
            "The shift has the wrong sign. Words have come before the first query, so the diagonal "
            "moves to the right, which is the positive direction of `tril`.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool),
            "Everything is permitted. That is right for one query, the newest word; of several, "
            "the earlier ones may not see the later ones.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.eye(n_keys, dtype=torch.bool)[n_keys - n_queries :],
            "Each word sees itself alone. It may see all that came before, too.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys, dtype=torch.bool).triu(1),
            "Two things. Your True says may NOT look; and the triangle starts in the top left "
            "corner, as if the first of your queries were the first word.",
        ),
        Mistake(
            lambda n_queries, n_keys: (
                torch.ones(n_keys, n_keys, dtype=torch.bool).tril().flip(0)[:n_queries]
            ),
            "The right rows, in the opposite order: the newest word stands last.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_keys, n_keys, dtype=torch.bool).tril(),
            "This is the triangle for the whole sentence, one row per word. Only the newest words "
            "ask: its last rows are what is wanted.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_queries, dtype=torch.bool).tril(),
            "The newest words see each other here, and nothing of what came before them: there is "
            "a column for each of the keys.",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.ones(n_queries, n_keys).tril(n_keys - n_queries),
            "Numbers are added to the scores: a 1 for yes and a 0 for no hide nothing (section "
            "6.7).",
        ),
        Mistake(
            lambda n_queries, n_keys: torch.full((n_queries, n_keys), -torch.inf).triu(
                n_keys - n_queries + 1
            ),
            "These are numbers to be added to the scores, 0 and −inf. They would work; the book's "
            "masks say yes and no instead.",
        ),
    ),
    hints=(
        "At which position of the sentence does query 0 stand? That many keys come before it.",
        "Query i stands at position i + n_keys − n_queries and sees the keys up to that position.",
        "`torch.ones(..., dtype=torch.bool).tril(d)` keeps the columns j ≤ i + d of row i.",
    ),
    insight="With one query the mask is all True: who writes the newest word needs no mask. The "
    "flag `is_causal=True` would have shown it the first word only.",
    comes_back="06.heads needs the square one, beside a mask for the padding.",
    others=(last_rows, by_places),
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
Six programs want to be causal. Each gets six words; `attend(x, mask)` is one head that masks before
the softmax, `ones` a (6, 6) mask that is True everywhere, and `causal` is `ones.tril()`.

| | program |
|:--|:--|
| a | `attend(x, ones.tril(1))` |
| b | `attend(x, causal & ~ones.tril(-3))` |
| c | `(scores.softmax(-1) * causal) @ value` |
| d | `scores.masked_fill(~causal, -1e9).softmax(-1) @ value`, in float32 |
| e | `y = x + attend(x, causal)`, then `y + attend(y, causal)` |
| f | `out = attend(x, causal)`, then `out - out.mean(0)` |

Let the leak detector put fresh rows in the place of each word. `verdict(program)` returns `"leak"`
if some output moves with a later word; else `"blind"` if some output stays still although its own
or an earlier word moved; else `"sealed"`.
""",
    stub="""
def verdict(program):
    raise NotImplementedError  # fill in the answers, then delete this line
    found = {"a": "", "b": "", "c": "", "d": "", "e": "", "f": ""}
    return found[program]
""",
    reference=verdict,
    cases=lambda generator: [Case((p,), note=f"program {p}") for p in "abcdef"],
    mistakes=choices(
        verdict,
        {
            ("a", "sealed"): "`tril(1)` looks like a triangle and keeps one diagonal too many. "
            "What is the column of row 0 that it adds?",
            ("a", "blind"): "Every word still sees all words before it: nothing is lost. "
            "`tril(1)` keeps more than the triangle, not less.",
            ("b", "sealed"): "`~ones.tril(-3)` takes away the lower left corner. Row 4 cannot "
            "see word 0 any more.",
            ("b", "leak"): "`&` with the causal mask can only take looks away. Nothing above "
            "the diagonal is permitted.",
            ("c", "sealed"): "The weights above the diagonal are 0, but the others were "
            "divided by a sum. Over which words does that sum run?",
            ("c", "blind"): "No look into the past was taken away. Look for what came in: the "
            "denominator of the softmax.",
            ("d", "leak"): "In float32 the exponential of −10⁹ is exactly 0 beside any "
            "ordinary score, and each row has one: its own word. So not one bit gets through.",
            ("d", "blind"): "A billion less is filled in above the diagonal only. Own and "
            "earlier words keep their scores.",
            ("e", "leak"): "Can a second layer bring the future in? Row j of `y` knows words 0 "
            "… j, and row i looks only at rows j ≤ i.",
            ("e", "blind"): "Both layers see all of the past, and `x +` adds the word itself "
            "once more: nothing is hidden but the future.",
            ("f", "sealed"): "The head is sealed, what follows is not: `mean(0)` runs over the "
            "words, and every row gets some of the last one.",
            ("f", "blind"): "Subtracting a mean hides no word from anybody. It adds something "
            "to each row: what is it made of?",
        },
    ),
    hints=(
        "Do not look at the weights only. Ask of each number that enters output i which words it "
        "was made of.",
        "Sums are channels: over what do the softmax of (c) and the mean of (f) run?",
        "Three of them leak and one is blind. Two layers that only look back can only look back.",
    ),
    insight="Two of the three leaks have perfectly triangular weights, so no map shows them. "
    "Changing a word does.",
    comes_back="In 06.experiment you change words yourself. Chapter 7 asks in the same way "
    "what a shuffle moves.",
    code=False,
)

# --- 06.weights: a softmax that knows what nothing is ----------------------------------------


def my_weights(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim=-1).masked_fill(~mask, 0.0)


def filled_once(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0.0)


def by_hand(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(~mask, -1e4)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp_min(1e-9)


def weight_cases(generator: Generator) -> list[Case]:
    def some(*shape: int) -> Tensor:
        """A mask with at least one True and one False in each row."""
        places = torch.rand(*shape, generator=generator).argsort(-1)
        return (places < shape[-1] // 2 + 1) & (places != 0)

    def case(note: str, mask: Tensor, *sizes: int, hidden: float | None = None) -> Case:
        names = ("A", "B", "H", "Lq", "Lk")[-len(sizes) :]
        scores = draw(generator, *sizes)
        if hidden is not None:
            scores = scores.masked_fill(~mask, hidden)
        return Case((scores, mask), dict(zip(names, sizes, strict=True)), note)

    lq, lk = some_sizes(generator, 2)
    empty = some(4, 6)
    empty[1] = False
    lengths = torch.tensor([7, 4])[:, None, None, None]  # (B, 1, 1, 1)
    return [
        case("3 queries, 5 keys", some(3, 5), 3, 5),
        case(f"{lq} queries, {lk} keys", some(lq, lk), lq, lk),
        case("padding, a mask of shape (2, 1, 1, 7)", torch.arange(7) < lengths, 2, 3, 5, 7),
        case("one axis more in front, one mask for all", some(5, 6), 2, 4, 3, 5, 6),
        case("every hidden key shouts, its score is 1000", some(3, 8), 3, 8, hidden=1000.0),
        case("row 1 may look at nothing", empty, 4, 6),
    ]


def rows_sum_to_one_or_none(answer: Tensor, case: Case) -> bool:
    wanted = case.arguments[1].any(-1).to(answer).expand(answer.shape[:-1])
    return bool((answer.sum(-1) - wanted).abs().max() < 1e-6)


def hidden_are_zero(answer: Tensor, case: Case) -> bool:
    return not bool(answer.masked_select(~case.arguments[1]).any())


WEIGHTS = Exercise(
    id="06.weights",
    title="A softmax that knows what nothing is",
    level=2,
    minutes=12,
    section="6.10 (second reading)",
    prompt="""
Write `my_weights(scores, mask)`: the softmax of each row of `scores` (..., Lq, Lk) over those keys
that `mask` permits (boolean, True = may look, broadcastable to the scores). Hidden keys get weight
exactly 0, and a query that may look at nothing gets a row of zeros.
""",
    stub="""
def my_weights(scores, mask):
    raise NotImplementedError
""",
    reference=my_weights,
    cases=weight_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            lambda scores, mask: (
                scores.masked_fill(~mask, -20.0).softmax(-1) * mask.any(-1, keepdim=True)
            ),
            "The hidden keys still have a little weight, since e to the power of your negative "
            "number is small and not 0. Exactly 0 is what −∞ gives.",
        ),
        Mistake(
            lambda scores, mask: scores.softmax(-1) * mask.any(-1, keepdim=True),
            "The rows of nothing are right. In the others every key got a weight: the mask has to "
            "hide single keys too.",
        ),
        Mistake(
            lambda scores, mask: (
                scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(1 / scores.size(-1))
            ),
            "The row of nothing is an average of all that it was forbidden to see. Nothing to look "
            "at means no weight anywhere: zeros.",
        ),
    ),
    common_mistakes=MistakeSet(lambda head: head.weights, MASK_MISTAKES, WEIGHT_MISTAKES),
    properties=(
        Property(
            "A row has to sum to 1, or to 0 if its query may look at nothing. Yours does not.",
            rows_sum_to_one_or_none,
        ),
        Property(
            "A hidden key has to have weight 0, to the last bit, and one of yours is only small.",
            hidden_are_zero,
        ),
    ),
    hints=(
        "What has to be settled before the softmax, so that no denominator meets a hidden score? "
        "And what can only be settled after it?",
        "`masked_fill(~mask, -torch.inf)` before it makes every row right but one kind: 0/0.",
        "After the softmax, all hidden places may be filled with 0. NaN stands in no others.",
    ),
    insight="Minus infinity before, zero after: two fills, and each does what the other cannot. "
    "On the way back it is the first that keeps the row of nothing from spreading nan: what was "
    "filled in has no gradient. To add −∞ would let it through.",
    comes_back="The book's `softmax` does this for every layer from here on.",
    others=(filled_once, by_hand),
)

# --- 06.heads: two masks and the axis of the heads -------------------------------------------


def may_look(lengths: Tensor, length: int) -> Tensor:
    place = torch.arange(length).to(lengths.device)
    causal = place <= place[:, None]  # (L, L)
    real = place >= length - lengths[:, None]  # (B, L)
    return causal & real[:, None, None, :]


def by_distance(lengths: Tensor, length: int) -> Tensor:
    place = torch.arange(length, device=lengths.device)
    back = place[:, None] - place  # (L, L), how far back each key lies
    into = place[:, None] - (length - lengths)[:, None, None, None]  # how far in the query stands
    return (back >= 0) & (back <= into)


def head_cases(generator: Generator) -> list[Case]:
    def case(note: str, length: int, *lengths: int) -> Case:
        sizes = {"B": len(lengths), "H": 1, "L": length}
        return Case((torch.tensor(lengths), length), sizes, note)

    some = torch.randint(1, 6, (4,), generator=generator).tolist()
    return [
        case("2 sentences, of 3 words and of 1", 4, 3, 1),
        case("3 sentences, one of them full", 5, 5, 2, 4),
        case(f"4 sentences of {some} words", 6, *some),
        case("one sentence is empty", 3, 0, 2),
    ]


def combined(how: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
    """A mistake in how the right masks, causal (L, L) and real (B, L), are put together."""

    def wrong(lengths: Tensor, length: int) -> Tensor:
        place = torch.arange(length, device=lengths.device)
        return how(place <= place[:, None], place >= length - lengths[:, None])

    return wrong


HEADS = Exercise(
    id="06.heads",
    title="Two masks and the axis of the heads",
    level=2,
    minutes=10,
    section="6.10 (second reading)",
    prompt="""
A batch of sentences is to be written on at the right end, so the short ones are filled up on the
*left*, to `length` words. `lengths` (B,) holds the number of real words of each. Write
`may_look(lengths, length)`: the mask that is causal and hides the padding, the same for all heads,
boolean, True = may look, of shape (B, 1, L, L). The rows of the padding may come out empty.
""",
    stub="""
def may_look(lengths, length):
    raise NotImplementedError
""",
    reference=may_look,
    cases=head_cases,
    axes="B H Lq Lk",
    mistakes=(
        Mistake(
            combined(lambda causal, real: causal & real[:, None, :]),
            "Broadcasting counts from the right, so a mask of three axes lines up with (H, Lq, "
            "Lk), and sentence b's mask goes to head b. If B equals H nobody complains. Insert an "
            "axis of size 1.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real[None, :, None, :]),
            "The sentences stand on the axis of the heads. With as many heads as sentences this "
            "runs, and hides the wrong words: the batch comes first.",
        ),
        Mistake(
            combined(lambda causal, real: causal | real[:, None, None, :]),
            "You combined with *or*: a look is allowed if one of the masks allows it. Both have to "
            "allow it.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real[:, None, :, None]),
            "You crossed out the rows of the padding, and its columns are still there: real words "
            "look at it. Who must not be seen is a key, the last axis.",
        ),
        Mistake(
            combined(lambda causal, real: real[:, None, None, :].expand(-1, -1, len(causal), -1)),
            "The padding is hidden. The future is not: the causal mask is missing.",
        ),
        Mistake(
            combined(lambda causal, real: causal.expand(len(real), 1, -1, -1)),
            "The future is hidden. The padding is not: `lengths` had no influence.",
        ),
        Mistake(
            combined(lambda causal, real: causal.mT & real[:, None, None, :]),
            "The triangle lies on the wrong side: every word sees what comes after it. Row i needs "
            "the keys j ≤ i.",
        ),
        Mistake(
            combined(lambda causal, real: ~(causal & real[:, None, None, :])),
            "The cells are right, and their meaning is the opposite one: True = may NOT look.",
        ),
        Mistake(
            combined(lambda causal, real: causal & ~real[:, None, None, :]),
            "You hid the words and left the padding in sight. True has to stand where a real word "
            "stands.",
        ),
        Mistake(
            combined(lambda causal, real: causal & real.flip(-1)[:, None, None, :]),
            "You hid the ends of the sentences, as `padding_mask` does. This batch is filled up on "
            "the left: the real words are the last ones.",
        ),
        Mistake(
            lambda lengths, length: combined(lambda causal, real: causal & real[:, None, None, :])(
                length - lengths, length
            ),
            "You took `lengths` for the number of padded places. It counts the real words; the "
            "padding is as long as what is missing to `length`.",
        ),
        Mistake(
            lambda lengths, length: combined(lambda causal, real: causal & real[:, None, None, :])(
                lengths - 1, length
            ),
            "Off by one: the first real word of each sentence is hidden. Places are counted from "
            "0, so after p places of padding the first word stands at place p.",
        ),
        Mistake(
            combined(lambda causal, real: causal.tril(-1) & real[:, None, None, :]),
            "Off by one: a word may not look at itself here. Row i sees the keys j ≤ i.",
        ),
    ),
    hints=(
        "Make the two masks first: one of shape (L, L), one of shape (B, L). Which axis of the "
        "second speaks about keys?",
        "Compare `torch.arange(length)` with itself, and with the place at which each sentence "
        "begins.",
        "Indexing with None inserts an axis: (B, L) becomes (B, 1, 1, L). Then `&` broadcasts.",
    ),
    insight="With the padding on the right, the causal mask alone hides it from every real word. "
    "On the left it stands in everybody's past: here forgetting the second mask would have cost.",
    comes_back="06.pytorch hands such a mask to PyTorch's layer, which wants it in another form.",
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
        mask[0, 0, 0, 1], mask[-1, 0, 0, 1] = True, False  # no two sentences alike
        mask[:, 0, 1, 1], mask[:, -1, 1, 1] = True, shape[1] == 1  # no two heads alike
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
`nn.MultiheadAttention` wants one `attn_mask` of shape (B·H, Lq, Lk), in which True means may NOT
look. It takes them in the order sentence 0 with all its heads, sentence 1 with all its heads, and
so on. Our `mask` (True = may look) has shape (B, 1, Lq, Lk), the same for all `n_heads` heads, or
(B, H, Lq, Lk). The conversion below runs, and PyTorch accepts what it returns. Find its two faults.
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
            "Both faults are still there. What does True mean to this layer, and which axis runs "
            "slowest in its order?",
        ),
        Mistake(
            lambda mask, n_heads: ~heads_outside(mask, n_heads),
            "The meaning is right now. The order is still head 0 of all sentences, then head 1 of "
            "all sentences: the sentences belong outside. Both orders have the same shape, so "
            "PyTorch cannot complain.",
        ),
        Mistake(
            lambda mask, n_heads: mask.expand(-1, n_heads, -1, -1).flatten(0, 1),
            "The order is right now. The meaning is still ours: to this layer True means may NOT "
            "look, so each word sees just what was hidden from it.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask[:, :1].expand(-1, n_heads, -1, -1).flatten(0, 1),
            "Every head got the mask of head 0. If the mask has an axis of heads already, keep it.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask[:, 0],
            "There is one mask per sentence here, and none per head. With three axes this layer "
            "reads sentence times head.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask.expand(-1, n_heads, -1, -1),
            "Order and meaning are right, but there are four axes. This layer counts sentence and "
            "head on one: join them with `flatten`.",
        ),
        Mistake(
            lambda mask, n_heads: (
                torch.zeros(mask.shape)
                .masked_fill(~mask.cpu(), -torch.inf)
                .expand(-1, n_heads, -1, -1)
                .flatten(0, 1)
                .to(mask.device)
            ),
            "Numbers that are added, 0 and −inf, would do for the layer as well. Asked for is the "
            "boolean mask, where True hides.",
        ),
        Mistake(
            lambda mask, n_heads: ~mask.mT.expand(-1, n_heads, -1, -1).flatten(0, 1),
            "Queries and keys have changed places. Only the order of sentences and heads was "
            "wrong.",
        ),
    ),
    hints=(
        "One fault is the meaning of True. The other is an order that cannot be seen in the shape.",
        "Flattening (H, B, …) puts all sentences of head 0 first. Which axes have to be flattened, "
        "in which order?",
        "Without the `transpose`, `expand` has to stretch axis 1. And one `~`.",
    ),
    insight="B·H and H·B are the same number, so no shape check finds this. A batch of one "
    "sentence, or of equal sentences, does not find it either: test with sentences that differ.",
    comes_back="Chapter 4 has the same trap one step earlier: a `view` in place of a transpose.",
    others=(by_stacking,),
)

# --- 06.experiment: how far back does it look? -----------------------------------------------

Layer = Callable[[Tensor], Tensor]


def reach(layer: Layer) -> int:
    x = torch.randn(12, 4)
    other = x.clone()
    other[0] = torch.randn(4)
    moved = (layer(other) != layer(x)).any(dim=-1)  # (12,), which outputs notice word 0
    return int(moved.nonzero().max())


def by_gradients(layer: Layer) -> int:
    x = torch.randn(12, 4, requires_grad=True)
    (slope,) = torch.autograd.grad(layer(x)[-1].sum(), x)
    noticed = slope.any(dim=-1).nonzero()  # the words that the last output is made of
    return int(11 - noticed.min())


def windows(*sizes: int) -> Layer:
    """Layers in which each word sees itself and the words just before it, `size` in all."""

    def layer(x: Tensor) -> Tensor:
        place = torch.arange(len(x), device=x.device)
        back = place[:, None] - place
        for size in sizes:
            mask = (back >= 0) & (back < size)
            x = scaled_dot_product_attention(x / 8, x / 8, x, mask)[0]
        return x

    return layer


ALONE, ONE, DEEP, THREE, MIXED = LAYERS = (
    windows(1), windows(3), windows(3, 3, 3), windows(2, 2, 2), windows(2, 4),
)  # fmt: skip

EXPERIMENT = Exercise(
    id="06.experiment",
    title="How far back does it look?",
    level=3,
    minutes=12,
    section="6.11",
    prompt="""
Five causal programs came without their source. Each takes `x` (L, D), for any L and D, and returns
as many rows. How many words back stands the farthest word that an output still depends on? Think of
an experiment, as the leak detector of section 6.11 is one, and write it down: `reach(layer)` calls
`layer` on tensors of your own and returns that whole number, 0 if each output depends on its own
word alone. None of the five looks back further than 8 words.
""",
    stub="""
def reach(layer):
    raise NotImplementedError
""",
    reference=reach,
    cases=lambda generator: [
        Case((layer,), note=f"program {name}") for name, layer in zip("ABCDE", LAYERS, strict=True)
    ],
    mistakes=choices(
        reach,
        {
            (ALONE, 1): "its outputs depend on their own word alone, and that is 0 words back. Do "
            "you count the word itself?",
            (ONE, 3): "three words move an output, and one of them is its own: how far back is the "
            "farthest?",
            (ONE, 0): "an output moves with words before its own as well. Which word do you "
            "change, and at which outputs do you look?",
            (ONE, 1): "an output moves with the word before the last, too. Change one word and "
            "look at all outputs behind it.",
            (DEEP, 2): "one layer would reach that far. But what the first layer has brought here "
            "the next ones take further.",
            (DEEP, 7): "seven words move an output, and one of them is its own.",
            (DEEP, 4): "two layers would reach that far. Is your text long enough, or do you take "
            "a small movement for none?",
            (DEEP, 9): "three windows of three words overlap: each adds two words to those before.",
            (THREE, 1): "one layer would reach that far. Each further layer reaches one word "
            "further.",
            (THREE, 4): "four words move an output, and one of them is its own.",
            (THREE, 2): "two layers would reach that far. Does your experiment see the farthest?",
            (THREE, 6): "the windows overlap: each layer adds what is new in its window.",
            (MIXED, 3): "the wider of its layers would reach that far. The other adds to it.",
            (MIXED, 5): "five words, one of them its own, move each of its outputs.",
            (MIXED, 1): "the narrower of its layers would reach that far. The other adds to it.",
        },
    ),
    properties=(
        Property(
            "none of the five looks that far: count from the word that you changed.",
            lambda answer, case: not isinstance(answer, int) or answer <= 8,
        ),
    ),
    hints=(
        "Run it twice, on two texts that differ in one word. Which outputs differ?",
        "Change the first word of a text of 12: all outputs that notice it stand behind it.",
        "`(layer(other) != layer(x)).any(dim=-1)` says which rows moved; `.nonzero().max()` is the "
        "last of them.",
    ),
    insight="No output of a single layer knows more than its window, and a stack does: each layer "
    "adds its window less one. So narrow windows can read far, if there are enough layers.",
    comes_back="Chapter 7 asks in the same way what a model knows of its words' order.",
    others=(by_gradients,),
    code=False,
)

CHAPTER = "6. Masks"
EXERCISES = (CAUSAL, VERDICT, WEIGHTS, HEADS, PYTORCH, EXPERIMENT)
