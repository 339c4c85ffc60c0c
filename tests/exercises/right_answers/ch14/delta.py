"""More right answers to 14.delta, and mutants that are still right, with the reasons."""

import torch

from attnbook import delta_rule
from attnbook.exercises.chapters.ch14.delta import my_delta
from tests.support.mutants import changed


def delta_of_the_library(query, key, value, beta):
    return delta_rule(query, key, value, beta)[0]


def delta_by_einsum(query, key, value, beta):
    state = torch.zeros(*key.shape[:-2], key.size(-1), value.size(-1)).to(key)
    outputs = []
    for q, k, v, b in zip(
        query.unbind(-2), key.unbind(-2), value.unbind(-2), beta.unbind(-1), strict=True
    ):
        held = torch.einsum("...k,...kv->...v", k, state)
        written = b[..., None] * (v - held)
        state = state + torch.einsum("...k,...v->...kv", k, written)
        outputs.append(torch.einsum("...k,...kv->...v", q, state))
    return torch.stack(outputs, -2)


def delta_by_a_matrix(query, key, value, beta):
    """S_t = (1 − β kᵀk) S_{t−1} + β kᵀv, with the matrix on the left."""
    one = torch.eye(key.size(-1)).to(key)
    state, outputs = 0 * (key[..., 0, :, None] * value[..., 0, None, :]), []
    for t in range(key.size(-2)):
        k, v, b = key[..., t, :, None], value[..., t, None, :], beta[..., t, None, None]
        state = (one - b * k @ k.mT) @ state + b * k @ v
        outputs.append(query[..., t, None, :] @ state)
    return torch.cat(outputs, -2)


RIGHT = (delta_of_the_library, delta_by_einsum, delta_by_a_matrix)

EQUIVALENT = {
    changed(my_delta, ", strict=True", ""): "all have as many words",
    changed(my_delta, "strict=True", "strict=False"): "all have as many words",
}
