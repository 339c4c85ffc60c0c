"""Multi-head latent attention: heads compute keys and values from one short vector per word."""

import math

import torch
from torch import Tensor, nn

from attnbook.attention.heads import insert_head_axis, merge_heads, split_heads
from attnbook.attention.kv_cache import KVCache
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.checks.sizes import check_even, check_size
from attnbook.checks.tensors import check_sequences, check_width
from attnbook.models.groups import attend_in_groups
from attnbook.positions.rotary import Rotary, apply_rotary

EPSILON = 1e-6  # of each RMSNorm, as in DeepSeek-V3


class LatentAttention(nn.Module):
    """Self-attention whose cache holds a latent and one rotary key per word, for all heads.

    A whole text computes each head's keys and values from the latents. A step with a filled cache
    computes neither: w_k moves to the query and w_v to the output ("absorbed"), so the heads attend
    to the latents themselves. Both give the same result. Rotary positions would come between the
    query and w_k, so they have queries and a key of their own, and are always used.

    Shapes:  w_q (d_model -> n_heads · (d_k + d_rotary)); with q_lora_rank, by way of a latent
             w_c (d_model -> kv_lora_rank), the latent; c_norm normalizes it
             w_r (d_model -> d_rotary), the rotary key   w_k, w_v (kv_lora_rank -> n_heads · d_k)
             w_o (n_heads · d_k -> d_model)
    Raises:  TypeError, ValueError if a size is not a positive int, or d_rotary is odd
    Source:  DeepSeek-AI 2024, §2.1
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        kv_lora_rank: int,
        d_k: int,
        d_rotary: int,
        *,
        q_lora_rank: int | None = None,
        rotary: Rotary | None = None,
    ) -> None:
        super().__init__()
        sizes = {"d_model": d_model, "n_heads": n_heads, "kv_lora_rank": kv_lora_rank, "d_k": d_k}
        for name, size in sizes.items():
            check_size(name, size)
        check_even("d_rotary", d_rotary)
        self.d_model, self.n_heads, self.d_k, self.d_rotary = d_model, n_heads, d_k, d_rotary
        self.rotary = rotary or Rotary()
        self.w_q: nn.Module = nn.Linear(d_model, n_heads * (d_k + d_rotary), bias=False)
        if q_lora_rank is not None:
            check_size("q_lora_rank", q_lora_rank)
            self.w_q = nn.Sequential(
                nn.Linear(d_model, q_lora_rank, bias=False),
                nn.RMSNorm(q_lora_rank, eps=EPSILON),
                nn.Linear(q_lora_rank, n_heads * (d_k + d_rotary), bias=False),
            )
        self.w_c = nn.Linear(d_model, kv_lora_rank, bias=False)
        self.c_norm = nn.RMSNorm(kv_lora_rank, eps=EPSILON)
        self.w_r = nn.Linear(d_model, d_rotary, bias=False)
        self.w_k = nn.Linear(kv_lora_rank, n_heads * d_k, bias=False)
        self.w_v = nn.Linear(kv_lora_rank, n_heads * d_k, bias=False)
        self.w_o = nn.Linear(n_heads * d_k, d_model, bias=False)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, cache: KVCache | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attend from the rows of x to themselves and to earlier rows in the cache.

        Shapes:  x (B, L, d_model)   B may be missing; Lk = rows in the cache + L
                 mask (L, Lk), or (B, 1 or L, Lk), or (B, 1 or H, L, Lk); True = may look
        Returns: output (B, L, d_model), weights (B, H, L, Lk); the cache gains x's rotary keys
                 (B, 1, L, d_rotary) as keys, and its latents (B, 1, L, kv_lora_rank) as values
        """
        check_width("x", x, self.d_model, "d_model")
        check_sequences(x=x)
        if cache is not None and cache.rotate_on_read:
            raise ValueError("rotate_on_read: LatentAttention caches keys that are rotated")
        start, n_cached = (cache.length, cache.n_kept) if cache else (0, 0)
        mask = insert_head_axis(mask, x, x, self.n_heads, n_cached)
        at = torch.arange(start, start + x.size(-2))  # on the CPU, which has float64
        q, q_rotary = split_heads(self.w_q(x), self.n_heads).split((self.d_k, self.d_rotary), -1)
        q_rotary = self._rotate(q_rotary, at)  # (B, H, L, d_rotary)
        k_rotary = self._rotate(self.w_r(x).unsqueeze(-3), at)  # (B, 1, L, d_rotary)
        # Under autocast, PyTorch 2.6's RMSNorm returns float32.
        latent = self.c_norm(self.w_c(x)).type_as(k_rotary).unsqueeze(-3)  # (B, 1, L, kv_lora_rank)
        if cache is not None:
            k_rotary, latent = cache.update(k_rotary, latent)
        attend = self._absorbed if n_cached else self._expanded
        output, weights = attend(q, q_rotary, latent, k_rotary, mask)  # (B, H, L, d_k)
        return self.w_o(merge_heads(output)), weights

    def _rotate(self, x: Tensor, at: Tensor) -> Tensor:
        return apply_rotary(x, at, self.rotary.base, self.rotary.scaling)

    def _expanded(
        self, q: Tensor, q_rotary: Tensor, latent: Tensor, k_rotary: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Compute each head's keys and values. Shapes: as in forward; a whole text."""
        rows = latent.squeeze(-3)  # (B, Lk, kv_lora_rank)
        k, v = split_heads(self.w_k(rows), self.n_heads), split_heads(self.w_v(rows), self.n_heads)
        k_rotary = k_rotary.expand(*k.shape[:-1], self.d_rotary)
        query, key = torch.cat((q, q_rotary), -1), torch.cat((k, k_rotary), -1)
        return scaled_dot_product_attention(query, key, v, mask)

    def _absorbed(
        self, q: Tensor, q_rotary: Tensor, latent: Tensor, k_rotary: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Attend to the latents: multi-query attention with one wide key head.

        Scores are divided by the root of the width of a wide key, and not of an ordinary one.
        """
        w_k, w_v = (w.weight.unflatten(0, (self.n_heads, -1)) for w in (self.w_k, self.w_v))
        query = torch.cat((q @ w_k, q_rotary), -1)  # (B, H, L, kv_lora_rank + d_rotary)
        key = torch.cat((latent, k_rotary), -1)  # (B, 1, Lk, kv_lora_rank + d_rotary)
        query = query * math.sqrt(key.size(-1) / (self.d_k + self.d_rotary))
        mixed, weights = attend_in_groups(
            scaled_dot_product_attention, query, key, latent, mask, None
        )
        return mixed @ w_v.mT, weights  # (B, H, L, d_k), (B, H, L, Lk)
