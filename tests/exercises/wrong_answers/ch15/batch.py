"""Wrong answers to 15.batch, each with words of what the reader is told."""

import torch.nn.functional as F

from attnbook import apply_rotary, scaled_dot_product_attention


def step(x, keep, keys, values, w_q, w_k, w_v, again=False, shift=0, triangle=True):
    old, new = keys.size(1), x.size(1)
    real = F.pad(keep, (0, new), value=True)
    positions = real.cumsum(1) - 1
    if again:
        keys = apply_rotary(keys, positions[:, :old])
    at = positions[:, old:] + shift
    query, key = apply_rotary(x @ w_q, at), apply_rotary(x @ w_k, at)
    keys, values = F.pad(keys, (0, 0, 0, new)), F.pad(values, (0, 0, 0, new))
    keys[:, old:], values[:, old:] = key, x @ w_v
    mask = real[:, None].expand(-1, new, -1)
    mask = mask.tril(old) if triangle else mask
    return scaled_dot_product_attention(query, keys, values, mask)[0]


def rotated_again(x, keep, keys, values, w_q, w_k, w_v):
    return step(x, keep, keys, values, w_q, w_k, w_v, again=True)


def counted_from_one(x, keep, keys, values, w_q, w_k, w_v):
    return step(x, keep, keys, values, w_q, w_k, w_v, shift=1)


def without_a_triangle(x, keep, keys, values, w_q, w_k, w_v):
    return step(x, keep, keys, values, w_q, w_k, w_v, triangle=False)


WRONG = {
    rotated_again: "You rotated the cached keys again.",
    counted_from_one: "Off by one: with n real words in the cache",
    without_a_triangle: "the triangle is missing.",
}
