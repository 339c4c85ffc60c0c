"""More right answers to 11.share, and mutants that are still right, with the reasons."""

import torch
import torch.nn.functional as F

from attnbook import scaled_dot_product_attention
from attnbook.exercises.chapters.ch11.share import grouped
from tests.support.mutants import changed


def grouped_by_index(query, key, value):
    group = torch.arange(query.size(-3)) // (query.size(-3) // key.size(-3))
    return scaled_dot_product_attention(query, key[..., group, :, :], value[..., group, :, :])[0]


def grouped_one_by_one(query, key, value):
    shared = query.size(-3) // key.size(-3)
    outputs = []
    for h in range(query.size(-3)):
        k, v = key[..., h // shared, :, :], value[..., h // shared, :, :]
        scores = query[..., h, :, :] @ k.mT * query.size(-1) ** -0.5
        outputs.append(scores.softmax(-1) @ v)
    return torch.stack(outputs, dim=-3)


def grouped_expanded(query, key, value):
    def shared(x):
        n = query.size(-3) // x.size(-3)
        return torch.stack([x] * n, dim=-3).flatten(-4, -3)

    return F.scaled_dot_product_attention(query, shared(key), shared(value))


RIGHT = (grouped_by_index, grouped_one_by_one, grouped_expanded)

EQUIVALENT = {
    changed(grouped, "// key", "// value"): "as many heads of values as of keys",
    changed(grouped, "math.sqrt(query", "math.sqrt(key"): "queries as wide as keys",
}
