"""Exercises of chapter 12: a decoder-only language model, and how it writes."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.corpus.translation import BEGIN, END, PAD
from attnbook.exercises.chapters.common_mistakes import MistakeSet, WrongLine
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    some_sizes,
)
from attnbook.language import _
from attnbook.models.language_model import LanguageModel
from attnbook.models.sampling import keep_top_p

# --- 12.count: the parameters of a decoder-only model ----------------------------------------


def count_parameters(
    vocabulary_size: int,
    d_model: int,
    n_heads: int,
    n_kv_heads: int,
    n_layers: int,
    d_ff: int,
    tied: bool,
) -> int:
    d_kv = d_model // n_heads * n_kv_heads  # the width of all key heads together
    attention = 2 * d_model * d_model + 2 * d_model * d_kv  # W_Q, W_O, and W_K, W_V
    block = attention + 3 * d_model * d_ff + 2 * d_model  # three matrices, two norms
    n_tables = 1 if tied else 2
    return n_tables * vocabulary_size * d_model + n_layers * block + d_model


def count_by_building(
    vocabulary_size: int,
    d_model: int,
    n_heads: int,
    n_kv_heads: int,
    n_layers: int,
    d_ff: int,
    tied: bool,
) -> int:
    sizes = vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff
    with torch.device("meta"):  # only shapes, no numbers
        model = LanguageModel(*sizes, tied=tied)
    return sum(p.numel() for p in model.parameters())


def count_cases(generator: Generator) -> list[Case]:
    def case(*sizes: int, tied: bool) -> Case:
        text = _(
            "{words} words, d_model {d_model}, {heads} heads, {key_heads} key heads, "
            "{layers} layers, d_ff {d_ff}, tied {tied}"
        )
        names = ("words", "d_model", "heads", "key_heads", "layers", "d_ff")
        note = text.format(**dict(zip(names, sizes, strict=True)), tied=tied)
        return Case((*sizes, tied), note=note)

    return [
        case(11, 24, 6, 2, 3, 7, tied=False),
        case(11, 24, 6, 2, 3, 7, tied=True),
        case(386, 64, 4, 2, 2, 160, tied=True),  # this chapter's model
        case(29, 36, 6, 1, 5, 47, tied=False),
        case(9000, 512, 16, 2, 4, 1376, tied=True),
    ]


@dataclass(frozen=True)
class Count:
    """The terms of the sum. Each is right unless it is replaced."""

    query_output: Callable[[int, int, int], int] = lambda d, h, g: 2 * d * d
    key_value: Callable[[int, int, int], int] = lambda d, h, g: 2 * d * (d // h * g)
    network: Callable[[int, int], int] = lambda d, f: 3 * d * f
    norms: Callable[[int], int] = lambda d: 2 * d
    last_norm: Callable[[int], int] = lambda d: d
    tables: Callable[[bool], int] = lambda tied: 1 if tied else 2
    layers: Callable[[int], int] = lambda n: n

    def __call__(self, v: int, d: int, h: int, g: int, n: int, f: int, tied: bool) -> int:
        attention = self.query_output(d, h, g) + self.key_value(d, h, g)
        block = attention + self.network(d, f) + self.norms(d)
        return self.tables(tied) * v * d + self.layers(n) * block + self.last_norm(d)


COUNT_MISTAKES = (
    WrongLine(
        "key_value",
        lambda d, h, g: 2 * d * d,
        "W_K and W_V are narrower than W_Q: each has only `n_kv_heads` heads, which are "
        "d_model / n_heads wide.",
    ),
    WrongLine(
        "key_value",
        lambda d, h, g: 2 * d * (d // h),
        "You counted one key head. There are `n_kv_heads` of them.",
    ),
    WrongLine(
        "key_value",
        lambda d, h, g: d * (d // h * g),
        "Keys and values each have a matrix of their own.",
    ),
    WrongLine(
        "key_value",
        lambda d, h, g: 2 * d * (d // g),
        "You divided by `n_kv_heads`. A key head is as wide as a query head, d_model / n_heads, "
        "and there are `n_kv_heads` of them.",
    ),
    WrongLine("query_output", lambda d, h, g: d * d, "Attention has a fourth matrix, W_O."),
    WrongLine(
        "query_output",
        lambda d, h, g: 2 * d * (d // h * g),
        "Only W_K and W_V are narrower. W_Q and W_O serve all `n_heads` heads: d_model × d_model.",
    ),
    WrongLine(
        "network",
        lambda d, f: 2 * d * f,
        "A gated feed-forward network has three matrices: gate, up and down.",
    ),
    WrongLine(
        "network",
        lambda d, f: 3 * d * f + 2 * f + d,
        "You counted biases in the feed-forward network. This one has none.",
    ),
    WrongLine(
        "norms",
        lambda d: 4 * d,
        "You gave each norm a bias. RMSNorm has only a weight for each column.",
    ),
    WrongLine(
        "norms", lambda d: d, "A block has two norms: each of its two sublayers has its own."
    ),
    WrongLine("last_norm", lambda d: 0, "The last norm, above all blocks, is missing."),
    WrongLine(
        "tables",
        lambda tied: 2,
        "With `tied`, the last matrix is the embedding table itself. It counts once.",
    ),
    WrongLine(
        "tables",
        lambda tied: 1,
        "Without `tied`, there are two tables: the embedding and the last matrix.",
    ),
)

COUNT = Exercise(
    id="12.count",
    title="How many parameters?",
    level=1,
    minutes=10,
    section="12.4",
    prompt="""
Write `count_parameters(vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied)`: the
number of parameters of the chapter's `LanguageModel` with these sizes. It has `n_layers` blocks and
no biases. If `tied` is True, the last matrix is the embedding table itself. Return a whole number.
(Building the model and counting its parameters also passes, but the point is to find a formula.)
""",
    stub="""
