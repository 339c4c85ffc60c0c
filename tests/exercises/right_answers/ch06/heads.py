"""Right answers to chapter 6's exercises."""

import torch

from attnbook import scaled_dot_product_attention
from attnbook.attention.masks import causal_mask, combine_masks, padding_mask
from attnbook.attention.scaled_dot_product import softmax


def causal_loop(n_queries, n_keys):
    mask = torch.zeros(n_queries, n_keys, dtype=torch.bool)
    for i in range(n_queries):
        mask[i, : n_keys - n_queries + i + 1] = True
    return mask


def causal_hidden(n_queries, n_keys):
    return ~torch.ones(n_queries, n_keys).triu(n_keys - n_queries + 1).bool()


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


def weights_library(scores, mask):
    return softmax(scores.masked_fill(~mask, -torch.inf))


def weights_billion_and_product(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1) * mask


def weights_loop(scores, mask):
    mask = mask.expand(scores.shape).flatten(0, -2)
    rows = []
    for row, seen in zip(scores.flatten(0, -2), mask, strict=True):
        made = torch.zeros_like(row)
        made[seen] = row[seen].softmax(0)
        rows.append(made)
    return torch.stack(rows).view_as(scores)


def may_look_library(lengths, length):
    causal = causal_mask(length).to(lengths.device)
    return combine_masks(causal, padding_mask(lengths, length).flip(-1))[:, None]


def may_look_loop(lengths, length):
    mask = torch.zeros(len(lengths), 1, length, length, dtype=torch.bool, device=lengths.device)
    for b, n in enumerate(lengths.tolist()):
        for i in range(length):
            mask[b, 0, i, length - n : i + 1] = True
    return mask


def for_pytorch_repeat(mask, n_heads):
    if mask.size(1) == 1:
        mask = mask.repeat_interleave(n_heads, dim=1)
    return ~mask.reshape(-1, *mask.shape[2:])


def for_pytorch_interleave(mask, n_heads):
    per_sentence = n_heads // mask.size(1)
    return (mask == 0).flatten(0, 1).repeat_interleave(per_sentence, dim=0)


def reach_word_by_word(layer):
    """Change each word in turn, and keep the largest distance to an output that changes."""
    x, furthest = torch.zeros(20, 3), 0
    for j in range(20):
        other = x.clone()
        other[j] += 1
        for i in range(j, 20):
            if not torch.equal(layer(other)[i], layer(x)[i]):
                furthest = max(furthest, i - j)
    return furthest


def reach_all(layer):
    x = torch.rand(15, 5, generator=torch.Generator().manual_seed(1))
    others = [x.index_fill(0, torch.tensor(j), 0.0) for j in range(15)]
    moved = torch.stack([(layer(other) != layer(x)).any(-1) for other in others])
    at, by = moved.mT.nonzero(as_tuple=True)
    return (at - by).max()


RIGHT = {
    "06.causal": (causal_loop, causal_hidden),
    "06.verdict": (verdict_measured,),
    "06.weights": (weights_library, weights_billion_and_product, weights_loop),
    "06.heads": (may_look_library, may_look_loop),
    "06.pytorch": (for_pytorch_repeat, for_pytorch_interleave),
    "06.experiment": (reach_word_by_word, reach_all),
}
