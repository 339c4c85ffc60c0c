"""Grouped-query attention: several query heads share keys and values, as in today's models."""

import torch
from torch import Tensor, nn

from attnbook.attention.heads import insert_head_axis, merge_heads, split_heads
from attnbook.attention.kv_cache import KVCache
from attnbook.attention.multi_head import Attend
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.checks.masks import check_bias
from attnbook.checks.sizes import check_even, check_groups, check_heads, check_size
from attnbook.checks.tensors import check_sequences, check_width
from attnbook.models.groups import attend_in_groups
from attnbook.positions.rotary import Rotary, apply_rotary


class GroupedQueryAttention(nn.Module):
    """Self-attention in which groups of heads share keys and values, to keep the cache small.

    With n_kv_heads = n_heads it is MultiHeadAttention; with 1, multi-query attention. Query head h
    uses key head h // (n_heads / n_kv_heads).

    Shapes:  w_q (d_model -> n_heads · Dk)   w_k, w_v (d_model -> n_kv_heads · Dk)
             w_o (n_heads · Dk -> d_model)   Dk = d_k, by default d_model / n_heads
             bias      adds a bias to w_q, w_k and w_v (Qwen2)
             qk_norm   normalizes each query and key by its root mean square (Qwen3)
             rotary    rotates queries and keys; then Dk must be even
             attend    as in MultiHeadAttention; where it gives no weights, None is returned
    Raises:  TypeError, ValueError if n_kv_heads does not divide n_heads, or d_k is missing and
             n_heads does not divide d_model
    Source:  Shazeer 2019; Ainslie et al. 2023, §2.2; Touvron et al. 2023
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        *,
        d_k: int | None = None,
        bias: bool = False,
        qk_norm: bool = False,
        rotary: Rotary | None = None,
        attend: Attend = scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        check_size("d_model", d_model)
        check_groups(n_heads, n_kv_heads)
        if d_k is None:
            check_heads(d_model, n_heads)
            d_k = d_model // n_heads
        check_size("d_k", d_k)
        if rotary is not None:
            check_even("the width of a head", d_k)
            if not isinstance(rotary, Rotary):
                raise TypeError(f"rotary must be a Rotary, such as Rotary(), got {rotary!r}")
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.rotary, self.attend = rotary, attend
        self.w_q = nn.Linear(d_model, n_heads * d_k, bias=bias)
        self.w_k = nn.Linear(d_model, n_kv_heads * d_k, bias=bias)
        self.w_v = nn.Linear(d_model, n_kv_heads * d_k, bias=bias)
        self.w_o = nn.Linear(n_heads * d_k, d_model, bias=False)
        self.q_norm = nn.RMSNorm(d_k, eps=1e-6) if qk_norm else nn.Identity()
        self.k_norm = nn.RMSNorm(d_k, eps=1e-6) if qk_norm else nn.Identity()

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        cache: KVCache | None = None,
        positions: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend from the rows of x to themselves and to earlier rows in the cache.

        Shapes:  x (B, L, d_model)   B may be missing; Lk = rows in the cache + L
                 mask (L, Lk), or (B, 1 or L, Lk), or (B, 1 or H, L, Lk); True = may look
                 bias broadcastable to (B, H, L, Lk)
                 positions (L,) or (B, L), for rotary; by default they continue those in the cache,
                 or are counted in it if the cache has rotate_on_read
        Returns: output (B, L, d_model), weights (B, H, L, Lk); the cache gains x's keys and values
        """
        check_width("x", x, self.d_model, "d_model")
        check_sequences(x=x)
        start, n_cached = (cache.length, cache.n_kept) if cache else (0, 0)
        on_read = cache is not None and cache.rotate_on_read
        mask = insert_head_axis(mask, x, x, self.n_heads, n_cached)
        check_bias(bias, x, x, self.n_heads, n_cached)
        if positions is not None and self.rotary is None:
            raise ValueError("positions were given, but this layer uses none: it needs a Rotary")
        if positions is not None and on_read:
            raise ValueError("positions were given, but a cache with rotate_on_read counts them")
        v = split_heads(self.w_v(x), self.n_kv_heads)  # (B, Hkv, L, Dk)
        # Under autocast, PyTorch 2.6's RMSNorm returns float32.
        q = self.q_norm(split_heads(self.w_q(x), self.n_heads)).type_as(v)  # (B, H, L, Dk)
        k = self.k_norm(split_heads(self.w_k(x), self.n_kv_heads)).type_as(v)  # (B, Hkv, L, Dk)
        if cache is not None and on_read:
            k, v = cache.update(k, v)  # (B, Hkv, Lk, Dk)
            positions = torch.arange(k.size(-2))
        elif positions is None:
            positions = torch.arange(start, start + x.size(-2))  # on the CPU, which has float64
        q, k = self._rotate(q, k, positions)
        if cache is not None and not on_read:
            k, v = cache.update(k, v)  # (B, Hkv, Lk, Dk)
        output, weights = attend_in_groups(self.attend, q, k, v, mask, bias)
        return self.w_o(merge_heads(output)), weights  # (B, L, d_model), (B, H, L, Lk)

    def _rotate(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys, if the layer does; the queries are at the last positions.

        Shapes:  query (B, H, L, Dk)   key (B, Hkv, Lk, Dk)   positions (Lk,) or (B, Lk)
        """
        if self.rotary is None:
            return query, key
        at = positions.unsqueeze(-2)  # (1, Lk) or (B, 1, Lk): the same in each head
        base, scaling = self.rotary.base, self.rotary.scaling
        last = at[..., key.size(-2) - query.size(-2) :]
        return apply_rotary(query, last, base, scaling), apply_rotary(key, at, base, scaling)
