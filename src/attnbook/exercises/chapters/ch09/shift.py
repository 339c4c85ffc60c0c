"""The labels of a decoder: what comes next."""

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.ch09.shared import BEGIN, END, PAD
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property
from attnbook.language import _


def my_labels(target: Tensor) -> Tensor:
    later = torch.cat((target[:, 1:], torch.zeros_like(target[:, :1])), dim=1)  # (B, L)
    last = (target != 0) & (later == 0)  # nothing but PAD comes after it
    return later.masked_fill(last, 2)


def labels_by_lengths(target: Tensor) -> Tensor:
    labels = target.roll(-1, dims=1)
    labels[:, -1] = 0
    rows = torch.arange(len(target), device=target.device)
    labels[rows, (target != 0).sum(dim=1) - 1] = 2
    return labels


def shift_cases(generator: Generator) -> list[Case]:
    def case(note: str, length: int, *words: int) -> Case:
        rows = torch.randint(3, 40, (len(words), length), generator=generator)
        rows[:, 0] = BEGIN
        padding = torch.arange(length) > torch.tensor(words)[:, None]
        return Case((rows.masked_fill(padding, PAD),), {"B": len(words), "L": length}, note)

    some = torch.randint(1, 8, (5,), generator=generator).tolist()
    return [
        case("1 sentence of 3 words, no padding", 4, 3),
        case("2 sentences, of 4 and 2 words", 5, 4, 2),
        case("3 sentences, the longest one last", 7, 2, 5, 6),
        case("4 sentences, one of them empty", 6, 3, 0, 5, 1),
        case("room for one more word than the longest sentence has", 8, 5, 6),
        case(_("5 sentences of {lengths} words").format(lengths=some), 9, *some),
    ]


def shifted(target: Tensor) -> Tensor:
    return torch.cat((target[:, 1:], torch.zeros_like(target[:, :1])), dim=1)


def end_after_the_words(target: Tensor) -> Tensor:
    """Replace the first PAD of each row, if there is one, with END."""
    first = (target == PAD) & (target == PAD).long().cumsum(1).eq(1)
    return target.masked_fill(first, END)


EXERCISE = Exercise(
    title="What comes next",
    level=1,
    minutes=8,
    section="9.4",
    prompt="""
The decoder is given `target` (B, L), the ids of B English sentences: BEGIN, the words, and enough
PAD to fill the row. Write `my_labels(target)`. It returns a tensor of the same shape with the right
answer at each position: the word that comes next, END after the last word, and PAD at positions
that do not count. PAD is 0, BEGIN is 1, END is 2, and every word has a larger id.
""",
    reference=my_labels,
    cases=shift_cases,
    axes="B L",
    mistakes=(
        Mistake(lambda target: target, "Nothing was shifted, so a model would only learn to copy."),
        Mistake(shifted, "The words are right, but without END a model never learns to stop."),
        Mistake(
            lambda target: torch.cat((target[:, 1:], torch.full_like(target[:, :1], END)), dim=1),
            "END is at the end of each row. In a padded row it belongs after the last word.",
        ),
        Mistake(
            lambda target: shifted(target).masked_fill(shifted(target) == PAD, END),
            "All padding became END. Each sentence has one END, and the rest stays PAD.",
        ),
        Mistake(
            lambda target: target.roll(-1, dims=1),
            "`roll` moves BEGIN from the beginning to the end of the row. And where is END?",
        ),
        Mistake(
            lambda target: torch.cat((torch.zeros_like(target[:, :1]), target[:, :-1]), dim=1),
            "The rows were shifted to the right: each position is asked for the word *before* it.",
        ),
        Mistake(
            lambda target: target[:, 1:],
            "Each row has lost a position. Your answer needs as many positions as `target`.",
        ),
        Mistake(
            lambda target: shifted(end_after_the_words(target)),
            "A sentence that fills its row has no END: it has no PAD to replace.",
        ),
    ),
    properties=(
        Property(
            "BEGIN is never a right answer. It is given, and it never comes next.",
            lambda answer, case: not bool((answer == BEGIN).any()),
        ),
        Property(
            "Each sentence needs exactly one END. Some of yours have none, or more than one.",
            lambda answer, case: bool(((answer == END).sum(1) == 1).all()),
        ),
        Property(
            "Some words of `target` are missing from the same row of your answer.",
            lambda answer, case: all(
                set(given[given > END].tolist()) <= set(labels.tolist())
                for given, labels in zip(case.arguments[0], answer, strict=True)
            ),
        ),
    ),
    hints=(
        "Write down a short sentence, such as `BEGIN i swim PAD`, and below each of its positions "
        "the right answer.",
        "Shift the row to the left by one, and the words are right. END belongs where a word was "
        "given and nothing follows it.",
        "`torch.cat((target[:, 1:], ...), dim=1)`, then `masked_fill` where `target` is not 0 but "
        "the shifted row is 0.",
    ),
    insight="A sentence of n words poses n + 1 questions, all answered in one pass. The answer to "
    "the last one is END.",
    comes_back="09.loss leaves out the positions that are PAD here.",
    others=(labels_by_lengths,),
)
