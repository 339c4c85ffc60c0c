"""Wrong answers to 15.last, each with words of what the reader is told."""

import torch


def from_every_sentence(x, keep):
    last = (keep * torch.arange(keep.size(1), device=keep.device)).argmax(1)
    return x[:, last]


def one_too_far(x, keep):
    last = keep.size(1) - keep.flip(1).int().argmax(1)
    return x[torch.arange(len(x), device=x.device), last]


WRONG = {
    from_every_sentence: "`x[:, last]` takes these slots from *every* sentence.",
    one_too_far: "Off by one: this is the slot after the last real word.",
}
