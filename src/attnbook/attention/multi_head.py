"""Multi-head attention: several heads on slices of one projection."""

from collections.abc import Callable
from typing import Any, Self

from torch import Tensor, nn

from attnbook.attention.from_torch import Projection, copy_parameters, projections
from attnbook.attention.heads import insert_head_axis, merge_heads, split_heads
from attnbook.attention.kv_cache import KVCache
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.checks.masks import check_bias
from attnbook.checks.sizes import check_heads, check_size
from attnbook.checks.tensors import check_sequences, check_width

Attend = Callable[..., tuple[Tensor, Any]]  # output, weights or None


class MultiHeadAttention(nn.Module):
    """Several heads on slices of one projection, and then one matrix that mixes their outputs.

    Shapes:  w_q (d_model -> d_model)   w_k, w_v (d_context -> d_model)   w_o (d_model -> d_model)
             each head has width d_model / n_heads; d_context is d_model by default
             bias    gives each of the four matrices a bias
             attend  is called as attend(q, k, v, mask, bias), and returns the output with the
                     weights or None, which `forward` returns: fused_attention gives None
    Raises:  TypeError, ValueError if a size is not a positive int, or d_model is not divisible by
             n_heads
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
        cache: KVCache | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend from query to key and value; key defaults to query, and value to key.

        Shapes:  query (B, Lq, d_model)   key, value (B, L, d_context)   B may be missing
                 Lk = L, plus the rows in the cache, to which the new keys and values are appended
                 mask (Lq, Lk), or (B, 1 or Lq, Lk), or (B, 1 or H, Lq, Lk); True = may look;
                 two axes are always (Lq, Lk), so a padding mask needs all three, (B, 1, Lk)
                 bias broadcastable to (B, H, Lq, Lk), added to the scores; unlike in a mask,
                 three axes are (H, Lq, Lk)
        Returns: output (B, Lq, d_model), weights (B, H, Lq, Lk); a query that may look at nothing
                 gets zero weights, and w_o's bias as output
        """
        query, key, value, mask = self._complete(query, key, value, mask, bias, cache)
        q = split_heads(self.w_q(query), self.n_heads)  # (B, H, Lq, Dk)
        k = split_heads(self.w_k(key), self.n_heads)  # (B, H, L, Dk)
        v = split_heads(self.w_v(value), self.n_heads)  # (B, H, L, Dv)
        if cache is not None:
            k, v = cache.update(k, v)  # (B, H, Lk, Dk), (B, H, Lk, Dv)
        output, weights = self.attend(q, k, v, mask, bias)
        return self.w_o(merge_heads(output)), weights  # (B, Lq, d_model), (B, H, Lq, Lk)

    def _complete(
        self,
        query: Tensor,
        key: Tensor | None,
        value: Tensor | None,
        mask: Tensor | None,
        bias: Tensor | None,
        cache: KVCache | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Fill in a missing key or value, check everything, and add a head axis to the mask."""
        if key is None and value is not None:
            raise ValueError("value was given without key: each value needs a key to be found by")
        key = query if key is None else key
        value = key if value is None else value
        check_width("query", query, self.d_model, "d_model")
        check_width("key", key, self.d_context, "d_context")
        check_width("value", value, self.d_context, "d_context")
        check_sequences(query=query, key=key, value=value)
        n_cached = 0 if cache is None else cache.n_kept
        check_bias(bias, query, key, self.n_heads, n_cached)
        return query, key, value, insert_head_axis(mask, query, key, self.n_heads, n_cached)

    @classmethod
    def from_weights(
        cls, n_heads: int, query: Projection, key: Projection, value: Projection, output: Projection
    ) -> Self:
        """Build a layer from copies of four (weight, bias) pairs of another model.

        Shapes:  weight (out, in) as nn.Linear stores it, bias (out,) or None for all four
        Raises:  ValueError if the shapes do not fit together, or only some of the pairs have a bias
        """
        pairs = {"w_q": query, "w_k": key, "w_v": value, "w_o": output}
        biased = [name for name, (_, bias) in pairs.items() if bias is not None]
        if len(biased) not in (0, 4):
            raise ValueError(f"only {', '.join(biased)} have a bias: all four need one, or none")
        layer = cls(query[0].size(1), n_heads, d_context=key[0].size(1), bias=bool(biased))
        layer = layer.to(query[0].device, query[0].dtype)
        for name, pair in pairs.items():
            copy_parameters(name, getattr(layer, name), pair)
        return layer

    @classmethod
    def from_torch(cls, other: nn.MultiheadAttention) -> Self:
        """Build a layer with a copy of PyTorch's weights; ours is always batch-first.

        With dropout, PyTorch's layer sets weights to 0 at random during training. Ours does not,
        so the two agree after `other.eval()`. All our parameters are trainable, even if PyTorch's
        are frozen.

        Raises:  TypeError if `other` is of another class; ValueError for kdim != vdim, add_bias_kv
                 or add_zero_attn, which MultiHeadAttention does not support
        """
        pairs = projections(other)
        return cls.from_weights(other.num_heads, *pairs)
