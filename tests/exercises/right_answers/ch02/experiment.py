"""More right answers to 02.experiment."""

import itertools

import numpy as np
import torch


def notices_order_by_chance(summary):
    """Shuffle a long sentence many times."""
    x = torch.randn(9, 4, dtype=torch.float64)
    first = summary(x)
    return any((summary(x[torch.randperm(9)]) - first).abs().max() > 1e-9 for _ in range(30))


def notices_order_by_swaps(summary):
    """Every permutation is a product of swaps: if no swap has an effect, no permutation does."""
    x = torch.rand(6, 7).double()
    pairs = itertools.combinations(range(6), 2)

    def swapped(i, j):
        order = list(range(6))
        order[i], order[j] = j, i
        return x[order]

    same = [torch.allclose(summary(swapped(i, j)), summary(x), rtol=1e-9) for i, j in pairs]
    return not all(same)


def notices_order_many_sentences(summary):
    for _ in range(20):
        x, order = torch.randn(6, 3), torch.randperm(6)
        if not np.allclose(summary(x), summary(x[order]), rtol=1e-4, atol=1e-5):
            return np.bool_(True)
    return np.bool_(False)


RIGHT = (
    notices_order_by_chance,
    notices_order_by_swaps,
    notices_order_many_sentences,
)
