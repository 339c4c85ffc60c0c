"""Wrong answers to 15.batch, each with words of what the reader is told."""

import torch
import torch.nn.functional as F

from attnbook import apply_rotary, scaled_dot_product_attention


def step(x, keep, keys, values, w_q, w_k, w_v, again=False, shift=0, triangle=True, turn="qk"):
    old, new = keys.size(1), x.size(1)
    real = F.pad(keep, (0, new), value=True)
    positions = real.cumsum(1) - 1
    if again:
        keys = apply_rotary(keys, positions[:, :old])
    at = positions[:, old:] + shift
    query, key = x @ w_q, x @ w_k
    query = apply_rotary(query, at) if "q" in turn else query
    key = apply_rotary(key, at) if "k" in turn else key
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


def new_keys_not_rotated(x, keep, keys, values, w_q, w_k, w_v):
    return step(x, keep, keys, values, w_q, w_k, w_v, turn="q")


def queries_not_rotated(x, keep, keys, values, w_q, w_k, w_v):
    return step(x, keep, keys, values, w_q, w_k, w_v, turn="k")


def all_at_one_position(x, keep, keys, values, w_q, w_k, w_v):
    shift = -torch.arange(x.size(1), device=x.device)
    return step(x, keep, keys, values, w_q, w_k, w_v, shift=shift)


def padding_counted(x, keep, keys, values, w_q, w_k, w_v):
    shift = keep.size(1) - 2 * keep.sum(1, keepdim=True)
    return step(x, keep, keys, values, w_q, w_k, w_v, shift=shift)


def as_the_longest(x, keep, keys, values, w_q, w_k, w_v):
    n = keep.sum(1, keepdim=True)
    return step(x, keep, keys, values, w_q, w_k, w_v, shift=n.max() - n)


WRONG = {
    rotated_again: "You rotated the cached keys again.",
    counted_from_one: "Off by one: with n real words in the cache",
    new_keys_not_rotated: "Your new keys are not rotated.",
    queries_not_rotated: "Your queries are not rotated.",
    all_at_one_position: "All your new words are at the same position.",
    padding_counted: "You continue with the number of *padding* slots.",
    as_the_longest: "All sentences continue with the number of words of the longest one.",
    without_a_triangle: "the triangle is missing.",
}