def count_parameters(
    vocabulary_size, d_model, n_heads, n_kv_heads, n_layers, d_ff, tied
):
    raise NotImplementedError
""",
    reference=count_parameters,
    cases=count_cases,
    mistakes=(
        Mistake(
            Count(norms=lambda d: 0, last_norm=lambda d: 0),
            "The matrices are right. Each RMSNorm has d_model weights, and there are two in each "
            "block and one above all blocks.",
        ),
        Mistake(
            Count(norms=lambda d: 4 * d, last_norm=lambda d: 2 * d),
            "You counted two vectors for each norm, as in LayerNorm. RMSNorm has no bias.",
        ),
        Mistake(Count(layers=lambda n: 1), "That is one block. There are `n_layers` of them."),
        Mistake(
            Count(tables=lambda tied: 0),
            "You counted the blocks and the last norm, but the embedding table is missing.",
        ),
        Mistake(
            Count(tables=lambda tied: 0 if tied else 1),
            "There is one table below the blocks and one above. With `tied` they are the same "
            "table, which still counts once.",
        ),
        Mistake(
            Count(tables=lambda tied: 2 if tied else 1),
            "You swapped the two cases: `tied` means one table, otherwise there are two.",
        ),
    ),
    common_mistakes=MistakeSet(lambda count: count, COUNT_MISTAKES, right=Count()),
    hints=(
        "Begin with one block: the matrices of attention, the matrices of the feed-forward "
        "network, and the norms.",
        "W_Q and W_O are d_model × d_model. W_K and W_V have d_model / n_heads · n_kv_heads "
        "columns. The network has three matrices, and each RMSNorm has d_model weights.",
        "`d_kv = d_model // n_heads * n_kv_heads`. A block has `2 * d_model * (d_model + d_kv) + "
        "3 * d_model * d_ff + 2 * d_model`. Add the tables and the last norm.",
    ),
    insight="`count_parameters(128_256, 2048, 32, 8, 16, 8192, True)` is Llama 3.2 1B: "
    "1,235,814,400 parameters, 65% of them in the feed-forward networks. Without tying, it would "
    "have 263 million more.",
    comes_back="The cache grows with `n_kv_heads` in the same way, as in 11.bytes.",
    others=(count_by_building,),
)

# --- 12.sees: what a prediction depends on ---------------------------------------------------


def tokens_seen(thing: str) -> int:
    return {"a": 4, "b": 5, "c": 7, "d": 7, "e": 2, "f": 3, "g": 4}[thing]


def seen_as(message: str, **numbers: int) -> Mistake:
    """Return a mistake that gives these numbers for the things named, and is right otherwise."""
    return Mistake(lambda thing: numbers.get(thing, tokens_seen(thing)), message)


SEES = Exercise(
    id="12.sees",
    title="How many tokens does it see?",
    level=1,
    minutes=8,
    section="12.11",
    prompt="""
苹果 很 甜 (*píngguǒ hěn tián*) means “the apple is sweet”. Below are vectors in the last block of
trained models, which have several blocks; “both” means an encoder and a decoder. On how many tokens
of the input can each vector depend, including its own? BEGIN and GAP, which marks a hidden word,
also count as tokens. `tokens_seen(thing)` returns the number.

| thing | model | input | the vector at |
|:--|:--|:--|:--|
| `"a"` | decoder-only | BEGIN the apple is sweet | is |
| `"b"` | encoder-only | the GAP is sweet today | GAP |
| `"c"` | both | 苹果 很 甜; BEGIN the apple is sweet | is (decoder) |
| `"d"` | decoder-only | 苹果 很 甜 BEGIN the apple is | is |
| `"e"` | decoder-only | 苹果 很 甜 BEGIN the apple is | 很 |
| `"f"` | both | 苹果 很 甜; BEGIN the apple is sweet | 很 (encoder) |
| `"g"` | encoder-only | GAP apple is sweet | GAP |
""",
    stub="""
def tokens_seen(thing):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": None, "b": None, "c": None}
    then = {"d": None, "e": None, "f": None, "g": None}
    return (first | then)[thing]
