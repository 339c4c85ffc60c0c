"""More right answers to 14.absorb, and mutants that are still right, with the reasons."""

import torch

from attnbook import scaled_dot_product_attention
from attnbook.exercises.chapters.ch14.absorb import absorbed
from tests.support.mutants import changed


def absorbed_head_by_head(query, latents, w_k, w_v):
    outputs = []
    for h in range(query.size(-3)):
        scores = query[..., h, :, :] @ w_k[h].T @ latents.mT * query.size(-1) ** -0.5
        outputs.append(scores.softmax(-1) @ latents @ w_v[h])
    return torch.stack(outputs, dim=-3)


def absorbed_by_the_library(query, latents, w_k, w_v):
    moved = query @ w_k.mT * (latents.size(-1) / query.size(-1)) ** 0.5
    rows = latents.unsqueeze(-3)
    return scaled_dot_product_attention(moved, rows, rows)[0] @ w_v


def absorbed_by_einsum(query, latents, w_k, w_v):
    scores = torch.einsum("...hqd,hcd,...kc->...hqk", query, w_k, latents)
    weights = (scores / query.size(-1) ** 0.5).softmax(-1)
    return torch.einsum("...hqk,...kc,hcd->...hqd", weights, latents, w_v)


RIGHT = (absorbed_head_by_head, absorbed_by_the_library, absorbed_by_einsum)

EQUIVALENT = {changed(absorbed, "math.sqrt(query", "math.sqrt(w_k"): "w_k is as wide as queries"}
