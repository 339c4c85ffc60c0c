"""More right answers to 03.scores, and mutants that are still right, with the reasons."""

import math

import torch

from attnbook.exercises.chapters.ch03.scores import my_scores
from tests.support.mutants import changed


def scores_loop(query, key):
    rows = [(query[..., i, None, :] * key).sum(-1) for i in range(query.size(-2))]
    return torch.stack(rows, dim=-2) / query.size(-1) ** 0.5


def scores_broadcast(query, key):
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1).div(math.sqrt(key.size(-1)))


def scores_in_float32(query, key):
    return (query @ key.mT / math.sqrt(key.size(-1))).float()


RIGHT = (scores_loop, scores_broadcast, scores_in_float32)

EQUIVALENT = {changed(my_scores, "(query.size", "(key.size"): "keys are as wide as queries"}
