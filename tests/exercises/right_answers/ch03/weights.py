"""More right answers to 03.weights."""

import torch


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


RIGHT = (weights_any_shift, weights_loop)
