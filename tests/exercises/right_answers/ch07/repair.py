"""More right answers to 07.repair."""

import math

import torch


def placed_scores_loop(x, table, w_q, w_k):
    scores = []
    for sentence in x:
        rows = torch.stack([word + table[t] for t, word in enumerate(sentence)])
        scores.append((rows @ w_q) @ (rows @ w_k).T / w_q.size(1) ** 0.5)
    return torch.stack(scores)


def placed_scores_einsum(x, table, w_q, w_k):
    rows = x + table.narrow(0, 0, x.size(1))
    together = w_q @ w_k.T / math.sqrt(w_q.size(-1))
    return torch.einsum("bid,de,bje->bij", rows, together, rows)


RIGHT = (placed_scores_loop, placed_scores_einsum)