""",
    reference=tokens_seen,
    cases=lambda generator: [Case((t,), note=_("thing {name}").format(name=t)) for t in "abcdefg"],
    mistakes=(
        seen_as("“sweet” comes later: the causal mask hides it.", a=5, c=8),
        seen_as(
            "one too few. The vector also depends on its own token, and BEGIN counts as a token.",
            a=3,
            c=6,
            d=6,
            e=1,
        ),
        seen_as("GAP is a token of the input, and it counts.", b=4, g=3),
        seen_as("an encoder has no causal mask, so it also sees later tokens.", b=2, f=2, g=1),
        seen_as(
            "it also sees the source: through cross-attention, or because the source is earlier.",
            c=4,
            d=4,
        ),
        seen_as("it sees not only the source, but also what has been written so far.", c=3, d=3),
        seen_as("a decoder-only model has the causal mask everywhere, even in the source.", e=7),
        seen_as("the causal mask hides 甜, although it belongs to the source.", e=3),
        seen_as("in an encoder each word attends to all words of its sentence.", f=1),
        seen_as("the encoder does not see what the decoder is given.", f=8),
        seen_as("the encoder does not see BEGIN, “the”, “apple” and “is”.", f=7),
    ),
    hints=(
        "Which models have a causal mask, and for which of their tokens?",
        "A decoder-only model hides every later token. An encoder hides none. A decoder with "
        "cross-attention also sees the whole source.",
        "d: all of 苹果 很 甜 BEGIN the apple is. e: only what comes before 甜.",
    ),
    insight="At “is”, the decoder-only model of d depends on the same 7 tokens as the decoder of "
    "c. The difference is in the source: with a causal mask, 很 depends on 2 tokens, but in "
    "an encoder it depends on 3.",
    comes_back="12.perplexity scores a sequence like the one in d.",
    code=False,
)

# --- 12.top_p: top-p by hand -----------------------------------------------------------------


def my_top_p(probabilities: Tensor, p: float) -> Tensor:
    ordered, order = probabilities.sort(descending=True)
    before = ordered.cumsum(dim=-1) - ordered  # (..., V), the sum of all larger ones
    kept = ordered * (before < p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def top_p_without_sorting(probabilities: Tensor, p: float) -> Tensor:
    larger = probabilities[..., None, :] > probabilities[..., :, None]  # (..., V, V)
    before = (larger * probabilities[..., None, :]).sum(dim=-1)  # (..., V)
    kept = probabilities.masked_fill(before >= p, 0)
    return kept / kept.sum(dim=-1, keepdim=True)


def top_p_cases(generator: Generator) -> list[Case]:
    five = [[0.5, 0.3, 0.11, 0.07, 0.02]]
    exact = [
        [1 / 4, 1 / 16, 1 / 2, 3 / 32, 1 / 32, 1 / 16 - 1 / 64, 1 / 64],
        [1 / 64, 1 / 2, 1 / 16, 1 / 32, 3 / 32, 1 / 4, 1 / 16 - 1 / 64],
    ]

    def drawn(*sizes: int) -> Tensor:
        return (2 * draw(generator, *sizes)).softmax(dim=-1)

    def case(note: str, probabilities: Tensor, p: float) -> Case:
        names = ("A", "B", "L", "V")[-probabilities.dim() :]
        sizes = dict(zip(names, probabilities.shape, strict=True))
        return Case((probabilities, p), sizes, _("{what}, p = {p}").format(what=note, p=p))

    (rows,) = some_sizes(generator, 1)
    chosen = torch.tensor(five, dtype=torch.float64)
    return [
        case(_("the five words of section 12.8"), chosen, 0.7),
        case(_("the same"), chosen, 0.9),
        case(_("the first word is enough"), chosen, 0.45),
        case(_("sums that reach p exactly"), torch.tensor(exact, dtype=torch.float64), 0.75),
        case(_("{n} rows of 12 words").format(n=rows), drawn(rows, 12), 0.83),
        case(_("2 sentences, 3 positions"), drawn(2, 3, 8), 0.62),
        case(_("two axes before the positions"), drawn(2, 3, 4, 9), 0.91),
    ]


def top_p(
    is_kept: Callable[[Tensor, Tensor, float], Tensor] = lambda o, before, p: before < p,
    normalize: Callable[[Tensor, Tensor, float], Tensor] = lambda kept, is_kept, p: (
        kept / kept.sum(-1, keepdim=True)
    ),
    put_back: Callable[[Tensor, Tensor], Tensor] = lambda kept, order: torch.zeros_like(
        kept
    ).scatter(-1, order, kept),
    sort: Callable[[Tensor], Tensor] = lambda x: x.argsort(-1, descending=True),
) -> Callable[[Tensor, float], Tensor]:
    """Top-p, right unless a part is replaced.

    `is_kept` gets the ordered probabilities, the sum of those before each one, and p.
    """

    def wrong(probabilities: Tensor, p: float) -> Tensor:
        order = sort(probabilities)
        ordered = probabilities.gather(-1, order)
        stays = is_kept(ordered, ordered.cumsum(-1) - ordered, p)
        return put_back(normalize(ordered * stays, stays, p), order)

    return wrong


def first_always(ordered: Tensor, before: Tensor, p: float) -> Tensor:
    return (before + ordered <= p) | (before == 0)


TOP_P = Exercise(
    id="12.top_p",
    title="Top-p by hand",
    level=2,
    minutes=12,
    section="12.8",
    prompt="""
