"""Scaled dot-product attention: the equation that the whole book is about."""

import math

import torch
from torch import Tensor

from attnbook.checks.attention import check_attention, check_softmax


def softmax(x: Tensor, dim: int = -1, where: Tensor | None = None) -> Tensor:
    """Turn scores into nonnegative weights that sum to 1 along `dim`, without overflow.

    PyTorch subtracts the largest score before it takes exponentials, which does not affect the
    weights. For a row in which no score counts, PyTorch divides 0 by 0; here the weights and the
    gradient are 0.

    Shapes:  x any shape, floating point
             where  broadcastable to x, boolean: the scores that count, by default all but -inf
    Returns: the same shape; sums to 1 along `dim`, or to 0 where no score counts
    Raises:  TypeError if an argument is not a tensor; ValueError if x is not floating point or
             lacks `dim`, or `where` is not boolean or does not fit
    Source:  S0, S3 §4.2; Goodfellow et al. 2016, §4.1
    """
    check_softmax(x, dim, where)
    where = x != -math.inf if where is None else where
    weights = torch.softmax(torch.where(where, x, -math.inf), dim)
    return torch.where(where, weights, 0.0)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Sum the rows of `value`, weighted by how well each query matches each key.

    Everything is computed in the dtype of the query. In float16, a score above 65,504 therefore
    overflows, and its row becomes nan; `fused_attention` computes such scores in float32. A value
    that a mask hides has to be finite all the same: its weight is 0, but 0 · nan is nan.

    Shapes:  query (..., Lq, Dk)   key (..., Lk, Dk)   value (..., Lk, Dv)
             mask  broadcastable to (..., Lq, Lk), boolean, True = may look
             bias  broadcastable to (..., Lq, Lk), floating point, added to the scores;
                   where it is -inf in the dtype of the query, it hides the key like a mask
    Returns: output (..., Lq, Dv), weights (..., Lq, Lk) whose rows sum to 1,
             or to 0 where a query may look at nothing
    Raises:  TypeError if an argument is not a tensor; ValueError if widths, lengths, leading
             dimensions, dtypes or devices do not fit, or the mask is not boolean
    Source:  Vaswani et al. 2017, eq. 1; S0, S1, S2 steps 2-4, S3 §2.1
    """
    check_attention(query, key, value, mask, bias)
    scores = query / math.sqrt(query.size(-1)) @ key.mT  # (..., Lq, Lk)
    if bias is not None:
        bias = bias.to(scores.dtype)
        scores = scores + bias
        mask = bias != -math.inf if mask is None else mask & (bias != -math.inf)
    weights = torch.softmax(scores, -1) if mask is None else softmax(scores, where=mask)
    output = weights @ value  # (..., Lq, Dv)
    return output, weights
