"""Heads: attention with weights of its own, one head or many."""

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from attnbook.attention import scaled_dot_product_attention
from attnbook.checks import (
    check_fits,
    check_float_tensor,
    check_heads,
    check_mask,
    check_rows,
    check_sequences,
    check_size,
    check_width,
    leading,
)

Attend = Callable[..., tuple[Tensor, Tensor]]
Projection = tuple[Tensor, Tensor | None]


class SelfAttention(nn.Module):
    """One head: every row of x asks, labels itself and answers, through three matrices.

    Shapes:  w_q, w_k: (d_model -> d_k)   w_v: (d_model -> d_v)   no bias, as in S1 and S2
    Raises:  ValueError if a size is not positive or x is not (..., L, d_model)
    Source:  Vaswani et al. 2017, §3.2; S1, S2 step 1
    """

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        for name, size in (("d_model", d_model), ("d_k", d_k), ("d_v", d_v)):
            check_size(name, size)
        self.d_model = d_model
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Shapes: x (..., L, d_model) -> output (..., L, d_v), weights (..., L, L)."""
        check_width("x", x, self.d_model, "d_model")
        return scaled_dot_product_attention(self.w_q(x), self.w_k(x), self.w_v(x), mask)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut each row into n_heads neighboring pieces, and give each head a sequence of its own.

    Shapes:  x (..., L, D) -> (..., H, L, D / H); head h gets the columns h·D/H … (h+1)·D/H − 1
    Raises:  TypeError, ValueError if x has no rows or D is not divisible by n_heads
    """
    check_rows("x", x)
    check_size("n_heads", n_heads)
    if x.size(-1) % n_heads:
        raise ValueError(f"width {x.size(-1)} is not divisible by n_heads={n_heads}")
    return x.unflatten(-1, (n_heads, x.size(-1) // n_heads)).transpose(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads' pieces of each row side by side again: the inverse of split_heads.

    Shapes:  x (..., H, L, Dv) -> (..., L, H · Dv)
    Raises:  TypeError, ValueError if x has fewer than three dimensions
    """
    check_float_tensor("x", x)
    if x.dim() < 3:
        raise ValueError(f"x has shape {tuple(x.shape)}: it needs at least (heads, length, width)")
    return x.transpose(-2, -3).flatten(-2)


def insert_head_axis(
    mask: Tensor | None, query: Tensor, key: Tensor, n_heads: int
) -> Tensor | None:
    """Give a mask that has one for the batch an axis for the heads too: all heads share it.

    Shapes:  query (B, Lq, D)   key (B, Lk, D)   B may be missing
             mask (B, 1 or Lq, Lk) -> (B, 1, 1 or Lq, Lk); (Lq, Lk) and (B, 1 or H, Lq, Lk) stay
    Raises:  TypeError, ValueError if it is no boolean tensor of one of these shapes
    """
    if mask is None:
        return None
    check_mask(mask)
    if mask.dim() == 3:
        mask = mask.unsqueeze(1)
    elif mask.dim() not in (2, 4):
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}: it must be (Lq, Lk), (B, 1 or Lq, Lk) "
            "or (B, 1 or H, Lq, Lk)"
        )
    batch = leading(query=query, key=key)
    check_fits("mask", mask, (*batch, n_heads, query.size(-2), key.size(-2)), query)
    return mask


class MultiHeadAttention(nn.Module):
    """Several heads side by side on slices of one projection, then one matrix that mixes them.

    Shapes:  w_q (d_model -> d_model)   w_k, w_v (d_context -> d_model)   w_o (d_model -> d_model)
             each head has width d_model / n_heads; d_context is d_model unless given
    Raises:  ValueError if d_model is not divisible by n_heads
    Source:  Vaswani et al. 2017, §3.2.2; S1, S2, S3 §2.2 and §3.1, S4
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_context: int | None = None,
        bias: bool = True,
        attend: Attend = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        d_context = d_model if d_context is None else d_context
        check_heads(d_model, n_heads)
        check_size("d_context", d_context)
        self.d_model, self.n_heads, self.d_context = d_model, n_heads, d_context
        self.attend = attend
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_context, d_model, bias=bias)
        self.w_v = nn.Linear(d_context, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend from query to key and value; to itself without a key, to the key without a value.

        Shapes:  query (B, Lq, d_model)   key, value (B, Lk, d_context)   B may be missing
                 mask (Lq, Lk), or (B, 1 or Lq, Lk), or (B, 1 or H, Lq, Lk); True = may look
                 bias broadcastable to (B, H, Lq, Lk), added to the scores
        Returns: output (B, Lq, d_model), weights (B, H, Lq, Lk); a query that may look at nothing
                 gets zero weights, and an output that is w_o's bias alone
        """
        query, key, value, mask = self._complete(query, key, value, mask)
        q = split_heads(self.w_q(query), self.n_heads)  # (B, H, Lq, Dk)
        k = split_heads(self.w_k(key), self.n_heads)  # (B, H, Lk, Dk)
        v = split_heads(self.w_v(value), self.n_heads)  # (B, H, Lk, Dv)
        output, weights = self.attend(q, k, v, mask, bias)
        return self.w_o(merge_heads(output)), weights  # (B, Lq, d_model), (B, H, Lq, Lk)

    def _complete(
        self, query: Tensor, key: Tensor | None, value: Tensor | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Fill in a missing key and value, check all, and give the mask its axis for the heads."""
        if key is None and value is not None:
            raise ValueError("value was given without key: each value needs a key to be found by")
        key = query if key is None else key
        value = key if value is None else value
        check_width("query", query, self.d_model, "d_model")
        check_width("key", key, self.d_context, "d_context")
        check_width("value", value, self.d_context, "d_context")
        check_sequences(query=query, key=key, value=value)
        return query, key, value, insert_head_axis(mask, query, key, self.n_heads)

    @classmethod
    def from_weights(
        cls, n_heads: int, query: Projection, key: Projection, value: Projection, output: Projection
    ) -> Self:
        """Build a layer from four (weight, bias) pairs of another model; they are copied.

        Shapes:  weight (out, in) as nn.Linear stores it, bias (out,) or None for all four
        Raises:  ValueError if the shapes do not make a layer, or only some have a bias
        """
        pairs = {"w_q": query, "w_k": key, "w_v": value, "w_o": output}
        biased = [name for name, (_, bias) in pairs.items() if bias is not None]
        if len(biased) not in (0, 4):
            raise ValueError(f"only {', '.join(biased)} have a bias: all four need one, or none")
        made = cls(query[0].size(1), n_heads, d_context=key[0].size(1), bias=bool(biased))
        made = made.to(query[0].device, query[0].dtype)
        with torch.no_grad():
            for name, (weight, bias) in pairs.items():
                linear = getattr(made, name)
                _copy(name, linear.weight, weight)
                if bias is not None:
                    _copy(f"the bias of {name}", linear.bias, bias)
        return made

    @classmethod
    def from_torch(cls, other: nn.MultiheadAttention) -> Self:
        """Build a layer with the weights of PyTorch's, copied. Ours is batch first, always.

        PyTorch's own drops weights at random while training if it was built with dropout; ours
        does not, so the two agree after `other.eval()`.

        Raises:  TypeError if it is another class; ValueError for kdim != vdim, add_bias_kv and
                 add_zero_attn, which MultiHeadAttention does not have
        """
        if not isinstance(other, nn.MultiheadAttention):
            raise TypeError(f"expected torch.nn.MultiheadAttention, got {type(other).__name__}")
        if other.kdim != other.vdim:
            raise ValueError(
                f"kdim={other.kdim} and vdim={other.vdim}: ours needs one context width"
            )
        if other.bias_k is not None or other.add_zero_attn:
            raise ValueError("add_bias_kv and add_zero_attn add keys that ours does not have")
        if other.in_proj_weight is not None:
            weights = other.in_proj_weight.chunk(3)
        else:
            weights = (other.q_proj_weight, other.k_proj_weight, other.v_proj_weight)
        biases = (None,) * 3 if other.in_proj_bias is None else other.in_proj_bias.chunk(3)
        q, k, v = zip(weights, biases, strict=True)
        return cls.from_weights(
            other.num_heads, q, k, v, (other.out_proj.weight, other.out_proj.bias)
        )


def _copy(name: str, mine: Tensor, given: Tensor) -> None:
    """Copy only what has the same shape: copy_ alone would spread one number over a vector."""
    if mine.shape != given.shape:
        raise ValueError(f"{name} has shape {tuple(given.shape)}: {tuple(mine.shape)} fits")
    mine.copy_(given)
