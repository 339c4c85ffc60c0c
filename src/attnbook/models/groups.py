"""Attention in which groups of query heads share key heads, without copying a cache."""

from typing import Any

import torch
from torch import Tensor

from attnbook.attention.multi_head import Attend
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.efficient.blocked import blocked_attention
from attnbook.efficient.fused import fused_attention

# Without options, these treat every query alike, wherever it is.
IGNORE_POSITIONS = (scaled_dot_product_attention, blocked_attention, fused_attention)


def attend_in_groups(
    attend: Attend,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
) -> tuple[Tensor, Any]:
    """Attend with several query heads per key head.

    With a cache, a few new queries attend to many keys. The queries of a group then become the rows
    of one matrix, and no key is copied. But a rule such as `causal=True` would mistake these rows
    for successive positions, so only the functions in IGNORE_POSITIONS receive them. For all
    others, and for a whole text, keys and values are copied for each query head.

    Shapes:  query (..., H, L, Dk)   key (..., Hkv, Lk, Dk)   value (..., Hkv, Lk, Dv)
             mask, bias broadcastable to (..., H, L, Lk)
    Returns: output (..., H, L, Dv), weights (..., H, L, Lk)
    """
    n_heads, length, n_kv_heads = query.size(-3), query.size(-2), key.size(-3)
    group = n_heads // n_kv_heads
    if group == 1 or length == key.size(-2) or attend not in IGNORE_POSITIONS:
        if group > 1:
            key, value = (x.repeat_interleave(group, dim=-3) for x in (key, value))
        return attend(query, key, value, mask, bias)

    def fold(x: Tensor) -> Tensor:  # (..., H or 1, L or 1, W)
        x = torch.atleast_2d(x)
        heads = max((group, *x.shape[-3:-2]))  # one group, if all heads have the same rows
        x = x.expand(*x.shape[:-3], heads, length, x.size(-1))
        return x.unflatten(-3, (-1, group)).flatten(-3, -2)  # (..., Hkv or 1, group · L, W)

    def unfold(x: Tensor) -> Tensor:
        return x.unflatten(-2, (group, length)).flatten(-4, -3)  # (..., H, L, W)

    mask, bias = (None if x is None else fold(x) for x in (mask, bias))
    output, weights = attend(fold(query), key, value, mask, bias)
    return unfold(output), None if weights is None else unfold(weights)
