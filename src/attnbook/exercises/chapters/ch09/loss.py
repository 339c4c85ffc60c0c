"""The loss of a translator by hand."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch09.shared import PAD
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Property, draw, some_sizes
from attnbook.language import _
from attnbook.mistakes.head import WrongLine


def my_loss(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    logs = logits.log_softmax(dim=-1)  # (B, L, V)
    right = logs.gather(-1, labels[..., None])[..., 0]  # (B, L)
    score = (1 - smoothing) * right + smoothing * logs.mean(dim=-1)
    return -score[labels != 0].mean()


def loss_by_distribution(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    wanted = torch.full_like(logits, smoothing / logits.size(-1))
    wanted = wanted.scatter_add(-1, labels[..., None], torch.full_like(logits, 1 - smoothing))
    each = -(wanted * logits.log_softmax(-1)).sum(-1)  # (B, L)
    real = (labels != 0).to(each)
    return (each * real).sum() / real.sum()


def loss_cases(generator: Generator) -> list[Case]:
    def case(note: str, v: int, length: int, *words: int, s: float = 0.1, size: float = 2) -> Case:
        ids = torch.randint(1, v, (len(words), length), generator=generator)
        ids[0, 0] = 1  # the loss leaves out only PAD, not this id
        labels = ids.masked_fill(torch.arange(length) >= torch.tensor(words)[:, None], PAD)
        logits = size * draw(generator, len(words), length, v)
        sizes = {"B": len(words), "L": length, "V": v}
        return Case((logits, labels, s), sizes, note)

    v = some_sizes(generator, 1)[0] + 8
    return [
        case("1 sentence of 2 words, 5 ids, no padding", 5, 2, 2, s=0.2),
        case("2 sentences, of 3 words and 1 word", 7, 3, 3, 1),
        case("3 sentences, smoothing 0", 6, 4, 1, 4, 2, s=0.0),
        case(_("{n} ids, smoothing 0.3").format(n=v), v, 5, 5, 2, s=0.3),
        case("4 sentences, one of them empty", 9, 6, 6, 0, 3, 2),
        case("logits in the hundreds", 8, 5, 2, 5, 1, size=300.0),
    ]


@dataclass(frozen=True)
class Loss:
    """The lines that compute the loss. Each is right unless it is replaced."""

    logs: Callable[[Tensor], Tensor] = lambda logits: logits.log_softmax(-1)
    score: Callable[..., Tensor] = lambda logs, right, s: (1 - s) * right + s * logs.mean(-1)
    mean: Callable[[Tensor, Tensor], Tensor] = lambda loss, real: loss[real].mean()

    def __call__(self, logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
        logs = self.logs(logits)
        right = logs.gather(-1, labels[..., None])[..., 0]
        return self.mean(-self.score(logs, right, smoothing), labels != PAD)


LOSS_MISTAKES = (
    WrongLine("logs", lambda logits: logits, "The softmax is missing: these are logits."),
    WrongLine("logs", lambda logits: logits.softmax(-1), "The logarithm is missing."),
    WrongLine(
        "logs",
        lambda logits: logits.softmax(-1).log_softmax(-1),
        "You took the softmax twice: `log_softmax` contains one and needs the scores themselves.",
    ),
    WrongLine(
        "logs",
        lambda logits: logits.log_softmax(-1) / math.log(2),
        "Your logarithm has base 2. The card asks for ln, which is `log`.",
    ),
    WrongLine(
        "logs",
        lambda logits: logits.log_softmax(-1) / math.log(10),
        "Your logarithm has base 10. The card asks for ln, which is `log`.",
    ),
    WrongLine(
        "logs",
        lambda logits: logits.log_softmax(1),
        "Your softmax ran over the positions. It should run over the V ids, the last axis.",
    ),
    WrongLine("score", lambda logs, right, s: right, "`smoothing` has no effect."),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * (logs.sum(-1) - right) / (logs.size(-1) - 1),
        "You spread `smoothing` over the V − 1 other ids. Here, as in PyTorch, the right one gets "
        "a part of it as well.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * (logs.sum(-1) - right) / logs.size(-1),
        "The right id should get its part of `smoothing` in addition to 1 − smoothing. Your "
        "probabilities sum to less than 1.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * logs[..., PAD + 1 :].mean(-1),
        "You spread `smoothing` over all ids except PAD. PAD gets a part of it as well.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: (1 - s) * right + s * logs.sum(-1),
        "Every id gets all of `smoothing`. Each should get `smoothing` / V.",
    ),
    WrongLine(
        "score",
        lambda logs, right, s: ((1 - s) * right + s * logs.mean(-1)) / logs.size(-1),
        "At each position you took the mean over the V ids. Take the sum.",
    ),
    WrongLine(
        "mean",
        lambda loss, real: loss[real].sum(),
        "You added the losses of all words. Return their mean.",
    ),
    WrongLine("mean", lambda loss, real: loss.mean(), "You counted the padding. Leave it out."),
    WrongLine(
        "mean",
        lambda loss, real: (loss * real).mean(),
        "You left the padding out of the sum, but then divided by the number of all positions. "
        "Divide by the number of those that count.",
    ),
    WrongLine(
        "mean",
        lambda loss, real: ((loss * real).sum(1) / real.sum(1)).mean(),
        "You took the mean over each sentence first, so a word in a short sentence counts more, "
        "and an empty sentence gives nan. Take one mean over all words.",
    ),
    WrongLine(
        "mean",
        lambda loss, real: -loss[real].mean(),
        "The sign is wrong: the loss is *minus* the logarithm.",
    ),
)


def other_targets(logits: Tensor, labels: Tensor, s: float) -> Iterator[Tensor]:
    """Yield the loss for targets other than 1 - s for the right id plus s / V for every id."""
    v = logits.size(-1)
    for a, b in (1 - s, 0), (1, s / v), (s, (1 - s) / v), (1 - s, -s / v), (1 - s, s / (v - 1)):
        score = lambda logs, right, s, a=a, b=b: a * right + b * logs.sum(-1)  # noqa: E731
        yield Loss(score=score)(logits, labels, s)


EXERCISE = Exercise(
    title="A loss by hand",
    level=2,
    minutes=12,
    section="9.6",
    prompt="""
