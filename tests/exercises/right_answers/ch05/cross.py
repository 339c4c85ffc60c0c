"""More right answers to 05.cross."""

import math

from attnbook import scaled_dot_product_attention


def cross_library(x, context, w_q, w_k, w_v):
    return scaled_dot_product_attention(x @ w_q, context @ w_k, context @ w_v)[0]


def cross_folded(x, context, w_q, w_k, w_v):
    scores = x @ (w_q @ w_k.mT) @ context.mT / math.sqrt(w_k.size(1))
    return scores.softmax(-1) @ context @ w_v


RIGHT = (cross_library, cross_folded)