Write `my_top_p(probabilities, p)`, without `keep_top_p`. `probabilities` (..., V) sum to 1 over the
V words; no two in the same row are equal. In each row, keep the most probable words until their
probabilities sum to `p` or more. The word that brings the sum to `p` is kept, too. Divide the
probabilities of the kept words by their sum, and set those of all others to 0. Return the result,
(..., V), with each number at the index of its word. `p` is above 0 and below 1. The dots stand for
any number of leading dimensions.
""",
    reference=my_top_p,
    cases=top_p_cases,
    axes="A B L V",
    without=("keep_top_p",),
    gradients=False,
    on_cpu=True,
    mistakes=(
        Mistake(
            top_p(lambda ordered, before, p: before + ordered <= p),
            "The word that takes the sum past p is missing. If the first word alone has more "
            "than p, nothing is left, and 0/0 is nan.",
        ),
        Mistake(
            top_p(first_always),
            "You always keep the first word, but the word that takes the sum past p is missing.",
        ),
        Mistake(
            top_p(lambda ordered, before, p: before + ordered < p),
            "You keep a word if the sum *with* it is below p. Use the sum *before* it. Then the "
            "word that reaches p is kept.",
        ),
        Mistake(
            top_p(lambda ordered, before, p: before <= p),
            "You keep one word too many where the sum reaches p exactly.",
        ),
        Mistake(lambda probabilities, p: probabilities, "Nothing is cut: every word is kept."),
        Mistake(
            lambda probabilities, p: my_top_p(probabilities.softmax(-1), p),
            "You took a softmax first, but these are already probabilities, not logits.",
        ),
        Mistake(
            top_p(normalize=lambda kept, stays, p: kept),
            "You kept the right words, but their probabilities no longer sum to 1: divide by the "
            "sum.",
        ),
        Mistake(
            top_p(
                normalize=lambda kept, stays, p: kept.masked_fill(~stays, -torch.inf).softmax(-1)
            ),
            "You took a softmax of probabilities. Softmax is for logits: here, divide by the sum.",
        ),
        Mistake(
            top_p(put_back=lambda kept, order: kept),
            "Your answer is in sorted order. Put each number back at the index of its word.",
        ),
        Mistake(
            top_p(put_back=lambda kept, order: kept.gather(-1, order)),
            "`gather(-1, order)`, or `kept[order]`, applies the order a second time. To undo the "
            "sorting, use `scatter`, or `order.argsort()` as the index.",
        ),
        Mistake(
            top_p(sort=lambda x: x.argsort(-1)),
            "You began with the *least* probable word: by default, `sort` is ascending.",
        ),
        Mistake(
            top_p(sort=lambda x: torch.arange(x.size(-1), device=x.device).expand(x.shape)),
            "You added up the probabilities in the order of the ids. Sort them first.",
        ),
    ),
    properties=(
        Property(
            "Each row has to sum to 1, but not all of yours do. Does each row have its own cut?",
            lambda answer, case: bool((answer.sum(-1) - 1).abs().max() < 1e-6),
        ),
    ),
    hints=(
        "Sort a row in descending order. Which words have a sum of less than p *before* them?",
        "`cumsum` includes the word itself. Subtract its own probability.",
        "Use `ordered, order = probabilities.sort(dim=-1, descending=True)`. Keep the words with "
        "`ordered.cumsum(-1) - ordered < p`, divide their probabilities by the sum, and put these "
        "back with `scatter(-1, order, ...)`.",
    ),
    insight="How many words are kept depends on the row: one where the model is sure, many where "
    "it is not. Together, those words always have a probability of at least p.",
    comes_back="12.repair uses the library's `keep_top_p` in a sampler.",
    others=(top_p_without_sorting,),
)

# --- 12.perplexity: the perplexity of the targets --------------------------------------------


def my_perplexity(logits: Tensor, tokens: Tensor) -> float:
    labels = tokens[:, 1:]  # (B, L - 1), the token after each position
    after_separator = (tokens == BEGIN).cumsum(dim=1)[:, :-1] > 0
    counts = after_separator & (labels != PAD)
    logs = logits[:, :-1].log_softmax(dim=2)[counts]  # (n, V), for the n tokens that count
    right = logs.gather(1, labels[counts][:, None])  # (n, 1)
    return torch.exp(-right.mean()).item()


def perplexity_by_ignoring(logits: Tensor, tokens: Tensor) -> float:
    labels = tokens.clone()
    for row in labels:
        start = row.tolist().index(BEGIN)
        row[: start + 1] = PAD  # what was given is ignored, like PAD
    logits, labels = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return math.exp(F.cross_entropy(logits, labels, ignore_index=PAD))


def perplexity_cases(generator: Generator) -> list[Case]:
    def case(note: str, vocabulary: int, *lengths: tuple[int, int], scale: float = 1.5) -> Case:
        longest = max(source + target for source, target in lengths) + 2
        tokens = torch.zeros(len(lengths), longest, dtype=torch.long)
        for row, (n, m) in zip(tokens, lengths, strict=True):
            words = torch.randint(4, vocabulary, (n + m,), generator=generator)
            row[n], row[n + m + 1] = BEGIN, END
            row[:n], row[n + 1 : n + m + 1] = words[:n], words[n:]
        logits = scale * draw(generator, len(lengths), longest, vocabulary)
        sizes = {"B": len(lengths), "L": longest, "V": vocabulary}
        return Case((logits, tokens), sizes, note)

    return [
        case("1 row: 2 source words, 3 target words", 10, (2, 3)),
        case("2 rows, targets of 1 and of 5 words", 13, (3, 1), (2, 5)),
        case("3 rows, targets of 4, 0 and 2 words", 12, (1, 4), (6, 0), (3, 2)),
        case("4 rows, some of them padded", 17, (2, 2), (5, 3), (1, 1), (4, 6)),
        case("2 rows, a model that is often wrong", 11, (3, 2), (1, 6), scale=4.0),
    ]


def nats_of(logs: Tensor, labels: Tensor) -> Tensor:
    return -logs.gather(-1, labels[..., None]).squeeze(-1)


@dataclass(frozen=True)
class Perplexity:
    """The perplexity in parts. Each is right unless it is replaced.

    `logs` receives logits (B, L - 1, V), and the others receive tensors (B, L - 1). `counts`
    receives the labels, whether the separator comes at or before each position, and whether it is
    the label. `average` receives the nats, and whether each of them counts.
    """

    logs: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1)
    counts: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda labels, after, next_is: (
        after & (labels != PAD)
    )
    average: Callable[[Tensor, Tensor], Tensor] = lambda nats, counts: nats[counts].mean().exp()

    def __call__(self, logits: Tensor, tokens: Tensor) -> float:
        labels = tokens[:, 1:]
        after = (tokens == BEGIN).cumsum(1)[:, :-1] > 0
        nats = nats_of(self.logs(logits[:, :-1]), labels)
        return self.average(nats, self.counts(labels, after, labels == BEGIN)).item()


def own_positions(is_left_out: Callable[[Tensor], Tensor]) -> Callable[..., float]:
    """Score token i by the logits at position i, from the separator on."""

    def wrong(logits: Tensor, tokens: Tensor) -> float:
        nats = nats_of(logits.log_softmax(-1), tokens)
        counts = ((tokens == BEGIN).cumsum(1) > 0) & (tokens != PAD)
        return nats[counts & ~is_left_out(tokens)].mean().exp().item()

    return wrong


def first_rows_separator(logits: Tensor, tokens: Tensor) -> float:
    start = tokens[0].tolist().index(BEGIN)
    labels = tokens[:, start + 1 :]
    nats = nats_of(logits[:, start:-1].log_softmax(-1), labels)
    return nats[labels != PAD].mean().exp().item()


def mean_of_row(nats: Tensor, counts: Tensor) -> Tensor:
    return (nats * counts).sum(-1) / counts.sum(-1)


PERPLEXITY_MISTAKES = (
    WrongLine(
        "logs",
        lambda logits: logits,
        "You used logits as logarithms of probabilities: `log_softmax` is missing.",
    ),
    WrongLine(
        "logs",
        lambda logits: logits.softmax(-1),
        "You used probabilities. The nats are their negative logarithms: use `log_softmax`.",
    ),
    WrongLine(
        "logs",
        lambda logits: logits.log_softmax(1),
        "Your softmax ran over the positions. It should run over the V words, the last axis.",
    ),
    WrongLine(
        "counts",
        lambda labels, after, next_is: labels != PAD,
        "You counted the source. It is given, so only what comes after the separator counts.",
    ),
    WrongLine(
        "counts",
        lambda labels, after, next_is: after,
        "You counted padding: leave out the positions whose next token is PAD.",
    ),
    WrongLine(
        "counts",
        lambda labels, after, next_is: (after | next_is) & (labels != PAD),
        "You counted the separator. The first predicted token is the one *after* it.",
    ),
    WrongLine(
        "counts",
        lambda labels, after, next_is: after & (after.cumsum(1) > 1) & (labels != PAD),
        "The first token of the target is missing. It is predicted at the separator.",
    ),
    WrongLine(
        "counts",
        lambda labels, after, next_is: after & (labels != PAD) & (labels != END),
        "END is missing. It also has to be predicted.",
    ),
    WrongLine(
        "average",
        lambda nats, counts: mean_of_row(nats, counts).mean().exp(),
        "You averaged within each row, then over the rows. A token of a short target then counts "
        "more than one of a long target. Average over all tokens at once.",
    ),
    WrongLine(
        "average",
        lambda nats, counts: mean_of_row(nats, counts).exp().mean(),
        "You averaged the perplexities of the rows. Average the nats of all tokens, then take the "
        "exponential.",
    ),
    WrongLine(
        "average",
        lambda nats, counts: (nats[counts].sum() / len(nats)).exp(),
        "You divided by the number of rows. Perplexity is per token.",
    ),
    WrongLine(
        "average",
        lambda nats, counts: (nats * counts).mean().exp(),
        "You divided by all positions. Divide by the number of those that count.",
    ),
    WrongLine(
        "average",
        lambda nats, counts: nats[counts].mean(),
        "That is the loss, in nats per token. The perplexity is its exponential.",
    ),
    WrongLine(
        "average",
        lambda nats, counts: nats[counts].exp().mean(),
        "You averaged 1/probability. Average the logarithms first, then take the exponential.",
    ),
)

PERPLEXITY_OF_TARGETS = Exercise(
    id="12.perplexity",
    title="The perplexity of the targets",
    level=2,
    minutes=12,
    section="12.10",
    prompt=f"""
