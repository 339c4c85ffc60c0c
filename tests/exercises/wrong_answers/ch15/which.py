"""Wrong answers to 15.which, each with words of what the reader is told."""

from attnbook.exercises.chapters.ch15.which import which


def answers(**wrong):
    return lambda report: wrong.get(report) or which(report)


WRONG = {
    answers(a="rows"): "report a: A leak would spoil the first word as well",
    answers(b="rows"): "report b: It would notice that the words of a sentence",
    answers(b="order"): "report b: It would notice that the words of a sentence",
    answers(c="cache"): "report c: They differ, since in a step the later words",
    answers(d="cache"): "report d: The same cache serves the prompt alone.",
    answers(d="sentences"): "report d: It could be, but the others are also *longer*",
    answers(h="order"): "report h: Exchanging two earlier words moves the last one",
}
