"""Attention inside a sliding window that never computes a score outside it."""

import torch
from torch import Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.checks.attention import check_attention, check_one_sequence
from attnbook.checks.sizes import check_reach
from attnbook.efficient.chunked import chunks, slice_table


def window_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    window: int,
) -> tuple[Tensor, None]:
    """Attention with `sliding_window_mask(L, window)` that computes only the band.

    As in that mask, `window` does not count the position itself. A chunk of queries uses the keys
    from `window` positions before it to `window` positions after it, so the time, and the memory
    for a gradient, grow with L · window.

    Shapes:  as in `scaled_dot_product_attention`, Lq = Lk = L; mask and bias are also applied
    Returns: output (..., L, Dv), None
    Raises:  as in that function; ValueError if Lq != Lk or window is negative
    Source:  Beltagy et al. 2020 (Longformer), §3.1; S3 §4.1
    """
    check_attention(query, key, value, mask, bias)
    check_reach(window)
    check_one_sequence(query, key, "a window")
    position = torch.arange(query.size(-2), device=query.device)
    outputs = []
    for rows in chunks(len(position), max(window, 64)):
        keys = slice(max(rows.start - window, 0), rows.stop + window)
        allowed = (position[rows, None] - position[keys]).abs() <= window
        if mask is not None:
            allowed = allowed & slice_table(mask, rows, keys)
        added = None if bias is None else slice_table(bias, rows, keys)
        q, k, v = query[..., rows, :], key[..., keys, :], value[..., keys, :]
        outputs.append(scaled_dot_product_attention(q, k, v, allowed, added)[0])
    return torch.cat(outputs, dim=-2), None
