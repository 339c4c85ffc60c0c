"""Right answers to chapter 1's exercises, and mutated reference solutions that are still right."""

import math

import torch
import torch.nn.functional as F

from attnbook.exercises.chapters.ch01.temperature import lookup, lookups
from tests.support.mutants import changed


def lookup_matrix(query, keys, values):
    s = keys @ query
    a = torch.exp(s) / torch.exp(s).sum()
    return a @ values


def lookup_pytorch(query, keys, values):
    return F.scaled_dot_product_attention(query[None], keys, values, scale=1.0)[0]


def lookup_loop(query, keys, values):
    """Answer in PyTorch's default dtype: the answer passes with a note."""
    powers = [math.exp(float((query * key).sum())) for key in keys]
    report = torch.zeros(values.shape[1], device=values.device)
    for power, value in zip(powers, values, strict=True):
        report += power / sum(powers) * value
    return report


def winner_computed(what):
    cards = torch.tensor([[3.0, 0], [4, 4], [0, 9]])
    query = {"shout": 10, "flip": -1, "mute": 0}.get(what, 1) * torch.tensor([1.0, 0])
    if what == "cosine":
        cards = F.normalize(cards)
    scores = (cards @ query).tolist()
    return "tie" if len(set(scores)) == 1 else "ABC"[scores.index(max(scores))]


def temper_multiplier(scores, temperature):
    return torch.softmax((1 / temperature) * scores, -1)


def temper_powers_of_weights(scores, temperature):
    return (scores.log_softmax(-1) / temperature).softmax(-1)


def temper_loop(scores, temperature):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        powers = ((row - row.max()) / temperature).exp()
        rows.append(powers / sum(powers))
    return torch.stack(rows).reshape(scores.shape)


def cosines_pytorch(queries, keys):
    return F.cosine_similarity(queries[:, None], keys[None], dim=-1)


def cosines_normalize(queries, keys):
    return F.normalize(queries) @ F.normalize(keys).T


def cosines_loops(queries, keys):
    def cosine(query, key):
        return (query * key).sum() / ((query**2).sum() * (key**2).sum()).sqrt()

    return torch.stack([torch.stack([cosine(q, k) for k in keys]) for q in queries])


def lookups_einsum(queries, keys, values):
    scores = torch.einsum("id,jd->ij", queries, keys) * keys.size(-1) ** -0.5
    return torch.einsum("ij,jv->iv", F.softmax(scores, dim=-1), values)


def lookups_turned(queries, keys, values):
    by_book = (keys / math.sqrt(keys.size(1)) @ queries.T).softmax(0)
    return (values.T @ by_book).T


RIGHT = {
    "01.lookup": (lookup_matrix, lookup_pytorch, lookup_loop),
    "01.winner": (winner_computed,),
    "01.temperature": (temper_multiplier, temper_powers_of_weights, temper_loop),
    "01.cosine": (cosines_pytorch, cosines_normalize, cosines_loops),
    "01.queries": (lookups_einsum, lookups_turned),
}

# Mutants that are still right: the changed code of each, and why it is right.
EQUIVALENT = {
    "01.lookup": {
        changed(lookup, "dim=0", "dim=-1"): "one question: its scores have one axis, first and last"
    },
    "01.queries": {
        changed(lookups, "keys.size", "queries.size"): "queries are as wide as keys",
        changed(lookups, "size(-1)", "size(+1)"): "the last axis of a matrix is its axis 1",
        changed(lookups, "dim=-1", "dim=+1"): "the last axis of a matrix is its axis 1",
    },
}
