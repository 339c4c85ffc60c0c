"""Exact attention that returns its weights but computes them block by block, for long texts."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.autograd import Function

from attnbook.checks.attention import check_attention, check_first_derivative
from attnbook.checks.tensors import leading
from attnbook.efficient.chunked import chunks, slice_table

BLOCK = 2**20  # scores in a block, 4 MB: with smaller blocks, the cores wait for one another


def blocked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute `scaled_dot_product_attention`, with its weights, a few rows of a head at a time.

    The weights overwrite the scores in memory, so there is no second matrix, even in the backward
    pass. Keys after the last one that a mask allows for any of the rows are skipped, which saves up
    to half the work under a causal mask. For short texts, the plain function is faster.

    A per-head or learned bias needs a second matrix. A mask for each sequence is copied for each
    head, which takes a quarter of a matrix. With half-precision inputs, the computation runs in
    float32, so no score overflows, but the float32 matrix and its copy in half precision exist
    together. Only first derivatives are available, and torch.func cannot transform this function.

    Shapes:  as in `scaled_dot_product_attention`; otherwise the results and the errors are also the
             same
    """
    check_attention(query, key, value, mask, bias)
    lead = leading(query=query, key=key, value=value)
    whole = (math.prod(lead), query.size(-2), key.size(-2))
    blocks = list(_blocks(*whole, mask))

    def flat(x: Tensor) -> Tensor:
        x = torch.atleast_2d(x)
        return x.expand(*lead, *x.shape[-2:]).reshape(whole[0], *x.shape[-2:])

    wide = torch.promote_types(query.dtype, torch.float32)
    bias = None if bias is None else bias.to(query.dtype).to(wide)
    tables = (None if x is None else flat(x).expand(whole) for x in (mask, bias))
    q, k, v = (flat(x.to(wide)) for x in (query, key, value))
    output, weights = _Blocked.apply(blocks, q, k, v, *tables)
    return output.view(*lead, *output.shape[1:]).to(query), weights.view(*lead, *whole[1:]).to(
        query
    )


def _blocks(
    count: int, lq: int, lk: int, mask: Tensor | None
) -> Iterator[tuple[slice, slice, slice]]:
    """Yield blocks: some heads, some of their queries, and the keys up to the last visible one."""
    n_rows = max(min(lq, BLOCK // max(lk, 1)), 1)
    n_heads = max(BLOCK // max(n_rows * lk, 1), 1)
    for i in chunks(lq, n_rows):
        end = lk
        if mask is not None:
            shown = slice_table(mask, i, slice(None)).flatten(0, -2).any(0).expand(lk).nonzero()
            end = int(shown[-1]) + 1 if len(shown) else 0
        for n in chunks(count, n_heads):
            yield n, i, slice(end)


class _Blocked(Function):
    """Attention with queries (N, Lq, Dk), where N counts every head of every sequence."""

    @staticmethod
    def forward(ctx, blocks, query, key, value, mask, bias):  # type: ignore[no-untyped-def]
        output = query.new_empty(*query.shape[:-1], value.size(-1))
        weights = query.new_empty(*query.shape[:-1], key.size(-2))
        for n, i, j in blocks:
            weights[n, i, j.stop :] = 0.0
            scores = weights[n, i, j]
            torch.bmm(query[n, i] / math.sqrt(query.size(-1)), key[n, j].mT, out=scores)
            if bias is not None:
                scores += bias[n, i, j]
            if mask is not None:
                scores.masked_fill_(~mask[n, i, j], -math.inf)
            w = _softmax_in_place(scores)
            torch.bmm(w, value[n, j], out=output[n, i])
        ctx.blocks = blocks
        ctx.save_for_backward(query, key, value, weights)
        ctx.set_materialize_grads(False)
        return output, weights

    @staticmethod
    def backward(ctx, d_output, d_weights):  # type: ignore[no-untyped-def]
        check_first_derivative("blocked_attention")
        query, key, value, weights = ctx.saved_tensors
        d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
        d_bias = torch.zeros_like(weights) if ctx.needs_input_grad[5] else None
        for n, i, j in ctx.blocks:
            w, dw = weights[n, i, j], 0.0
            if d_output is not None:
                d_value[n, j] += w.mT @ d_output[n, i]
                dw = d_output[n, i] @ value[n, j].mT
            if d_weights is not None:
                dw = d_weights[n, i, j] + dw
            d_scores = w * (dw - (w * dw).sum(-1, keepdim=True))
            d_query[n, i] = d_scores @ key[n, j] / math.sqrt(query.size(-1))
            d_key[n, j] += d_scores.mT @ query[n, i] / math.sqrt(query.size(-1))
            if d_bias is not None:
                d_bias[n, i, j] = d_scores
        return None, d_query, d_key, d_value, None, d_bias


def _softmax_in_place(scores: Tensor) -> Tensor:
    """Replace scores with weights, and with 0 in rows that contain only -inf.

    The first column is checked first, because only a row that begins with -inf can be empty.
    """
    empty = scores[..., :1] == -math.inf
    if empty.any():
        empty = scores.amax(-1, keepdim=True) == -math.inf
    torch.softmax(scores, -1, out=scores)
    return scores.masked_fill_(empty, 0.0) if empty.any() else scores