A decoder-only model translates. Each row of `tokens` (B, L) holds the words of the source, BEGIN as
the separator, the words of the target, END, and PAD up to the length of the longest row. `logits`
(B, L, V) come from the model, and those at position i are for the token at i + 1. Write
`my_perplexity(logits, tokens)`: the perplexity per token over all targets of the batch, as one
number. The tokens of a target are its words and END. PAD is {PAD}, BEGIN is {BEGIN}, and END is
{END}. BEGIN and END occur once in each row.
""",
    reference=my_perplexity,
    cases=perplexity_cases,
    gradients=False,
    mistakes=(
        Mistake(
            own_positions(lambda tokens: tokens == BEGIN),
            "The logits at position i are for token i + 1. You compared them with token i.",
        ),
        Mistake(
            own_positions(lambda tokens: tokens == PAD),
            "The logits at position i are for token i + 1. You compared them with token i, from "
            "the separator on.",
        ),
        Mistake(
            first_rows_separator,
            "You took the separator's position from the first row. Each row has its own.",
        ),
        Mistake(
            Perplexity(average=lambda nats, counts: 1 / (-nats[counts]).exp().mean()),
            "You averaged the probabilities. Average their logarithms.",
        ),
        Mistake(
            Perplexity(average=lambda nats, counts: (-nats[counts].mean()).exp()),
            "That is the reciprocal: an average probability. The nats are *minus* the logarithms.",
        ),
        Mistake(
            Perplexity(average=lambda nats, counts: 2 ** nats[counts].mean()),
            "You took 2 to the power of the loss. Nats are natural logarithms: use e.",
        ),
        Mistake(
            Perplexity(average=lambda nats, counts: nats[counts].sum().exp()),
            "You took the exponential of a sum. Divide by the number of tokens first.",
        ),
    ),
    common_mistakes=MistakeSet(lambda line: line, PERPLEXITY_MISTAKES, right=Perplexity()),
    properties=(
        Property(
            "A perplexity is never below 1: at 1 every token is certain.",
            lambda answer, case: float(answer) >= 1,
        ),
    ),
    hints=(
        "Write down one row, and below each token the next one. Which of these next tokens were "
        "given, and which have to be predicted?",
        "Use the positions from the separator onward, as long as the next token is not PAD. In "
        "each row, there is one for each target word, and one for END.",
        "`labels = tokens[:, 1:]`, `logits[:, :-1].log_softmax(-1)`, and `gather`. `(tokens == "
        "BEGIN).cumsum(1)[:, :-1] > 0` is True from the separator on. Then take the "
        "exponential of the mean.",
    ),
    insight="A loss over the same positions trains a decoder-only model to translate or to "
    "answer. The model only reads what was given, and it does not have to learn to write it.",
    comes_back="In the chat of section 12.13 only the answers count, not the questions.",
    others=(perplexity_by_ignoring,),
)

# --- 12.repair: a sampler that leaks PAD -----------------------------------------------------


def next_probabilities(logits: Tensor, done: Tensor, temperature: float, p: float) -> Tensor:
    is_pad = torch.zeros_like(logits, dtype=torch.bool)
    is_pad[:, PAD] = True
    logits = logits.masked_fill(is_pad, -torch.inf) / temperature
    probabilities = keep_top_p(logits, p).softmax(dim=1)
    return torch.where(done[:, None], is_pad.to(probabilities), probabilities)


def next_of_the_unfinished(logits: Tensor, done: Tensor, temperature: float, p: float) -> Tensor:
    probabilities = torch.zeros_like(logits)
    probabilities[done, PAD] = 1
    words = logits[~done, 1:] / temperature  # without PAD, whose id is 0
    probabilities[~done, 1:] = keep_top_p(words, p).softmax(dim=-1)
    return probabilities


def repair_cases(generator: Generator) -> list[Case]:
    def case(
        note: str, logits: Tensor, done: tuple[int, ...], temperature: float, p: float
    ) -> Case:
        sizes = {"B": len(done), "V": logits.size(-1)}
        text = _("{what}, temperature {temperature}, p {p}").format(
            what=note, temperature=temperature, p=p
        )
        return Case((logits, torch.tensor(done) > 0, temperature, p), sizes, text)

    def row(pad: float) -> Tensor:
        five = torch.tensor([[2.0, 1.5, 0.5, 0.0, -1.5]], dtype=torch.float64)
        return F.pad(five, (1, 0), value=pad)

    def rows(n: int, width: int, pad: float) -> Tensor:
        logits = 2 * draw(generator, n, width)
        logits[:, PAD] += pad
        return logits

    return [
        case(_("1 row, PAD improbable"), row(-3.0), (0,), 2.0, 0.7),
        case(_("1 row, PAD improbable"), row(-3.0), (0,), 0.5, 0.9),
        case(_("1 row, PAD probable"), row(1.7), (0,), 1.0, 0.7),
        case(_("3 rows, one has ended"), rows(3, 8, -2.0), (0, 1, 0), 0.7, 0.8),
        case(_("4 rows, two have ended"), rows(4, 9, 1.0), (1, 0, 0, 1), 1.5, 0.9),
        case(_("2 rows, PAD by far the most probable"), rows(2, 7, 12.0), (0, 0), 1.2, 0.6),
        case(_("2 rows, both have ended"), rows(2, 10, 0.0), (1, 1), 0.8, 0.95),
    ]


Cut = Callable[[Tensor], Tensor]


def is_pad(logits: Tensor) -> Tensor:
    return torch.arange(logits.size(-1), device=logits.device) == PAD


@dataclass(frozen=True)
class Sampler:
    """The step in parts. Each is right unless it is replaced.

    `words` gets the logits and a function that divides and truncates them; it returns
    probabilities.
    """

    words: Callable[[Tensor, Cut], Tensor] = lambda logits, cut: cut(
        logits.masked_fill(is_pad(logits), -torch.inf)
    ).softmax(-1)
    cut: Callable[[Tensor, float, float], Tensor] = lambda x, t, p: keep_top_p(x / t, p)
    ended: Callable[[Tensor, Tensor], Tensor] = lambda x, done: torch.where(
        done[:, None], is_pad(x).to(x), x
    )

    def __call__(self, logits: Tensor, done: Tensor, temperature: float, p: float) -> Tensor:
        probabilities = self.words(logits, lambda x: self.cut(x, temperature, p))
        return self.ended(probabilities, done)


def logit_zero(logits: Tensor, cut: Cut) -> Tensor:
    return cut(logits.masked_fill(is_pad(logits), 0.0)).softmax(-1)


def pad_removed_late(logits: Tensor, cut: Cut) -> Tensor:
    return cut(logits).softmax(-1).masked_fill(is_pad(logits), 0.0)


def pad_removed_and_divided(logits: Tensor, cut: Cut) -> Tensor:
    kept = pad_removed_late(logits, cut)
    return kept / kept.sum(-1, keepdim=True)


def cut_first(logits: Tensor, temperature: float, p: float) -> Tensor:
    return keep_top_p(logits, p) / temperature


def pad_added(probabilities: Tensor, done: Tensor) -> Tensor:
    return torch.where(done[:, None] & is_pad(probabilities), 1.0, probabilities)


SAMPLER_MISTAKES = (
    WrongLine(
        "words",
        logit_zero,
        "A logit of 0 does not mean a probability of 0: e⁰ is 1, so PAD can still be drawn. Only "
        "−∞ gives it a probability of 0.",
    ),
    WrongLine(
        "words",
        lambda logits, cut: cut(logits).softmax(-1),
        "PAD can still be drawn in a row that has not ended.",
    ),
    WrongLine(
        "words",
        pad_removed_late,
        "You removed PAD after the softmax, so a row no longer sums to 1, and PAD took part in the "
        "cut. Remove it from the logits first.",
    ),
    WrongLine(
        "words",
        pad_removed_and_divided,
        "PAD took part in the cut: with its probability, the sum reaches p earlier, and words are "
        "lost. Remove it from the logits before `keep_top_p`.",
    ),
    WrongLine(
        "words",
        lambda logits, cut: cut(logits.masked_fill(~is_pad(logits), -torch.inf)).softmax(-1),
        "You removed everything but PAD. `masked_fill` fills where its mask is True.",
    ),
    WrongLine(
        "words",
        lambda logits, cut: cut(logits.masked_fill(is_pad(logits), -torch.inf)).softmax(0),
        "The softmax ran down the columns, over the rows of the batch. Each row has to sum to 1.",
    ),
    WrongLine(
        "cut",
        cut_first,
        "You cut before you divide by the temperature, so p is applied to the probabilities at "
        "temperature 1. Divide first.",
    ),
    WrongLine(
        "cut",
        lambda x, t, p: keep_top_p(x * t, p),
        "You multiplied by the temperature. Divide by it, so that a high one flattens the "
        "distribution.",
    ),
    WrongLine("cut", lambda x, t, p: keep_top_p(x, p), "The temperature has no effect."),
    WrongLine("cut", lambda x, t, p: x / t, "Nothing is cut: `keep_top_p` is missing."),
    WrongLine(
        "cut",
        lambda x, t, p: keep_top_p((x / t).softmax(-1), p),
        "You took a softmax before `keep_top_p`, which needs logits, and then another.",
    ),
    WrongLine(
        "ended",
        pad_added,
        "In a row that has ended, PAD has probability 1 and the words keep theirs, so the row sums "
        "to 2. It then continues about half of the time. Replace the whole row.",
    ),
    WrongLine("ended", lambda x, done: x, "A row that has ended continues."),
    WrongLine(
        "ended",
        lambda x, done: x.masked_fill(done[:, None], 0.0),
        "A row that has ended has only zeros, from which nothing can be drawn. PAD needs a 1.",
    ),
    WrongLine(
        "ended",
        lambda x, done: x.masked_fill(done[:, None], torch.nan),
        "All logits of a row that has ended are −∞, so its softmax is nan. Keep PAD there.",
    ),
    WrongLine(
        "ended",
        lambda x, done: torch.where(done[:, None], x, is_pad(x).to(x)),
        "The rows that have *not* ended get PAD.",
    ),
    WrongLine(
        "ended",
        lambda x, done: torch.where(
            done[:, None], (torch.arange(x.size(-1), device=x.device) == END).to(x), x
        ),
        "A row that has ended keeps getting END, as in `sample`. Here it has to get PAD.",
    ),
)

REPAIR = Exercise(
    id="12.repair",
    title="A sampler that leaks PAD",
    level=3,
    minutes=12,
    section="12.8",
    prompt=f"""
