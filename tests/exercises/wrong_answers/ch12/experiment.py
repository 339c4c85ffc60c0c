"""Wrong answers to 12.experiment, each with words of what the reader is told."""

import torch


def too_many_draws(draw):
    draw(torch.zeros(10), 2_000_000)
    return "plain"


def too_many_words(draw):
    draw(torch.zeros(2000), 100)
    return "plain"


def too_few_draws(draw):
    found = [len(draw(torch.arange(n) / 1e6, 1000).unique()) for n in (500, 1000)]
    return "greedy" if found == [1, 1] else "top-k" if found[0] == found[1] else "top-p"


WRONG = {
    too_many_draws: "draw takes at most 1,000 logits",
    too_many_words: "draw takes at most 1,000 logits",
    too_few_draws: "sampler B, sampler C, sampler D, sampler E, sampler F: it leaves out no word.",
}
