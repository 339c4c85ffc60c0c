"""More right answers to 14.chosen, and mutants that are still right, with the reasons."""

import math

import torch

from attnbook import scaled_dot_product_attention
from attnbook.exercises.chapters.ch14.chosen import attend_to_best
from tests.support.mutants import changed


def chosen_by_threshold(query, key, value, index, k):
    smallest = index.topk(k, dim=-1).values[..., -1:]
    return scaled_dot_product_attention(query, key, value, index >= smallest)[0]


def chosen_by_sorting(query, key, value, index, k):
    rank = index.argsort(dim=-1, descending=True).argsort(dim=-1)
    bias = torch.zeros_like(index).masked_fill(rank >= k, -math.inf)
    scores = query @ key.mT * query.size(-1) ** -0.5
    return (scores + bias).softmax(-1) @ value


def chosen_by_rescaling(query, key, value, index, k):
    weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1)
    best = index.topk(k, dim=-1).indices
    kept = torch.zeros_like(weights).scatter(-1, best, weights.gather(-1, best))
    return kept / kept.sum(-1, keepdim=True) @ value


RIGHT = (chosen_by_threshold, chosen_by_sorting, chosen_by_rescaling)

EQUIVALENT = {
    changed(attend_to_best, "math.sqrt(query", "math.sqrt(key"): "queries as wide as keys",
}
