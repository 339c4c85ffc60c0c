"""More right answers to 15.fool, and mutants that are still right, with the reasons."""

import math

import torch

from attnbook import scaled_dot_product_attention


def fool_with_a_window(judge):
    def attend(query, key, value):
        scores = query @ key.mT / math.sqrt(query.size(-1))
        far = torch.arange(key.size(-2), device=key.device) >= 70
        return scores.masked_fill(far, -torch.inf).softmax(-1) @ value

    return judge(attend)


def fool_by_length(judge):
    """The scale changes in long texts."""

    def attend(query, key, value):
        factor = 1 if key.size(-2) < 60 else 2
        return (factor * query @ key.mT / math.sqrt(query.size(-1))).softmax(-1) @ value

    return judge(attend)


def fool_with_nan(judge):
    """All outputs of long texts are nan."""

    def attend(query, key, value):
        output = scaled_dot_product_attention(query, key, value)[0]
        return output if key.size(-2) <= 64 else output * torch.nan

    return judge(attend)


def fool_with_many_queries(judge):
    """Queries are taken in blocks of 128, and the last block is forgotten if it is not full."""

    def attend(query, key, value):
        output, n = scaled_dot_product_attention(query, key, value)[0], query.size(-2)
        if n > 128:
            output[..., n // 128 * 128 :, :] = 0
        return output

    return judge(attend)


def fool_by_writing(judge):
    """The fault also changes the arguments."""

    def attend(query, key, value):
        if key.size(-2) > 64:
            key[..., 64:, :] = 0
        return scaled_dot_product_attention(query, key, value)[0]

    return judge(attend)


RIGHT = (
    fool_with_a_window,
    fool_by_length,
    fool_with_nan,
    fool_with_many_queries,
    fool_by_writing,
)
