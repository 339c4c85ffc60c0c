"""Wrong answers to 11.share, each with words of what the reader is told."""

from attnbook import scaled_dot_product_attention


def values_by_turns(query, key, value):
    n = query.size(-3) // key.size(-3)
    turns = value.repeat(*[1] * (value.dim() - 3), n, 1, 1)
    return scaled_dot_product_attention(query, key.repeat_interleave(n, -3), turns)[0]


WRONG = {values_by_turns: "The keys are right, but the values are repeated in another order"}
