"""Scaled dot-product attention: the one equation the whole book is about."""

import math

import torch
from torch import Tensor

from attnbook.checks import check_attention, check_dim, check_float_tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Turn scores into positive weights that sum to 1 along `dim`, without overflow.

    PyTorch subtracts the largest score before it takes exponentials, which changes no weight. Where
    every score is -inf it would divide 0 by 0; here those weights are 0, and so is their gradient.

    Shapes:  x any shape with at least one score along `dim`, floating point
    Returns: the same shape; sums to 1 along `dim`, or to 0 where every score is -inf
    Raises:  TypeError if x is no tensor; ValueError if it is not floating point or lacks `dim`
    Source:  S0, S3 §4.2; Goodfellow et al. 2016, §4.1
    """
    check_float_tensor("x", x)
    check_dim("x", x, dim)
    empty = (x == -math.inf).all(dim, keepdim=True)
    weights = torch.softmax(torch.where(empty, 0.0, x), dim)
    return torch.where(empty, 0.0, weights)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mix the rows of `value`, weighted by how well each query matches each key.

    Shapes:  query (..., Lq, Dk)   key (..., Lk, Dk)   value (..., Lk, Dv)
             mask  broadcastable to (..., Lq, Lk), boolean, True = may look
             bias  broadcastable to (..., Lq, Lk), floating point, added to the scores
    Returns: output (..., Lq, Dv), weights (..., Lq, Lk) whose rows sum to 1,
             or to 0 where a query may look at nothing
    Raises:  TypeError for what is no tensor; ValueError if widths, lengths, leading dimensions,
             dtypes or devices do not fit, or the mask is not boolean
    Source:  Vaswani et al. 2017, eq. 1; S0, S1, S2 steps 2-4, S3 §2.1
    """
    check_attention(query, key, value, mask, bias)
    scores = query / math.sqrt(query.size(-1)) @ key.mT  # (..., Lq, Lk)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = torch.where(mask, scores, -math.inf)
    no_row_is_empty = mask is None and bias is None
    weights = torch.softmax(scores, -1) if no_row_is_empty else softmax(scores)  # (..., Lq, Lk)
    output = weights @ value  # (..., Lq, Dv)
    return output, weights
