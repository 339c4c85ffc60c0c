"""Wrong answers to 11.slopes, each with words of what the reader is told."""

import torch


def with_slopes(slopes, lq, lk):
    at = torch.arange(lk)
    return -slopes[:, None, None] * (at[lk - lq :, None] - at).abs()


def in_reverse(n_heads, lq, lk):
    return with_slopes(2.0 ** (-8 * torch.arange(n_heads, 0, -1) / n_heads), lq, lk)


def powers_of_e(n_heads, lq, lk):
    return with_slopes(torch.exp(-8 * torch.arange(1, n_heads + 1) / n_heads), lq, lk)


WRONG = {
    in_reverse: "Your slopes are in reverse order.",
    powers_of_e: "You raised e to the power.",
}
