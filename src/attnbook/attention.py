"""Scaled dot-product attention: the one equation the whole book is about."""

import math

import torch
from torch import Tensor

from attnbook.checks import check_attention, check_float_tensor


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Turn scores into positive weights that sum to 1 along `dim`, safe from overflow.

    Subtracting the largest score changes nothing, since it cancels in the quotient, and keeps
    every exponent at or below 0. Where all scores are -inf there is nothing to choose from and
    the weights are 0, not NaN.

    Shapes:  x any shape with a dimension `dim`, floating point
    Returns: the same shape; sums to 1 along `dim`, or to 0 where every score is -inf
    Raises:  TypeError if x is no tensor; ValueError if it is not floating point or lacks `dim`
    Source:  S0, S3 §4.2; Goodfellow et al. 2016, §4.1
    """
    check_float_tensor("x", x)
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim={dim} is out of range for x with {x.dim()} dimensions")
    if x.size(dim) == 0:
        return x.clone()
    largest = x.detach().amax(dim, keepdim=True)
    largest = largest.masked_fill(largest == -math.inf, 0.0)
    exponentials = (x - largest).exp()
    total = exponentials.sum(dim, keepdim=True)
    return exponentials / total.masked_fill(total == 0, 1.0)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Mix the rows of `value`, weighted by how well each query matches each key.

    Half-precision inputs are computed in float32 and rounded once at the end, because a dot
    product of two ordinary rows can exceed 65,504, the largest float16.

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
    dtype = query.dtype
    if dtype in (torch.float16, torch.bfloat16):
        query, key, value = query.float(), key.float(), value.float()
    scores = query @ key.mT / math.sqrt(query.size(-1))  # (..., Lq, Lk)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores, dim=-1)
    output = weights @ value  # (..., Lq, Dv)
    return output.to(dtype), weights.to(dtype)
