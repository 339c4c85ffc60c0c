"""Right answers to chapter 5's exercises, and mutated reference solutions that are still right."""

import math

from attnbook import scaled_dot_product_attention
from attnbook.exercises.chapters.ch05.cross import align
from tests.support.mutants import changed


def cross_library(x, context, w_q, w_k, w_v):
    return scaled_dot_product_attention(x @ w_q, context @ w_k, context @ w_v)[0]


def cross_folded(x, context, w_q, w_k, w_v):
    scores = x @ (w_q @ w_k.mT) @ context.mT / math.sqrt(w_k.size(1))
    return scores.softmax(-1) @ context @ w_v


def align_sum(weights):
    return weights.sum(1).max(-1).indices


def align_sorted(weights):
    return weights.mean(1).sort(-1, descending=True).indices[..., 0]


def cost_factored(Lq, Lk, D, Dc, Dk, Dv):
    return Lq * D * Dk + Lk * (Dc + Lq) * (Dk + Dv)


def cost_counted(Lq, Lk, D, Dc, Dk, Dv):
    count = 0
    for _ in range(Lq):
        count += D * Dk + Lk * Dk + Lk * Dv
    for _ in range(Lk):
        count += Dc * (Dk + Dv)
    return count


def maps_view(weights, height, width):
    return weights.transpose(1, 2).reshape(weights.size(0), -1, height, width)


def maps_permute(weights, height, width):
    return weights.unflatten(1, (height, width)).permute(0, 3, 1, 2)


RIGHT = {
    "05.cross": (cross_library, cross_folded),
    "05.align": (align_sum, align_sorted),
    "05.cost": (cost_factored, cost_counted),
    "05.maps": (maps_view, maps_permute),
}

# Mutants that are still right: the changed code of each, and why it is right.
EQUIVALENT = {"05.align": {changed(align, "mean", "sum"): "a sum is the mean times H"}}
