"""Exact attention that returns its weights and still goes piece by piece, for speed."""

import math

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from attnbook.attention import softmax
from attnbook.checks import check_attention, leading
from attnbook.chunked import pieces

TABLE = 2**19  # scores at hand at once: two megabytes, which a processor's cache holds


def blocked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`scaled_dot_product_attention`, some rows of a head at a time; it returns the weights.

    Scores become weights in their place while the processor's cache still holds them, and there
    is no second table. Only first derivatives.

    Shapes:  as in `scaled_dot_product_attention`, and so are returns and errors
    """
    check_attention(query, key, value, mask, bias)
    lead = leading(query=query, key=key, value=value)
    whole = (math.prod(lead), query.size(-2), key.size(-2))

    def flat(x: Tensor) -> Tensor:
        x = torch.atleast_2d(x)
        return x.expand(*lead, *x.shape[-2:]).reshape(whole[0], *x.shape[-2:])

    tables = (None if x is None else flat(x).expand(whole) for x in (mask, bias))
    wide = torch.promote_types(query.dtype, torch.float32)
    q, k, v = (flat(x.to(wide)) for x in (query, key, value))
    output, weights = _Blocked.apply(q, k, v, *tables)
    return output.view(*lead, *output.shape[1:]).to(query), weights.view(*lead, *whole[1:]).to(
        query
    )


class _Blocked(Function):
    """Queries (N, Lq, Dk), one for each head of each sequence; a piece is some rows of some."""

    @staticmethod
    def forward(ctx, query, key, value, mask, bias):  # type: ignore[no-untyped-def]
        count, lq, lk = len(query), query.size(-2), key.size(-2)
        n_rows = max(min(lq, TABLE // max(lk, 1)), 1)
        n_heads = max(TABLE // max(n_rows * lk, 1), 1)
        ctx.places = [(n, i) for n in pieces(count, n_heads) for i in pieces(lq, n_rows)]
        output = query.new_empty(count, lq, value.size(-1))
        weights = query.new_empty(count, lq, lk)
        for n, i in ctx.places:
            w = torch.matmul(query[n, i] / math.sqrt(query.size(-1)), key[n].mT, out=weights[n, i])
            if bias is not None:
                w += bias[n, i]
            if mask is not None:
                w.masked_fill_(~mask[n, i], -math.inf)
            w.copy_(softmax(w))
            torch.matmul(w, value[n], out=output[n, i])
        ctx.save_for_backward(query, key, value, weights)
        ctx.set_materialize_grads(False)
        return output, weights

    @staticmethod
    @once_differentiable
    def backward(ctx, d_output, d_weights):  # type: ignore[no-untyped-def]
        query, key, value, weights = ctx.saved_tensors
        d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
        d_bias = torch.empty_like(weights) if ctx.needs_input_grad[4] else None
        for n, i in ctx.places:
            w, dw = weights[n, i], torch.zeros_like(weights[n, i])
            if d_output is not None:
                d_value[n] += w.mT @ d_output[n, i]
                dw = d_output[n, i] @ value[n].mT
            if d_weights is not None:
                dw = dw + d_weights[n, i]
            d_scores = w * (dw - (w * dw).sum(-1, keepdim=True))
            d_query[n, i] = d_scores @ key[n] / math.sqrt(query.size(-1))
            d_key[n] += d_scores.mT @ query[n, i] / math.sqrt(query.size(-1))
            if d_bias is not None:
                d_bias[n, i] = d_scores
        return d_query, d_key, d_value, None, d_bias
