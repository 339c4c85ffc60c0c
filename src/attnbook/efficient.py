"""Attention that costs less: a kernel that keeps no table, a window, and a sum without a softmax.

Every function has the call of `scaled_dot_product_attention` and fits `attend=`; the weights are
None, since they never exist as a whole. See also `chunked` and `blocked`.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.attention import scaled_dot_product_attention
from attnbook.checks import (
    check_attention,
    check_causal,
    check_one_sequence,
    check_size,
    shape,
)
from attnbook.chunked import part, pieces
from attnbook.masks import causal_mask

STEP = 64  # the queries that causal linear attention takes at once


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    causal: bool = False,
) -> tuple[Tensor, None]:
    """`scaled_dot_product_attention` by PyTorch's kernel, which does all in one go.

    `causal=True` is the causal mask without its table: the kernel skips what lies above the
    diagonal. A mask that is that triangle is recognized. A query that may look at nothing gets
    zeros, whatever the kernel of the day makes of it.

    Shapes:  as in `scaled_dot_product_attention`
    Returns: output (..., Lq, Dv), None
    Raises:  as there; ValueError if causal and a mask is given or Lq != Lk
    Source:  Dao et al. 2022
    """
    check_attention(query, key, value, mask, bias)
    check_causal(causal, query, key, mask)
    causal = causal or _is_triangle(mask, query.size(-2), key.size(-2))
    if bias is None and (causal or mask is None):
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal), None
    if causal:
        mask = causal_mask(query.size(-2)).to(query.device)
    added = query.new_zeros(1, 1) if bias is None else torch.atleast_2d(bias.to(query.dtype))
    if mask is not None:
        added = added.masked_fill(~mask, -math.inf)
    nothing = (added == -math.inf).all(-1, keepdim=True)  # (..., Lq, 1)
    output = F.scaled_dot_product_attention(query, key, value, added.masked_fill(nothing, 0.0))
    return output.masked_fill(nothing, 0.0), None


def _is_triangle(mask: Tensor | None, lq: int, lk: int) -> bool:
    if mask is None or lq != lk or mask.shape != (lq, lk):
        return False
    return mask.equal(torch.ones_like(mask).tril_())


def window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    window: int,
) -> tuple[Tensor, None]:
    """Attention under `sliding_window_mask(L, window)` that computes the band and nothing else.

    A piece of queries meets the keys from `window` places before it to `window` places behind it,
    so time grows with L · window, and so does what is kept for a gradient.

    Shapes:  as in `scaled_dot_product_attention`, Lq = Lk = L; mask and bias come on top
    Returns: output (..., L, Dv), None
    Raises:  as there; ValueError if Lq != Lk or window is negative
    Source:  Beltagy et al. 2020 (Longformer), §3.1; S3 §4.1
    """
    check_attention(query, key, value, mask, bias)
    check_size("window", window, at_least=0)
    check_one_sequence(query, key, "a window")
    position = torch.arange(query.size(-2), device=query.device)
    outputs = []
    for rows in pieces(len(position), max(window, 64)):
        keys = slice(max(rows.start - window, 0), rows.stop + window)
        allowed = (position[rows, None] - position[keys]).abs() <= window
        if mask is not None:
            allowed = allowed & part(mask, rows, keys)
        added = None if bias is None else part(bias, rows, keys)
        q, k, v = query[..., rows, :], key[..., keys, :], value[..., keys, :]
        outputs.append(scaled_dot_product_attention(q, k, v, allowed, added)[0])
    return torch.cat(outputs, dim=-2), None


def linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    causal: bool = False,
) -> tuple[Tensor, None]:
    """Weights φ(q)·φ(k) over their sum, with φ(x) = elu(x) + 1 > 0, in the cheap order.

    No softmax stands between the two products, so φ(K)ᵀV can come first: Dk × Dv numbers, however
    long the sequence. With `causal=True` these are a running sum, and each query meets the sum of
    the keys so far. (A column of ones behind the values gives the sums to divide by.)

    Shapes:  query (..., Lq, Dk)   key (..., Lk, Dk)   value (..., Lk, Dv)
             mask  (..., 1, Lk), one for all queries, boolean, True = may look; no bias
    Returns: output (..., Lq, Dv), None; zeros where no key may be looked at
    Raises:  as `scaled_dot_product_attention`; ValueError for a bias or a mask that differs from
             query to query, or if causal and Lq != Lk
    Source:  Katharopoulos et al. 2020; S3 §6
    """
    check_attention(query, key, value, mask, bias)
    check_causal(causal, query, key, None)
    if bias is not None:
        raise ValueError("bias was given: linear attention has no scores to add it to")
    if mask is not None and mask.dim() > 1 and mask.size(-2) > 1:
        raise ValueError(
            f"mask of shape {shape(mask)} differs from query to query: linear attention sums the "
            "keys once for all, so it takes (..., 1, Lk); for a causal mask say causal=True"
        )
    dtype = query.dtype
    wide = torch.promote_types(dtype, torch.float32)
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    query, key = F.elu(query) + 1, F.elu(key) + 1
    if mask is not None:
        key = key * torch.atleast_2d(mask).mT  # a key that is 0 adds nothing to a sum
    value = F.pad(value, (0, 1), value=1.0)  # (..., Lk, Dv + 1)
    mixed = _running(query, key, value) if causal else query @ (key.mT @ value)
    output, total = mixed[..., :-1], mixed[..., -1:]
    return (output / total.masked_fill(total == 0, 1.0)).to(dtype), None


def _running(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Σ (q_i · k_j) v_j over j <= i: a state of all keys before, a triangle among those at hand."""
    state = query.new_zeros(query.size(-1), value.size(-1))  # (Dk, Dv), later (..., Dk, Dv)
    mixed = []
    for q, k, v in zip(*(x.split(STEP, -2) for x in (query, key, value)), strict=True):
        mixed.append(q @ state + (q @ k.mT).tril() @ v)
        state = state + k.mT @ v
    return torch.cat(mixed, -2)
