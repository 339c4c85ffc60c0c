"""Wrong answers to 14.chosen, each with words of what the reader is told."""

import torch

from attnbook import scaled_dot_product_attention


def sorted_once(query, key, value, index, k):
    rank = index.argsort(descending=True)
    scores = query @ key.mT / query.size(-1) ** 0.5
    return scores.masked_fill(rank >= k, -torch.inf).softmax(-1) @ value


def one_too_few(query, key, value, index, k):
    last = index.topk(k).values[..., -1:]
    scores = query @ key.mT / query.size(-1) ** 0.5
    return scores.masked_fill(index <= last, -torch.inf).softmax(-1) @ value


def by_bias(query, key, value, index, k):
    smallest = index.topk(k).values[..., -1:]
    return scaled_dot_product_attention(query, key, value, ~(index >= smallest))[0]


WRONG = {
    sorted_once: "`argsort` says which key is first, second and so on",
    one_too_few: "You attend to one key too few.",
    by_bias: "You hid the chosen keys and kept the others.",
}
