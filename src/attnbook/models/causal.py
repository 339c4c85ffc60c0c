"""The mask of a model that writes: a token may look at itself and at earlier tokens."""

import torch
from torch import Tensor

from attnbook.attention.kv_cache import KVCache


def causal_rows(tokens: Tensor, cache: KVCache | None) -> Tensor:
    """The rows of a causal mask, or of a sink mask, for tokens that follow those in the cache.

    A window needs no positions of dropped keys: those that a cache keeps, its next token may see.

    Shapes:  tokens (B, L) -> (L, Lk), where Lk = keys in the cache + L
    """
    n_kept = 0 if cache is None else cache.n_kept
    keys = torch.arange(n_kept + tokens.size(1), device=tokens.device)
    queries = keys[n_kept:, None]
    mask = keys <= queries
    if cache is not None and cache.window is not None:
        mask &= (keys > queries - cache.window) | (keys < cache.n_sinks)
    return mask


def unpadded_positions(mask: Tensor, length: int) -> Tensor:
    """The positions of the last `length` tokens if padding is not counted.

    Shapes:  mask (B, 1, Lk), False at padding -> (B, length), on the CPU, as rotary positions are
    """
    counted = mask[:, 0].cpu().cumsum(-1)  # (B, Lk)
    return (counted[:, mask.size(-1) - length :] - 1).clamp(min=0)
