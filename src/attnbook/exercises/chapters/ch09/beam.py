"""One step of a beam search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch09.shared import PAD
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.mistakes.head import WrongLine

Beam = tuple[Tensor, Tensor, Tensor]


def my_beam_step(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    stays = torch.full_like(logs, -torch.inf)
    stays[:, 0] = 0.0  # PAD costs nothing
    logs = torch.where(done[:, None], stays, logs)
    every = totals[:, None] + logs  # (k, V)
    best, index = every.flatten().topk(len(totals))
    return best, index // logs.size(1), index % logs.size(1)


def beam_by_lists(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    ways = []
    for beam, total in enumerate(totals):
        if done[beam]:
            ways.append((float(total), beam, 0))
        else:
            ways += [(float(total + p), beam, word) for word, p in enumerate(logs[beam])]
    ways = sorted(ways, reverse=True)[: len(totals)]
    best, beams, words = (torch.tensor(x, device=totals.device) for x in zip(*ways, strict=True))
    return best.to(totals), beams, words


def beam_cases(generator: Generator) -> list[Case]:
    def case(note: str, v: int, done: Sequence[int], *behind: float) -> Case:
        totals = -3 - 2 * draw(generator, len(done)).abs() - torch.tensor(behind or (0.0,))
        logits = 2 * draw(generator, len(done), v)
        logits[:, 0] -= 12  # PAD is hardly ever predicted
        arguments = totals, logits.log_softmax(-1), torch.tensor(done) > 0
        return Case(arguments, {"k": len(done), "V": v}, note)

    return [
        case("2 beams, 5 words, none has ended", 5, (0, 0)),
        case("3 beams, 7 words, none has ended", 7, (0, 0, 0)),
        case("4 beams, one of them far ahead", 11, (0, 0, 0, 0), 20, 20, 0, 20),
        case("3 beams, beam 1 has ended and leads", 8, (0, 1, 0), 9, 0, 9),
        case("3 beams, beam 2 has ended and is far behind", 9, (0, 0, 1), 0, 0, 40),
        case("4 beams, two have ended", 6, (1, 0, 1, 0)),
        case("all 3 have ended", 10, (1, 1, 1)),
        case("3 beams of long sentences, with sums in the hundreds", 7, (0, 0, 0), 900),
        case("3 beams, beam 0 has ended and is far ahead", 7, (1, 0, 0), 0, 900, 900),
        case("1 beam", 12, (0,)),
    ]


def ended_logs(logs: Tensor, done: Tensor, pad: Any = 0.0, other: float = -torch.inf) -> Tensor:
    """Return ln p of the next words, with `pad` and `other` for sentences that have ended."""
    row = torch.full_like(logs, other)
    row[:, PAD] = pad
    return torch.where(done[:, None], row, logs)


def best_of(every: Tensor) -> Beam:
    best, place = every.flatten().topk(len(every))
    return best, place // every.size(1), place % every.size(1)


@dataclass(frozen=True)
class Step:
    """The lines of one step of a beam search. Each is right unless it is replaced."""

    logs: Callable[..., Tensor] = ended_logs
    every: Callable[[Tensor, Tensor], Tensor] = lambda totals, logs: totals[:, None] + logs
    choose: Callable[[Tensor], Beam] = best_of
    answer: Callable[..., Beam] = lambda totals, best, sentences, words: (best, sentences, words)

    def __call__(self, totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
        return self.answer(totals, *self.choose(self.every(totals, self.logs(logs, done))))


def one_each(every: Tensor) -> Beam:
    """Choose the best word of each beam."""
    best, words = every.max(-1)
    order = best.argsort(descending=True)
    return best[order], order, words[order]


def ended_first(every: Tensor) -> Beam:
    """First choose the sentences that have ended, and then the best of the others."""
    ended = every[:, 1:2].isinf() & every[:, :1].isfinite()
    place = (every + 1e6 * ended).flatten().topk(len(every)).indices
    best, order = every.flatten()[place].sort(descending=True)
    return best, place[order] // every.size(1), place[order] % every.size(1)


def padded_afterwards(totals: Tensor, logs: Tensor, done: Tensor) -> Beam:
    best, sentences, words = best_of(totals[:, None] + logs)
    return best, sentences, words.masked_fill(done[sentences], PAD)


BEAM_MISTAKES = (
    WrongLine("logs", lambda logs, done: logs, "A sentence that has ended keeps getting words."),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, pad=logs[:, PAD]),
        "After END you added ln p of PAD. PAD should cost nothing there.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, other=0.0),
        "You continue a sentence that has ended with any word at no cost. Only PAD is possible; "
        "the others get −∞.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, other=-100.0),
        "−100 is very low, but the sums of other sentences may be even lower. An impossible word "
        "gets −∞.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: ended_logs(logs, done, pad=-torch.inf),
        "A sentence that has ended has no continuation here, so it drops out of the beam.",
    ),
    WrongLine(
        "logs",
        lambda logs, done: F.pad(ended_logs(logs, done)[:, 1:], (1, 0)),
        "You let every sentence add PAD at no cost. PAD should be free only for those that have "
        "ended.",
    ),
    WrongLine("every", lambda totals, logs: logs.clone(), "The sums so far have no effect."),
    WrongLine(
        "choose",
        one_each,
        "You kept the best word of each sentence, as k greedy searches would. But all "
        "continuations of all sentences compete with each other.",
    ),
    WrongLine(
        "choose",
        lambda every: (-best_of(-every)[0], *best_of(-every)[1:]),
        "You kept the k lowest sums. Keep the highest.",
    ),
    WrongLine(
        "choose",
        ended_first,
        "You always keep a sentence that has ended, however far behind it is. It has to compete "
        "with all others.",
    ),
    WrongLine(
        "answer",
        lambda totals, best, sentences, words: (best, words, sentences),
        "You swapped the sentences and the words.",
    ),
    WrongLine(
        "answer",
        lambda totals, best, sentences, words: (sentences, words, best),
        "Return them in this order: sums, sentences, words.",
    ),
)

EXERCISE = Exercise(
    title="One step of a beam search",
    level=3,
    minutes=15,
    section="9.13",
    second_reading=True,
    prompt="""
