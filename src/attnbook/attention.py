"""Scaled dot-product attention: the one equation the whole book is about."""

import math

import torch
from torch import Tensor

from attnbook.checks import check_attention, check_float_tensor


def softmax(x: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """Turn scores into positive weights that sum to 1 along `dim`, safe from overflow.

    PyTorch's kernel subtracts the largest score of each row, which cancels in the quotient and
    keeps every exponent at or below 0, and it goes over the table once. Where all scores are -inf
    there is nothing to choose from: it gives NaN, here the weights are 0.

    Shapes:  x any shape with a dimension `dim`, floating point
             out  where the weights are written, x itself if you like; not where x needs a gradient
    Returns: the same shape; sums to 1 along `dim`, or to 0 where every score is -inf
    Raises:  TypeError if x is no tensor; ValueError if it is not floating point or lacks `dim`
    Source:  S0, S3 §4.2; Goodfellow et al. 2016, §4.1
    """
    check_float_tensor("x", x)
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim={dim} is out of range for x with {x.dim()} dimensions")
    if x.size(dim) == 0:
        return x.clone()
    nothing = x.narrow(dim, 0, 1) == -math.inf  # a row of -inf begins with one: look there first
    if nothing.any():
        nothing = x.amax(dim, keepdim=True) == -math.inf
    if not nothing.any():
        return torch.softmax(x, dim, out=out)
    weights = torch.softmax(x.masked_fill(nothing, 0.0), dim, out=out)
    return weights.masked_fill(nothing, 0.0) if out is None else out.masked_fill_(nothing, 0.0)


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
    scores = query / math.sqrt(query.size(-1)) @ key.mT  # (..., Lq, Lk)
    if bias is not None:
        scores += bias.to(scores.dtype)
    if mask is not None:
        scores.detach().masked_fill_(~mask, -math.inf)  # detached: weight 0, so gradient 0
    weights = softmax(scores, out=None if scores.requires_grad else scores)  # in place if it may
    output = weights @ value  # (..., Lq, Dv)
    return output.to(dtype), weights.to(dtype)
