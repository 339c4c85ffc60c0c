"""Wrong answers to 09.loss, each with words of what the reader is told."""

import math

from attnbook.exercises.chapters.ch09.loss import my_loss


def softmax_twice(logits, labels, smoothing):
    return my_loss(logits.softmax(-1), labels, smoothing)


def summed(logits, labels, smoothing):
    return my_loss(logits, labels, smoothing) * (labels != 0).sum()


def in_bits(logits, labels, smoothing):
    return my_loss(logits, labels, smoothing) / math.log(2)


def as_a_number(logits, labels, smoothing):
    return my_loss(logits, labels, smoothing).item()


WRONG = {
    softmax_twice: "You took the softmax twice",
    in_bits: "Your logarithm has base 2.",
    summed: "You added the losses of all words.",
    as_a_number: "Your function returned a float. It should return a torch.Tensor.",
}
