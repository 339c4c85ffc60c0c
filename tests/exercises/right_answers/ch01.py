"""Right answers to chapter 1's exercises, and mutated reference solutions that are still right."""

import math

import torch
import torch.nn.functional as F


def lookup_matrix(query, keys, values):
    s = keys @ query
    a = torch.exp(s) / torch.exp(s).sum()
    return a @ values


def lookup_einsum(query, keys, values):
    weights = torch.einsum("d,jd->j", query, keys).softmax(0)
    return torch.einsum("j,jv->v", weights, values)


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


def winner_ifs(what):
    if what == "mute":
        return "Tie"
    if what == "flip":
        return "C"
    return "A" if what == "cosine" else "B"


def winner_small_letters(what):
    return {"dot": "b", "cosine": "a", "shout": "b", "flip": "c", "mute": "tie"}[what]


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


def experiment_ifs(claim):
    if claim in ("fading", "queue"):
        return "B"
    return "A" if claim == "distance" else "C"


def experiment_small_letters(claim):
    return {"fading": "b", "kind": "c", "distance": "a", "crowd": "c", "queue": "b"}[claim]


def experiment_pairs(claim):
    claims = ["fading", "kind", "distance", "crowd", "queue"]
    return "BCACB"[claims.index(claim)]


RIGHT = {
    "01.lookup": (lookup_matrix, lookup_einsum, lookup_pytorch, lookup_loop),
    "01.winner": (winner_computed, winner_ifs, winner_small_letters),
    "01.temperature": (
        temper_multiplier,
        temper_powers_of_weights,
        temper_loop,
    ),
    "01.cosine": (cosines_pytorch, cosines_normalize, cosines_loops),
    "01.queries": (lookups_einsum, lookups_turned),
    "01.experiment": (experiment_ifs, experiment_small_letters, experiment_pairs),
}

# Mutants that are still right: the changed code of each, and why it is right.
EQUIVALENT = {
    "01.lookup": {
        "def lookup(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:\n"
        "    weights = (keys @ query).softmax(dim=-1)\n"
        "    return weights @ values": "one question: its scores have one axis, the first and last",
    },
    "01.queries": {
        "def lookups(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:\n"
        "    scores = queries @ keys.T / math.sqrt(queries.size(-1))\n"
        "    return scores.softmax(dim=-1) @ values": "queries are as wide as keys",
        "def lookups(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:\n"
        "    scores = queries @ keys.T / math.sqrt(keys.size(+1))\n"
        "    return scores.softmax(dim=-1) @ values": "the last axis of a matrix is its axis 1",
        "def lookups(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:\n"
        "    scores = queries @ keys.T / math.sqrt(keys.size(-1))\n"
        "    return scores.softmax(dim=+1) @ values": "the last axis of a matrix is its axis 1",
    },
}
