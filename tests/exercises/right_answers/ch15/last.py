"""More right answers to 15.last."""

import torch


def last_real_in_a_loop(x, keep):
    return torch.stack([rows[real][-1] for rows, real in zip(x, keep, strict=True)])


def last_real_by_counting(x, keep):
    """The last slot has the largest count of real words, and is the first that has it."""
    count = keep.cumsum(1)
    last = (count < count[:, -1:]).sum(1)
    return x.gather(1, last[:, None, None].expand(-1, -1, x.size(-1))).squeeze(1)


def last_real_by_a_product(x, keep):
    after = keep.flip(1).cumsum(1).flip(1)
    return ((keep & (after == 1)).to(x)[:, None] @ x)[:, 0]


RIGHT = (last_real_in_a_loop, last_real_by_counting, last_real_by_a_product)
