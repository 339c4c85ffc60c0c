"""Exact attention in chunks: neither the forward nor the backward pass stores all scores at once.

A softmax can be computed from keys that arrive one after another, if each query keeps the largest
score so far, the sum of the exponentials relative to that score, and the sum of the values
weighted by these exponentials.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd import Function

from attnbook.checks.attention import check_attention, check_causal, check_first_derivative
from attnbook.checks.sizes import check_size
from attnbook.checks.tensors import leading


def chunks(length: int, size: int) -> Iterator[slice]:
    """Slices of `size` positions that cover 0 … length − 1; the last may be shorter."""
    return (slice(at, min(at + size, length)) for at in range(0, max(length, 1), size))


def slice_table(table: Tensor, rows: slice, keys: slice) -> Tensor:
    """A chunk of a mask or bias (..., Lq or 1, Lk or 1); an axis of length 1 is left as it is."""
    table = torch.atleast_2d(table)
    table = table[..., rows, :] if table.size(-2) > 1 else table
    return table[..., keys] if table.size(-1) > 1 else table


def chunked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    chunk: int = 256,
    causal: bool = False,
) -> tuple[Tensor, None]:
    """Compute `scaled_dot_product_attention` by online softmax, `chunk` queries and keys at a time.

    When a larger score arrives, a query's sum of exponentials and its sum of weighted values shrink
    by the same factor. The backward pass recomputes the scores, so its memory, too, grows only with
    Lq + Lk. Chunks that a mask hides completely are skipped. `causal=True` applies the causal mask
    without storing it. With half-precision inputs, the computation runs in float32, so no score
    overflows. Only first derivatives are available, and torch.func cannot transform this function.

    Shapes:  as in `scaled_dot_product_attention`
    Returns: output (..., Lq, Dv), None
    Raises:  as in that function; ValueError if chunk < 1, or for causal=True with a mask or with
             Lq != Lk
    Source:  Milakov and Gimelshein 2018; Rabe and Staats 2021; Dao et al. 2022
    """
    check_attention(query, key, value, mask, bias)
    check_causal(causal, query, key, mask)
    check_size("chunk", chunk)
    lead = leading(query=query, key=key, value=value)
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k, v = (x.to(wide).expand(*lead, *x.shape[-2:]) for x in (query, key, value))
    bias = None if bias is None else bias.to(query.dtype).to(wide)
    return OnlineSoftmax.apply(q, k, v, mask, bias, chunk, causal).to(query.dtype), None


class OnlineSoftmax(Function):
    """A Function that saves the output and each query's logsumexp for the backward pass."""

    @staticmethod
    def forward(ctx, query, key, value, mask, bias, chunk, causal):  # type: ignore[no-untyped-def]
        output = query.new_empty(*query.shape[:-1], value.size(-1))
        lse = query.new_empty(*query.shape[:-1], 1)
        for i in chunks(query.size(-2), chunk):
            q = query[..., i, :] / math.sqrt(query.size(-1))
            largest = torch.full_like(lse[..., i, :], torch.finfo(query.dtype).min)
            total, mixed = torch.zeros_like(largest), torch.zeros_like(output[..., i, :])
            for j in chunks(key.size(-2), chunk):
                scores = _scores(q, key, mask, bias, causal, i, j)
                if scores is None:
                    continue
                before, largest = largest, largest.maximum(scores.amax(-1, keepdim=True))
                shrink = (before - largest).exp()
                powers = scores.sub_(largest).exp_()
                total = total * shrink + powers.sum(-1, keepdim=True)
                mixed = mixed * shrink + powers @ value[..., j, :]
            total = total.clamp(min=1.0)  # below 1 only if all keys are hidden; then 0 / 1 = 0
            output[..., i, :] = mixed / total
            lse[..., i, :] = largest + total.log()
        ctx.save_for_backward(query, key, value, mask, bias, output, lse)
        ctx.chunk, ctx.causal = chunk, causal
        return output

    @staticmethod
    def backward(ctx, d_output):  # type: ignore[no-untyped-def]
        check_first_derivative("chunked_attention")
        query, key, value, mask, bias, output, lse = ctx.saved_tensors
        d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
        d_bias = torch.zeros_like(torch.atleast_2d(bias)) if ctx.needs_input_grad[4] else None
        for i in chunks(query.size(-2), ctx.chunk):
            q = query[..., i, :] / math.sqrt(query.size(-1))
            d_out = d_output[..., i, :]
            mean = (d_out * output[..., i, :]).sum(-1, keepdim=True)
            for j in chunks(key.size(-2), ctx.chunk):
                scores = _scores(q, key, mask, bias, ctx.causal, i, j)
                if scores is None:
                    continue
                w = scores.sub_(lse[..., i, :]).exp_()  # the weights, computed again
                d_scores = (d_out @ value[..., j, :].mT).sub_(mean).mul_(w)
                if d_bias is not None:
                    d_chunk = slice_table(d_bias, i, j)
                    d_chunk += d_scores.sum_to_size(d_chunk.shape)
                d_value[..., j, :] += w.mT @ d_out
                d_query[..., i, :] += d_scores @ key[..., j, :] / math.sqrt(query.size(-1))
                d_key[..., j, :] += d_scores.mT @ q
        d_bias = None if d_bias is None else d_bias.view_as(bias)
        return d_query, d_key, d_value, None, d_bias, None, None


def _scores(  # type: ignore[no-untyped-def]
    q, key, mask, bias, causal, i, j
) -> Tensor | None:
    """Score the keys of chunk j for q, the queries of chunk i; None if all are hidden."""
    allowed = None if mask is None else slice_table(mask, i, j)
    if causal:
        position = torch.arange(key.size(-2), device=key.device)
        allowed = position[i, None] >= position[j]
    if j.start == j.stop or (allowed is not None and not allowed.any()):
        return None
    if allowed is not None and allowed.all():
        allowed = None
    scores = q @ key[..., j, :].mT
    if bias is not None:
        scores += slice_table(bias, i, j)
    return scores if allowed is None else scores.masked_fill_(~allowed, -math.inf)
