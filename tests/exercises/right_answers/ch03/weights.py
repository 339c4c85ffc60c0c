"""Right answers to chapter 3's exercises, and mutated reference solutions that are still right."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from attnbook.exercises.chapters.ch03.weights import attend, my_scores
from tests.support.mutants import changed


def scores_loop(query, key):
    rows = [(query[..., i, None, :] * key).sum(-1) for i in range(query.size(-2))]
    return torch.stack(rows, dim=-2) / query.size(-1) ** 0.5


def scores_broadcast(query, key):
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1).div(math.sqrt(key.size(-1)))


def weights_any_shift(scores):
    shift = scores.max(dim=-1, keepdim=True).values.detach() + 3
    powers = torch.exp(scores - shift)
    return torch.einsum("...k,...->...k", powers, 1 / powers.sum(-1))


def weights_loop(scores):
    rows = []
    for row in scores.reshape(-1, scores.size(-1)):
        powers = torch.exp(row - max(row))
        rows.append(powers / sum(powers))
    return torch.stack(rows).reshape(scores.shape)


def read_computed(question):
    words = ["Life", "is", "short", "eat"]
    weights = torch.tensor(
        [[0.10, 0.20, 0.60, 0.10], [0.25] * 4, [0.05, 0.80, 0.05, 0.10], [0.40, 0.10, 0.30, 0.20]]
    )
    place = {
        "a": weights[0].argmax(),
        "b": weights[:, 2].argmax(),
        "c": weights.std(dim=1).argmin(),
        "d": weights.sum(dim=0).argmax(),
    }[question]
    return words[place]


def attend_loop(query, key, value):
    rows = []
    for i in range(query.size(-2)):
        scores = (query[..., i : i + 1, :] * key).sum(-1) / query.size(-1) ** 0.5
        rows.append((scores.softmax(-1)[..., None] * value).sum(-2))
    return torch.stack(rows, dim=-2)


def attend_einsum(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.size(-1) ** -0.5
    return torch.einsum("...qk,...kv->...qv", F.softmax(scores, -1), value)


def scores_in_float32(query, key):
    return (query @ key.mT / math.sqrt(key.size(-1))).float()


def push_back_loop(weights, d_weights):
    rows = []
    for a, g in zip(weights.flatten(0, -2), d_weights.flatten(0, -2), strict=True):
        rows.append(a * (g - a.dot(g)))
    return torch.stack(rows).view_as(weights)


def push_back_autograd(weights, d_weights):
    scores = weights.clamp_min(1e-300).log().requires_grad_()  # one choice of scores
    return torch.autograd.grad(scores.softmax(-1), scores, d_weights)[0]


def divides_by_two_widths(head):
    """Use four times as many keys, then twice the width, and see what changes."""

    def divisor(d_k, n_keys):
        query, key = torch.zeros(1, d_k), torch.zeros(n_keys, d_k)
        query[0, 0], key[1, 0] = 3.0, 2.0
        value = torch.arange(float(n_keys))[:, None] == 1
        weight = head(query, key, value.float()).item()
        return 6 / math.log(weight / ((1 - weight) / (n_keys - 1)))

    if divisor(8, 16) > 1.1 * divisor(8, 4):
        return "root of Lk"
    growth = divisor(16, 4) / divisor(8, 4)
    return "nothing" if growth < 1.1 else "Dk" if growth > 1.9 else "root of Dk"


def divides_by_numpy(head):
    size = torch.ones(1, 7) / 7**0.5  # its dot product with itself is 1
    keys = torch.cat((size, torch.zeros(4, 7)))
    weights = head(size, keys, torch.eye(5)).numpy()[0]
    divisor = 1 / np.log(weights[0] / weights[1:].mean())
    named = {1: "nothing", 7: "Dk", 7**0.5: "root of Dk", 5**0.5: "root of Lk"}
    return named[min(named, key=lambda d: abs(d - divisor))].upper()


RIGHT = {
    "03.scores": (scores_loop, scores_broadcast, scores_in_float32),
    "03.map": (read_computed,),
    "03.weights": (weights_any_shift, weights_loop),
    "03.repair": (attend_loop, attend_einsum),
    "03.backward": (push_back_loop, push_back_autograd),
    "03.experiment": (divides_by_two_widths, divides_by_numpy),
}

# Mutants that are still right: the changed code of each, and why it is right.
EQUIVALENT = {
    "03.scores": {changed(my_scores, "(query.size", "(key.size"): "keys are as wide as queries"},
    "03.repair": {changed(attend, "(query.size", "(key.size"): "keys are as wide as queries"},
}
