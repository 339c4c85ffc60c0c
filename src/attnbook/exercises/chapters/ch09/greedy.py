"""Repair three faults in greedy decoding."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch09.shared import BEGIN, END, PAD
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.language import _
from attnbook.mistakes.head import WrongLine

Model = Callable[[Tensor], Tensor]


def my_greedy(model: Model, target: Tensor, longest: int) -> Tensor:
    done = torch.zeros_like(target, dtype=torch.bool)  # (B, 1)
    for _ in range(longest):
        scores = model(target)[:, -1:]  # (B, 1, V)
        word = scores.argmax(dim=-1).masked_fill(done, 0)  # (B, 1)
        target = torch.cat((target, word), dim=1)
        done = done | (word == 2)
        if done.all():
            break
    return target[:, 1:]


def greedy_then_clean(model: Model, target: Tensor, longest: int) -> Tensor:
    for _ in range(longest):
        target = torch.cat((target, model(target)[:, -1].argmax(-1, keepdim=True)), dim=1)
    words = target[:, 1:]
    ended = (words == 2).long().cumsum(dim=1) - (words == 2).long()  # (B, L), ends before each
    words = words.masked_fill(ended > 0, 0)
    return words[:, : int((words != 0).sum(dim=1).max())]


def written_by(plans: Sequence[Sequence[int]], scores: Tensor) -> Model:
    """Return a model that writes these sentences, if it is asked for their words in order.

    After END, or after a word that is not in its plan, it writes words that are in no plan.
    The best word wins by a small margin, so sampling would often pick another one.
    """

    def model(target: Tensor) -> Tensor:
        shape = tuple(target.shape)
        if target.dim() != 2 or len(target) != len(plans) or target.size(1) > 40:
            message = _(
                "target has shape {shape}: each call needs all {n} sentences, with one more word "
                "at each step"
            )
            raise ValueError(message.format(shape=shape, n=len(plans)))
        answer = scores[torch.arange(target.size(1)) % len(scores)].repeat(len(plans), 1, 1)
        for b, plan in enumerate(plans):
            given = target[b].tolist()
            for i in range(len(given)):
                on_the_way = given[0] == BEGIN and given[1 : i + 1] == list(plan[:i])
                word = plan[i] if on_the_way and i < len(plan) else 3 + (i + b) % 2
                answer[b, i, word] = answer[b, i].max() + 0.1
        return answer.to(target.device)

    return model


def greedy_cases(generator: Generator) -> list[Case]:
    def case(note: str, longest: int, *lengths: int) -> Case:
        plans = [
            [*torch.randint(5, 12, (n,), generator=generator).tolist(), *([END] if end else [])]
            for n, end in ((n, n < longest) for n in lengths)
        ]
        model, begin = written_by(plans, draw(generator, 5, 12)), torch.full((len(plans), 1), BEGIN)
        return Case((model, begin, longest), {"B": len(plans)}, note)

    return [
        case("1 sentence of 2 words", 6, 2),
        case("2 sentences of 3 words", 7, 3, 3),
        case("3 sentences, of 4, 1 and 2 words", 9, 4, 1, 2),
        case("2 sentences, the longer one last", 8, 1, 5),
        case("2 sentences, one of them never ends", 5, 2, 5),
        case("4 sentences, one of them empty", 6, 3, 0, 2, 4),
        case("exactly as long as allowed", 4, 3, 1),
    ]


@dataclass(frozen=True)
class Greedy:
    """The loop in parts. Each is right unless it is replaced."""

    read: Callable[[Model, Tensor], Tensor] = lambda model, target: model(target)[:, -1:]
    choose: Callable[[Tensor], Tensor] = lambda scores: scores.argmax(-1)
    pad: Callable[[Tensor, Tensor], Tensor] = lambda word, done: word.masked_fill(done, PAD)
    ended: Callable[[Tensor, Tensor], Tensor] = lambda done, word: done | (word == END)
    stop: Callable[[Tensor], Tensor] = torch.all
    answer: Callable[[Tensor], Tensor] = lambda target: target[:, 1:]

    def __call__(self, model: Model, target: Tensor, longest: int) -> Tensor:
        done = torch.zeros_like(target, dtype=torch.bool)
        for _ in range(longest):
            word = self.pad(self.choose(self.read(model, target)), done)
            target = torch.cat((target, word), dim=1)
            done = self.ended(done, word)
            if self.stop(done):
                break
        return self.answer(target)


def read_first_row(model: Model, target: Tensor) -> Tensor:
    return model(target)[:, :1]


GREEDY_MISTAKES = (
    WrongLine(
        "read",
        read_first_row,
        "Row 0 has the scores for the word after BEGIN, however many words have been written.",
    ),
    WrongLine(
        "read",
        lambda model, target: model(target)[:, -1],
        "`[:, -1]` drops an axis: the words (B,) broadcast with `done` (B, 1) to (B, B). Keep that "
        "axis.",
    ),
    WrongLine(
        "read",
        lambda model, target: model(target[:, -1:])[:, -1:],
        "The model reads only the last word. It needs all words so far.",
    ),
    WrongLine(
        "choose",
        lambda scores: scores.argmax(1),
        "`argmax` ran over the positions. The scores of the words are on the last axis.",
    ),
    WrongLine("pad", lambda word, done: word, "A sentence that has ended keeps getting words."),
    WrongLine(
        "pad",
        lambda word, done: word.masked_fill(done, END),
        "After its END, a sentence gets more ENDs. It should get PAD.",
    ),
    WrongLine(
        "pad",
        lambda word, done: word.masked_fill(~done, PAD),
        "The sentences that have *not* ended get PAD. `masked_fill` fills where its mask is True.",
    ),
    WrongLine(
        "ended", lambda done, word: word == END, "`done` forgets the sentences that ended earlier."
    ),
    WrongLine(
        "stop",
        torch.any,
        "The loop stops as soon as *one* sentence has ended. (Once that is fixed, look at what "
        "sentences get after their END.)",
    ),
    WrongLine("stop", lambda done: False, "The loop continues after all sentences have ended."),
    WrongLine(
        "answer",
        lambda target: target,
        "Your answer still begins with BEGIN, which was given. Leave it out.",
    ),
)

EXERCISE = Exercise(
    title="Three faults in a loop",
    level=2,
    minutes=12,
    section="9.7",
    prompt="""
