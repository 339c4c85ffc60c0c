"""More right answers to 13.scores, and mutants that are still right, with the reasons."""

import torch

from attnbook.exercises.chapters.ch13.scores import my_score
from tests.support.mutants import changed


def score_by_a_mask(weights, ids):
    length = len(ids)
    i, j = torch.meshgrid(torch.arange(length), torch.arange(length), indexing="ij")
    i, j = i.to(ids.device), j.to(ids.device)
    before = (ids[i] == ids[(j - 1).clamp(min=0)]) & (j > 0) & (j <= i)
    return (weights * before).sum((-2, -1)) / before.sum()


def score_by_pairs(weights, ids):
    pairs = [(i, j + 1) for i in range(len(ids)) for j in range(i) if ids[i] == ids[j]]
    rows, columns = zip(*pairs, strict=True)
    return weights[..., list(rows), list(columns)].mean(-1)


def score_without_gradients(weights, ids):
    with torch.no_grad():
        due = torch.zeros(len(ids), len(ids), dtype=torch.bool, device=ids.device)
        for i, letter in enumerate(ids):
            for j in (ids[:i] == letter).nonzero().flatten():
                due[i, j + 1] = True
        return weights.masked_fill(~due, 0.0).sum((-2, -1)) / due.sum().double()


RIGHT = (score_by_a_mask, score_by_pairs, score_without_gradients)

EQUIVALENT = {
    changed(my_score, "(1, dims=-1)", "(1)"): "the last column is empty, so no row spills over",
    changed(my_score, "dims=-1", "dims=+1"): "the second of two axes is the last",
}
