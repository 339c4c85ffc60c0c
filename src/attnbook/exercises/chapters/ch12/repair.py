"""Repair three faults in a sampler."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.corpus.translation import END, PAD
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.language import _
from attnbook.mistakes.head import WrongLine
from attnbook.models.sampling import keep_top_p


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


LOGARITHMS = "These are logarithms of probabilities. Take `softmax` and no `log`."
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
        lambda logits, cut: cut(logits.masked_fill(is_pad(logits), -torch.inf)).log_softmax(-1),
        LOGARITHMS,
    ),
    WrongLine(
        "words",
        lambda logits, cut: cut(logits.masked_fill(is_pad(logits), -torch.inf)),
        "These are logits. They become probabilities by a softmax over the last axis.",
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

EXERCISE = Exercise(
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
        Mistake(lambda *given: next_probabilities(*given).log(), LOGARITHMS),
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
    insight="None of the three faults raises an error. With two of them, each row still sums to 1, "
    "and with the third, `torch.multinomial` would divide by the sum itself. Test a sampler by its "
    "probabilities: a token that must never be drawn needs exactly 0.",
    comes_back="In 12.experiment, you see only what a sampler draws.",
    others=(next_of_the_unfinished,),
)