`my_greedy(model, target, longest)` should write a batch of sentences, always choosing the word with
the highest score. `model(target)` takes all ids so far, (B, L), including those of sentences that
have ended, and returns scores (B, L, V). Row i has the scores for the word after position i.
`target` (B, 1) is BEGIN for each sentence. The answer (B, n) omits BEGIN and has the words,
each sentence's END, and PAD after it; n is at most `longest`, and no more than the longest sentence
needs. PAD is 0, BEGIN is 1, and END is 2. The loop below runs, but it has three faults.
""",
    stub="""
def my_greedy(model, target, longest):
    raise NotImplementedError  # repair the lines below, then delete this one
    done = torch.zeros_like(target, dtype=torch.bool)
    for _ in range(longest):
        scores = model(target)[:, :1]
        word = scores.argmax(dim=-1)
        target = torch.cat((target, word), dim=1)
        done = done | (word == 2)
        if done.any():
            break
    return target[:, 1:]
""",
    reference=my_greedy,
    cases=greedy_cases,
    axes="B n",
    mistakes=(
        Mistake(
            Greedy(read=read_first_row, stop=torch.any),
            "At least two faults are left: which row has the scores for the next word, and when "
            "has the whole batch ended? The third shows up once these are repaired: what does a "
            "sentence get after it has ended?",
        ),
    ),
    common_mistakes=MistakeSet(lambda loop: loop, GREEDY_MISTAKES, right=Greedy()),
    properties=(
        Property(
            "After its END, a sentence has only PAD, but one of yours has other words.",
            lambda answer, case: (
                not bool(((answer == END).cumsum(1)[:, :-1] * answer[:, 1:]).any())
            ),
        ),
    ),
    hints=(
        "Print `target` at each step for two sentences of different lengths, and look at what each "
        "step adds.",
        "After three words the model returns four rows. Which one has seen all of them?",
        "`[:, -1:]`, `.masked_fill(done, 0)`, `done.all()`.",
    ),
    insight="None of the three faults raises an error, and with a batch of one sentence, two of "
    "them have no effect. Test such a loop with sentences of different lengths.",
    comes_back="Chapter 11 runs this loop without computing earlier rows again.",
    others=(greedy_then_clean,),
)
