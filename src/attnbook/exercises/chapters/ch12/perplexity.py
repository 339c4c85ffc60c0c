"""The perplexity of the targets."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.corpus.translation import BEGIN, END, PAD
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.mistakes.head import WrongLine


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

    `align` receives logits (B, L, V), tokens (B, L), and whether the separator comes at or before
    each position. It returns the logits to use, the labels, and whether each label belongs to a
    target. `logs` receives these logits, and `nats` the logarithms and the labels. `counts`
    receives the labels, whether each belongs to a target, and whether it is the separator.
    `average` receives the nats, and whether each of them counts.
    """

    align: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]] = (
        lambda logits, tokens, after: (logits[:, :-1], tokens[:, 1:], after[:, :-1])
    )
    logs: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1)
    nats: Callable[[Tensor, Tensor], Tensor] = nats_of
    counts: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda labels, after, next_is: (
        after & (labels != PAD)
    )
    average: Callable[[Tensor, Tensor], Tensor] = lambda nats, counts: nats[counts].mean().exp()

    def __call__(self, logits: Tensor, tokens: Tensor) -> float:
        after = (tokens == BEGIN).cumsum(1) > 0
        logits, labels, after = self.align(logits, tokens, after)
        nats = self.nats(self.logs(logits), labels)
        return self.average(nats, self.counts(labels, after, labels == BEGIN)).item()


def past_the_separator(after: Tensor) -> Tensor:
    """Whether the separator comes *before* each position."""
    return F.pad(after[:, :-1], (1, 0))


def first_rows_separator(logits: Tensor, tokens: Tensor) -> float:
    start = tokens[0].tolist().index(BEGIN)
    labels = tokens[:, start + 1 :]
    nats = nats_of(logits[:, start:-1].log_softmax(-1), labels)
    return nats[labels != PAD].mean().exp().item()


def mean_of_row(nats: Tensor, counts: Tensor) -> Tensor:
    return (nats * counts).sum(-1) / counts.sum(-1)


OWN_POSITIONS = "The logits at position i are for token i + 1. You compared them with token i."
SHIFTED_BACK = (
    "You compared the logits at position i + 1 with token i. The logits at position i are for "
    "token i + 1."
)
PERPLEXITY_MISTAKES = (
    WrongLine("align", lambda logits, tokens, after: (logits, tokens, after), OWN_POSITIONS),
    WrongLine(
        "align",
        lambda logits, tokens, after: (logits, tokens, past_the_separator(after)),
        OWN_POSITIONS,
    ),
    WrongLine(
        "align",
        lambda logits, tokens, after: (logits[:, 1:], tokens[:, :-1], after[:, :-1]),
        SHIFTED_BACK,
    ),
    WrongLine(
        "align",
        lambda logits, tokens, after: (
            logits[:, 1:],
            tokens[:, :-1],
            past_the_separator(after)[:, :-1],
        ),
        SHIFTED_BACK,
    ),
    WrongLine(
        "logs",
        lambda logits: logits.softmax(-1).log_softmax(-1),
        "You took the softmax twice. `cross_entropy` and `log_softmax` need the logits themselves.",
    ),
    WrongLine(
        "nats",
        lambda logs, labels: -logs.amax(-1),
        "You took the probability of the most probable token. What counts is that of the token "
        "that comes next in `tokens`.",
    ),
    WrongLine(
        "nats",
        lambda logs, labels: -(logs.exp() * logs).sum(-1),
        "That is the entropy of the model's own distribution, whatever comes next in `tokens`. "
        "Take the logarithm of the next token's probability.",
    ),
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

EXERCISE = Exercise(
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
{END}. BEGIN and END occur once in each row. (In section 12.10, only the labels contain END.)
""",
    reference=my_perplexity,
    cases=perplexity_cases,
    gradients=False,
    mistakes=(
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
