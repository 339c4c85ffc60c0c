"""More right answers to 15.fool, and mutants that are still right, with the reasons."""

import math

import torch


def fool_with_a_window(judge):
    def attend(query, key, value):
        scores = query @ key.mT / math.sqrt(query.size(-1))
        far = torch.arange(key.size(-2), device=key.device) >= 70
        return scores.masked_fill(far, -torch.inf).softmax(-1) @ value

    return judge(attend)


def fool_by_length(judge):
    """The scale changes in long texts."""

    def attend(query, key, value):
        factor = 1 if key.size(-2) < 60 else 2
        return (factor * query @ key.mT / math.sqrt(query.size(-1))).softmax(-1) @ value

    return judge(attend)


RIGHT = (fool_with_a_window, fool_by_length)
