"""More right answers to 10.pattern, and mutants that are still right, with the reasons."""

import torch

from attnbook.exercises.chapters.ch10.pattern import my_pattern
from tests.support.mutants import changed


def pattern_loop(length, window, global_tokens):
    mask = torch.zeros(length, length, dtype=torch.bool)
    for i in range(length):
        for j in range(length):
            mask[i, j] = abs(i - j) <= window or i in global_tokens or j in global_tokens
    return mask


def pattern_by_lists(length, window, global_tokens):
    mask = torch.ones(length, length).triu(-window).tril(window)
    mask[list(global_tokens)] = 1
    mask[:, list(global_tokens)] = 1
    return mask > 0


RIGHT = (pattern_loop, pattern_by_lists)

EQUIVALENT = {
    changed(
        my_pattern, "position - position[:, None]", "position[:, None] - position"
    ): "a distance",
}
