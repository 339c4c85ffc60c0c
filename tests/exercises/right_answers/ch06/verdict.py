"""More right answers to 06.verdict."""

import torch

from attnbook import scaled_dot_product_attention


def verdict_measured(program):
    """Build the program and test it with the chapter's leak detector."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(6, 4, generator=generator)
    w_q, w_k, w_v = torch.randn(3, 4, 4, generator=generator)
    ones = torch.ones(6, 6, dtype=torch.bool)
    causal = ones.tril()

    def attend(x, mask):
        return scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, mask)[0]

    def two_layers(x):
        y = x + attend(x, causal)
        return y + attend(y, causal)

    def scores(x):
        return x @ w_q @ (x @ w_k).mT / 2

    run = {
        "a": lambda x: attend(x, ones.tril(1)),
        "b": lambda x: attend(x, causal & ~ones.tril(-3)),
        "c": lambda x: (scores(x).softmax(-1) * causal) @ (x @ w_v),
        "d": lambda x: scores(x).masked_fill(~causal, -1e9).softmax(-1) @ (x @ w_v),
        "e": two_layers,
        "f": lambda x: attend(x, causal) - attend(x, causal).mean(0),
    }[program]
    if program != "d":  # in double precision even a tiny weight counts
        x, w_q, w_k, w_v = x.double(), w_q.double(), w_k.double(), w_v.double()
    columns, fresh = [], torch.randn(x.shape, generator=generator).to(x)
    for j in range(6):
        other = x.clone()
        other[j] = fresh[j]
        columns.append((run(other) != run(x)).any(-1))
    moved = torch.stack(columns, dim=1)
    if moved.triu(1).any():
        return "leak"
    return "sealed" if moved.tril().equal(causal) else "blind"


RIGHT = (verdict_measured,)
