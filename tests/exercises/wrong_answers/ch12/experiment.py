"""Wrong answers to 12.experiment, each with words of what the reader is told."""

import torch


def too_many_draws(draw):
    draw(torch.zeros(10), 2_000_000)
    return "plain"


def too_many_words(draw):
    draw(torch.zeros(2000), 100)
    return "plain"


WRONG = dict.fromkeys((too_many_draws, too_many_words), "draw takes at most 1,000 logits")