A beam search keeps k sentences. `totals` (k,) holds the sum of ln p of each sentence's words so
far, `logs` (k, V) is ln p of each possible next word, and `done` (k,) is True for a sentence
that has ended. Write `my_beam_step(totals, logs, done)`. Of all continuations by one word, it keeps
the k with the highest sums. A sentence that has ended is continued only by PAD, the id 0, at no
cost. Return three tensors (k,), with the best first: the new sums, the index of the sentence that
each continues (0 to k − 1), and the id of the word added (0 to V − 1).
""",
    reference=my_beam_step,
    cases=beam_cases,
    mistakes=(
        Mistake(
            padded_afterwards,
            "You inserted PAD after the choice. Until then, the ended sentence competed with words "
            "that it cannot have.",
        ),
    ),
    common_mistakes=MistakeSet(lambda step: step, BEAM_MISTAKES, right=Step()),
    properties=(
        Property(
            "Return three tensors of shape (k,).",
            lambda answer, case: (
                len(answer) == 3 and all(x.shape == case.arguments[0].shape for x in answer)
            ),
        ),
        Property(
            "You continue a sentence that has ended with a word other than PAD.",
            lambda answer, case: not bool(answer[2][case.arguments[2][answer[1]]].any()),
        ),
        Property(
            "Your sums are right, but your sentences and words are not. In the flattened (k, V) "
            "tensor, an index is the sentence times V plus the word.",
            lambda answer, case: (
                not torch.allclose(answer[0], my_beam_step(*case.arguments)[0])
                or all(map(torch.equal, answer[1:], my_beam_step(*case.arguments)[1:]))
            ),
        ),
        Property(
            "Your sums do not belong to the sentences and words that you return.",
            lambda answer, case: torch.allclose(
                answer[0],
                case.arguments[0][answer[1]]
                + ended_logs(*case.arguments[1:])[answer[1], answer[2]],
            ),
        ),
        Property(
            "Your best sentence does not come first.",
            lambda answer, case: bool((answer[0].diff() <= 0).all()),
        ),
    ),
    hints=(
        "How many continuations are there in all? Compute their sums first, as a (k, V) tensor.",
        "A sentence that has ended gets a row of its own: 0 for PAD and −∞ for all other words. "
        "`torch.where(done[:, None], ..., logs)`.",
        "`.flatten().topk(k)` gives the best sums and their indices. An index is the sentence "
        "times V plus the word.",
    ),
    insight="A sentence that has ended keeps its sum, and sums only fall, so nothing behind it can "
    "overtake it. It drops out if the sentences ahead of it have enough good continuations. With "
    "k = 1 this is greedy decoding.",
    comes_back="The library's `beam_search` takes such steps until all sentences have ended.",
    others=(beam_by_lists,),
    gradients=False,
)