The function below is one step of a sampler, for a batch of B rows. `logits` (B, V) are the model's
logits for the next token, and `done` (B,) is True for a row that has ended.
`next_probabilities(logits, done, temperature, p)` should return the probabilities (B, V) from which
the next tokens are drawn. A row that has not ended never gets PAD: the logits of the other tokens
are divided by `temperature`, then cut by top-p, then turned into probabilities. A row that has
ended gets PAD and nothing else. PAD is {PAD}. The function runs, but it has three faults. (The
library's `keep_top_p` is right.)
""",
    stub="""
def next_probabilities(logits, done, temperature, p):
    raise NotImplementedError  # repair the lines below, then delete this one
    is_pad = torch.zeros_like(logits, dtype=torch.bool)
    is_pad[:, PAD] = True
    logits = logits.masked_fill(is_pad, 0.0)
    logits = keep_top_p(logits, p) / temperature
    probabilities = logits.softmax(dim=1)
    probabilities[done, PAD] = 1
    return probabilities
""",
    reference=next_probabilities,
    cases=repair_cases,
    axes="B V",
    gradients=False,
    on_cpu=True,
    mistakes=(
        Mistake(
            Sampler(logit_zero, cut_first, pad_added),
            "All three faults are still there. What is the probability of PAD in a row that has "
            "not ended? Does a row that has ended sum to 1? And which probabilities does p cut?",
        ),
        Mistake(
            Sampler(cut=cut_first, ended=pad_added),
            "PAD no longer leaks. What about the order of temperature and cut, and rows that have "
            "ended?",
        ),
        Mistake(
            Sampler(logit_zero, ended=pad_added),
            "The order of temperature and cut is now right. What about PAD's logit, and rows that "
            "have ended?",
        ),
        Mistake(
            Sampler(logit_zero, cut_first),
            "The rows that have ended are now right. What about PAD's logit, and the order of "
            "temperature and cut?",
        ),
    ),
    common_mistakes=MistakeSet(lambda step: step, SAMPLER_MISTAKES, right=Sampler()),
    properties=(
        Property(
            "A row that has ended gets PAD with probability 1 and every other token with 0.",
            lambda answer, case: bool(
                (answer[case.arguments[1]] == is_pad(answer).to(answer)).all()
            ),
        ),
        Property(
            "A row that has not ended has to give PAD a probability of 0, but one of yours does "
            "not.",
            lambda answer, case: not bool(answer[~case.arguments[1], PAD].any()),
        ),
        Property(
            "Each row has to sum to 1, but not all of yours do.",
            lambda answer, case: bool((answer.sum(-1) - 1).abs().max() < 1e-6),
        ),
    ),
    hints=(
        "Print the probabilities of three rows, one of which has ended. Which rows sum to 1, and "
        "where is the probability of PAD above 0?",
        "A logit that means *never* is −∞. The temperature changes which words are needed to "
        "reach p. And a row that has ended needs all of its numbers replaced.",
        "`masked_fill(is_pad, -torch.inf)`, `keep_top_p(logits / temperature, p)`, and "
        "`torch.where(done[:, None], is_pad.to(probabilities), probabilities)`.",
    ),
    insight="None of the three faults raises an error, because `torch.multinomial` divides by the "
    "sum itself. Test a sampler by its probabilities: a token that must never be drawn needs "
    "exactly 0.",
    comes_back="In 12.experiment, you see only what a sampler draws.",
    others=(next_of_the_unfinished,),
)

# --- 12.experiment: how does it draw? --------------------------------------------------------

Draw = Callable[[Tensor, int], Tensor]


def how_it_draws(draw: Draw) -> str:
    found = []
    for n_words in (100, 200):
        nearly_equal = torch.arange(n_words) / 1e6
        found.append(len(draw(nearly_equal, 20_000).unique()))
    if found == [100, 200]:  # nothing is cut: does a difference of 1 have its usual effect?
        share = draw(torch.tensor([0.0, 1.0]), 20_000).double().mean()
        return "plain" if abs(share - 0.731) < 0.02 else "temperature"
    if found == [1, 1]:
        return "greedy"
    return "top-k" if found[0] == found[1] else "top-p"


def sampler(temperature: float = 1.0, k: int | None = None, p: float = 1.0) -> Draw:
    """Return a function that draws n tokens from logits (V,), scaled and then truncated."""

    def drawn(logits: Tensor, n: int) -> Tensor:
        scaled = torch.as_tensor(logits).double() / temperature
        order = scaled.argsort(descending=True, stable=True)
        kept = keep_top_p(scaled, p).index_fill(0, order[k:] if k else order[:0], -torch.inf)
        return torch.multinomial(kept.softmax(-1), n, replacement=True)

    return drawn


SAMPLERS = {
    "greedy": sampler(k=1),
    "plain": sampler(),
    "temperature 1/5": sampler(temperature=0.2),
    "temperature 0.7": sampler(temperature=0.7),
    "temperature 1.5": sampler(temperature=1.5),
    "temperature 4": sampler(temperature=4.0),
    "k 2": sampler(k=2),
    "k 40": sampler(k=40),
    "k 5, temperature 2": sampler(temperature=2.0, k=5),
    "p 0.4": sampler(p=0.4),
    "p 0.9": sampler(p=0.9),
    "p 0.95, temperature 1/2": sampler(temperature=0.5, p=0.95),
}
BOTH = SAMPLERS["k 5, temperature 2"], SAMPLERS["p 0.95, temperature 1/2"]

EXPERIMENT = Exercise(
    id="12.experiment",
    title="How does it draw?",
    level=3,
    minutes=15,
    section="12.8",
    prompt="""
You get twelve samplers without a description. `draw(logits, n)` takes `logits` (V,) of your choice,
with V at most 1,000. It draws n words independently and returns their ids, (n,). n can be up to a
million. `how_it_draws(draw)` calls it as often as you like and returns

- `"greedy"`: always the most probable word;
- `"plain"`: from the probabilities softmax(logits);
- `"temperature"`: from all words, but with a temperature other than 1 (at most 0.7, or at least
  1.5);
- `"top-k"`: from the k most probable words, with k from 2 to 40 and perhaps a temperature;
- `"top-p"`: from the words that top-p keeps, with p from 0.4 to 0.95 and perhaps a temperature.
""",
    reference=how_it_draws,
    cases=lambda generator: [
        Case((sampler,), note=_("sampler {name}").format(name=name))
        for name, sampler in zip("ABCDEFGHIJKL", SAMPLERS.values(), strict=True)
    ],
    mistakes=(
        *choices(
            how_it_draws,
            {
                (SAMPLERS["plain"], "temperature"): "a difference of 1 between two logits makes "
                "one word e times as frequent as the other. That is temperature 1.",
                (SAMPLERS["k 40"], "plain"): "it keeps 40 words. Did you give it more?",
                (SAMPLERS["k 40"], "temperature"): "it keeps 40 words. Give it more than that.",
                (SAMPLERS["p 0.4"], "greedy"): "it draws only one of two words. Give it "
                "more words, with nearly equal logits.",
                (BOTH, "temperature"): "it has a temperature, but it also leaves out words.",
            },
        ),
        Mistake(
            lambda draw: "greedy",
            "from 100 nearly equal logits, it draws more than one word.",
        ),
        Mistake(
            lambda draw: "plain",
            "softmax leaves out no word if the logits are nearly equal. And of two words with "
            "logits 0 and 1, it gives the second a probability of 0.73. One of the two is not true "
            "here.",
        ),
        Mistake(
            lambda draw: "temperature",
            "a temperature leaves out no word if the logits are nearly equal. This one does.",
        ),
        Mistake(
            lambda draw: "top-k",
            "with nearly equal logits, top-k keeps as many of 200 words as of 100, and more than "
            "one. This one does not.",
        ),
        Mistake(
            lambda draw: "top-p",
            "with nearly equal logits, top-p keeps about twice as many of 200 words as of 100, "
            "but not all. This one does not.",
        ),
    ),
    hints=(
        "Give it 100 logits that are nearly but not quite equal, and draw many thousands of words. "
        "How many different words occur?",
        "A cut makes words impossible, but a temperature only makes them rare. With nearly equal "
        "logits, each word that is not cut occurs. What changes if you give it twice as many "
        "words?",
        "If 100 and 200 words give the same number of different words, it is top-k, or greedy if "
        "that number is 1. If 200 give twice as many, it is top-p, unless all occur. If all "
        "occur, try logits 0 and 1: plain gives word 1 a probability of 0.73.",
    ),
    insight="You recognize a cut by the words that never occur, and a temperature by how often "
    "words occur. Nearly equal logits show only the first, and two words show the second.",
    comes_back="Services that run a language model offer such settings, often all of them at once.",
    code=False,
)

CHAPTER = "12. A model that writes"
EXERCISES = (COUNT, SEES, TOP_P, PERPLEXITY_OF_TARGETS, REPAIR, EXPERIMENT)
