"""Exact attention in one call of PyTorch's kernel, which stores no matrix of scores."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.attention.masks import causal_mask
from attnbook.checks.attention import check_attention, check_causal
from attnbook.checks.tensors import leading


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    causal: bool = False,
) -> tuple[Tensor, None]:
    """Compute `scaled_dot_product_attention` with a single call to PyTorch's kernel.

    `causal=True` applies the causal mask without storing it: the kernel skips everything above the
    diagonal. An (L, L) mask that equals the causal mask is recognized, except under torch.compile,
    which cannot branch on numbers; the comparison needs a boolean matrix. A padding mask needs no
    matrix. Any other mask needs a matrix of numbers, and an Lq × Lk bias needs several;
    `chunked_attention` needs none. A query that may look at nothing gets zeros. On a CPU, PyTorch's
    kernel supports only first derivatives.

    Shapes:  as in `scaled_dot_product_attention`
    Returns: output (..., Lq, Dv), None
    Raises:  as in that function; ValueError for causal=True with a mask or with Lq != Lk
    Source:  Dao et al. 2022
    """
    check_attention(query, key, value, mask, bias)
    check_causal(causal, query, key, mask)
    if causal or _is_triangle(mask, query.size(-2), key.size(-2)):
        if bias is None:
            return _kernel(query, key, value, causal=True), None
        mask = causal_mask(query.size(-2)).to(query.device)
    if bias is None and mask is None:
        return _kernel(query, key, value), None
    if bias is None:
        table = torch.atleast_2d(mask)
        empty = ~table.any(-1, keepdim=True)  # (..., Lq or 1, 1)
        table = table | empty
    else:
        table = torch.atleast_2d(bias.to(query.dtype))
        table = table if mask is None else table.masked_fill(~mask, -math.inf)
        empty = (table == -math.inf).all(-1, keepdim=True)
        table = table.masked_fill(empty, 0.0)
    return _kernel(query, key, value, table).masked_fill(empty, 0.0), None


def _kernel(
    query: Tensor, key: Tensor, value: Tensor, table: Tensor | None = None, causal: bool = False
) -> Tensor:
    """Call PyTorch's kernel on (B, H, L, D) with Dk = Dv: otherwise it would store the scores."""
    lead, dv = leading(query=query, key=key, value=value), value.size(-1)
    width = max(query.size(-1), dv)

    def four(x: Tensor) -> Tensor:
        x = x.expand(*lead, *x.shape[-2:])
        return x[(None,) * (4 - x.dim())] if x.dim() < 4 else x.flatten(0, -4)

    def padded(x: Tensor) -> Tensor:
        return x if x.size(-1) == width else F.pad(x, (0, width - x.size(-1)))

    q, k, v = (four(padded(x)) for x in (query, key, value))
    if table is not None:
        table = four(table)
    scale = 1 / math.sqrt(query.size(-1))
    output = F.scaled_dot_product_attention(q, k, v, table, is_causal=causal, scale=scale)
    return output[..., :dv].reshape(*lead, query.size(-2), dv)


def _is_triangle(mask: Tensor | None, lq: int, lk: int) -> bool:
    if mask is None or lq != lk or mask.shape != (lq, lk) or torch.compiler.is_compiling():
        return False
    return mask.equal(torch.ones_like(mask).tril_())
