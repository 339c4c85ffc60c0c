"""Sparse masks for long sequences: each query may look at few keys, most of them near it."""

from collections.abc import Iterable

import torch
from torch import Tensor

from attnbook.checks.sizes import check_positions, check_reach, check_size, check_window


def sliding_window_mask(length: int, window: int) -> Tensor:
    """Let each position look at itself and at most `window` positions to the left and to the right.

    Here, `window` does not count the position itself. In sink_mask, it does.

    Returns: (length, length) boolean, True where |i - j| <= window
    Raises:  TypeError, ValueError if a size is not an int or is negative
    Source:  Beltagy et al. 2020 (Longformer), §3.1; S3 §4.1
    """
    check_size("length", length, at_least=0)
    check_reach(window)
    position = torch.arange(length)
    return (position[:, None] - position).abs() <= window


def block_mask(length: int, block: int) -> Tensor:
    """Cut the sequence into blocks, and let each position look only at its own block.

    Returns: (length, length) boolean, True where i and j are in the same block of `block` positions
    Raises:  TypeError, ValueError if length or block is not an int or is too small
    Source:  S3 §4.1
    """
    check_size("length", length, at_least=0)
    check_size("block", block)
    number = torch.arange(length) // block
    return number[:, None] == number


def longformer_mask(length: int, window: int, global_tokens: Iterable[int]) -> Tensor:
    """A sliding window, plus global tokens, which look at all positions and are seen by all.

    As in sliding_window_mask, `window` does not count the position itself.

    Returns: (length, length) boolean
    Raises:  TypeError, ValueError if a size does not fit or a global token is outside the sequence
    Source:  Beltagy et al. 2020 (Longformer), §3.1; S3 §4.1
    """
    mask = sliding_window_mask(length, window)
    global_tokens = tuple(global_tokens)
    check_positions("global_tokens", global_tokens, length)
    for token in global_tokens:
        mask[token, :] = True
        mask[:, token] = True
    return mask


def bigbird_mask(length: int, window: int, n_global: int, n_random: int, seed: int) -> Tensor:
    """A sliding window, n_global global positions at the start, and n_random random keys per row.

    As in sliding_window_mask, `window` does not count the position itself. A random key may already
    be allowed, so a row gains at most n_random keys.

    Returns: (length, length) boolean; the same seed gives the same mask on every machine
    Raises:  TypeError, ValueError if a size is not an int or is negative or too large
    Source:  Zaheer et al. 2020 (BigBird), §2; S3 §4.1
    """
    check_size("length", length, at_least=0)
    for name, count in (("n_global", n_global), ("n_random", n_random)):
        check_size(name, count, at_least=0)
        if count > length:
            raise ValueError(f"{name}={count}, but there are only {length} positions")
    mask = longformer_mask(length, window, range(n_global))
    random = torch.rand(length, length, generator=torch.Generator().manual_seed(seed))
    chosen = random.argsort(dim=-1, stable=True)[:, :n_random]  # (length, n_random)
    return mask.scatter(-1, chosen, value=True)


def sink_mask(length: int, window: int, n_sinks: int) -> Tensor:
    """Let position i look at the first n_sinks positions and the last `window`, including itself.

    Here, `window` counts the position itself, as in KVCache. In sliding_window_mask, it does not.

    Returns: (length, length) boolean, causal
    Raises:  TypeError, ValueError if a size is not an int or is too small
    Source:  Xiao et al. 2024, §3
    """
    check_size("length", length, at_least=0)
    check_window(window)
    check_size("n_sinks", n_sinks, at_least=0)
    keys = torch.arange(length)
    ago = keys[:, None] - keys  # (L, L), i - j
    return (ago >= 0) & ((ago < window) | (keys < n_sinks))
