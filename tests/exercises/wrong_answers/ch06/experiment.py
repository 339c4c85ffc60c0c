"""Wrong answers to 06.experiment, each with words of what the reader is told."""

import torch


def only_word_0(layer):
    x = torch.randn(20, 4)
    other = x.clone()
    other[0] += 1
    return int((layer(other) != layer(x)).any(-1).nonzero().max())


WRONG = {only_word_0: "program G: word 0 is not seen from farther away, but other words are."}