Write `my_loss(logits, labels, smoothing)`, the training loss of chapter 9, without using
`cross_entropy`. `logits` (B, L, V) are the scores of V ids, before the softmax; `labels` (B, L) are
the right ids, and 0 where there is only padding. At each position, the right id gets a wanted
probability of 1 − `smoothing`, and `smoothing` is then spread evenly over all V ids, including the
right one and PAD. The loss of a position is minus the sum, over all ids, of the wanted probability
times ln of the model's probability. Return the mean over all positions that are not padding, as a
tensor, so that a model can be trained with it.
""",
    reference=my_loss,
    cases=loss_cases,
    without=("cross_entropy", "CrossEntropyLoss"),
    properties=(
        Property(
            "Your answer is right, except when logits are in the hundreds. Then a probability is "
            "rounded to 0, and its logarithm is lost. `log_softmax` never computes the "
            "probability itself.",
            lambda answer, case: bool(
                case.arguments[0].abs().max() < 100
                or torch.isclose(answer, my_loss(*case.arguments))
            ),
        ),
        Property(
            "Only the wanted probabilities are wrong. The right id gets 1 − smoothing, and then "
            "each of the V ids gets another smoothing / V.",
            lambda answer, case: (
                bool(torch.isclose(answer, my_loss(*case.arguments)))
                or not any(torch.isclose(answer, x) for x in other_targets(*case.arguments))
            ),
        ),
    ),
    mistakes=(),
    common_mistakes=MistakeSet(lambda loss: loss, LOSS_MISTAKES, right=Loss()),
    hints=(
        "`log_softmax` gives (B, L, V) logarithms. At each position you need two numbers: the "
        "logarithm for the right id, and the mean over all ids.",
        "`logs.gather(-1, labels[..., None])` picks the logarithms for the right ids, with a last "
        "axis of size 1.",
        "`labels != 0` as an index keeps the words and drops the padding. Then take the mean.",
    ),
    insight="The mean over all V ids does not depend on the label. Smoothing adds it as a term "
    "that grows when any id gets too little probability, so no logit gets arbitrarily far above "
    "the others.",
    comes_back="09.beam adds such logarithms, word by word, to compare whole sentences.",
    others=(loss_by_distribution,),
)
