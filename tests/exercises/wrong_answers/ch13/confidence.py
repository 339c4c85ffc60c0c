"""Wrong answers to 13.confidence, each with words of what the reader is told."""

import torch


def without_itself(weights, special):
    words = ~special
    itself = torch.eye(weights.size(-1), dtype=torch.bool, device=weights.device)
    largest = (weights * words[:, None, None]).masked_fill(itself, 0).amax(-1)
    return (largest * words[:, None]).sum((0, 2)) / words.sum()


WRONG = {without_itself: "You left out the weight of a word on itself"}
