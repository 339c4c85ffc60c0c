"""More right answers to 11.pairs."""

import torch


def pairs_stacked(weight, n_heads):
    first, second = weight.view(n_heads, -1, weight.size(-1)).chunk(2, dim=1)
    return torch.stack((first, second), dim=2).reshape(weight.shape)


def pairs_by_index(weight, n_heads):
    width = len(weight) // n_heads
    k = torch.arange(width)
    order = k // 2 + k % 2 * (width // 2)
    rows = torch.arange(n_heads)[:, None] * width + order
    return weight[rows.flatten()]


def pairs_with_a_matrix(weight, n_heads):
    width = len(weight) // n_heads
    turn = torch.zeros(width, width, dtype=weight.dtype, device=weight.device)
    for k in range(width // 2):
        turn[2 * k, k] = turn[2 * k + 1, k + width // 2] = 1
    return torch.block_diag(*[turn] * n_heads) @ weight


RIGHT = (pairs_stacked, pairs_by_index, pairs_with_a_matrix)
