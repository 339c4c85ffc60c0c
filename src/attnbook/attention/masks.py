"""Masks: which query may look at which key. A mask is boolean, and True means "may look".

`torch.nn.functional.scaled_dot_product_attention` reads boolean masks the same way;
in `torch.nn.MultiheadAttention`, True means the opposite, so pass `~mask` to it.
"""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.checks.masks import check_mask
from attnbook.checks.sizes import check_positions, check_size


def causal_mask(length: int) -> Tensor:
    """Let position i look at positions 0 … i, but not at later ones.

    Returns: (length, length) boolean, True on and below the diagonal
    Raises:  TypeError, ValueError if length is not an int or is negative
    Source:  Vaswani et al. 2017, §3.2.3; S3 §3.2, S4 (whose columns are our rows)
    """
    check_size("length", length, at_least=0)
    return torch.ones(length, length, dtype=torch.bool).tril()


def padding_mask(lengths: Tensor | Sequence[int], max_length: int) -> Tensor:
    """Let every query of sequence b look at its first lengths[b] keys, but not at the padding.

    Shapes:  lengths (B,), whole numbers between 0 and max_length
    Returns: (B, 1, max_length) boolean; the 1 stands for "every query"
    Raises:  TypeError if max_length is not an int; ValueError if lengths is not (B,), not whole
             numbers, or out of range
    """
    check_size("max_length", max_length, at_least=0)
    counts = torch.as_tensor(lengths)
    if counts.dim() != 1:
        raise ValueError(f"lengths has shape {tuple(counts.shape)}: it must be (B,)")
    floating = counts.is_floating_point() or counts.is_complex()
    if counts.numel() and (floating or counts.dtype == torch.bool):
        raise ValueError(f"lengths has dtype {counts.dtype}: it must hold whole numbers")
    if counts.numel() and not 0 <= counts.min() <= counts.max() <= max_length:
        raise ValueError(
            f"lengths run from {counts.min()} to {counts.max()}: "
            f"each must lie between 0 and max_length={max_length}"
        )
    return (torch.arange(max_length, device=counts.device) < counts[:, None])[:, None, :]


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Let a query look only where every mask allows it; None allows everything.

    Shapes:  masks broadcastable to one another, boolean
    Returns: the logical AND of the masks, or None if no mask is given
    Raises:  TypeError if one is not a tensor; ValueError if one is not boolean, they do not
             broadcast or are on different devices, or one is (B, Lq, Lk) and one (B, H, Lq, Lk):
             broadcasting would confuse the sentences of the first with the heads of the second
    """
    given = [mask for mask in masks if mask is not None]
    for mask in given:
        check_mask(mask)
    shapes = [tuple(mask.shape) for mask in given]
    listed = " and ".join(map(str, shapes))
    if {3, 4} <= {mask.dim() for mask in given}:
        raise ValueError(f"masks of shapes {listed}: one has no head axis. Add it: mask[:, None]")
    if len({mask.device for mask in given}) > 1:
        devices = ", ".join(str(mask.device) for mask in given)
        raise ValueError(f"the masks must share one device, got {devices}")
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise ValueError(f"masks of shapes {listed} do not broadcast") from None
    return functools.reduce(torch.logical_and, given) if given else None


def sliding_window_mask(length: int, window: int) -> Tensor:
    """Let each position look at itself and at most `window` positions to the left and to the right.

    Returns: (length, length) boolean, True where |i - j| <= window
    Raises:  TypeError, ValueError if a size is not an int or is negative
    Source:  Beltagy et al. 2020 (Longformer), §3.1; S3 §4.1
    """
    check_size("length", length, at_least=0)
    check_size("window", window, at_least=0)
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


def longformer_mask(length: int, window: int, global_tokens: Sequence[int]) -> Tensor:
    """A sliding window, plus global tokens, which look at all positions and are seen by all.

    Returns: (length, length) boolean
    Raises:  TypeError, ValueError if a size does not fit or a global token is outside the sequence
    Source:  Beltagy et al. 2020 (Longformer), §3.1; S3 §4.1
    """
    mask = sliding_window_mask(length, window)
    check_positions("global_tokens", global_tokens, length)
    for token in global_tokens:
        mask[token, :] = True
        mask[:, token] = True
    return mask


def bigbird_mask(length: int, window: int, n_global: int, n_random: int, seed: int) -> Tensor:
    """A sliding window, n_global global positions at the start, and n_random random keys per row.

    A random key may already be allowed, so a row gains at most n_random keys.

    Returns: (length, length) boolean; the same seed gives the same mask on every machine
    Raises:  TypeError, ValueError if a size is not an int or is negative or too large
    Source:  Zaheer et al. 2020 (BigBird), §2; S3 §4.1
    """
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

    Returns: (length, length) boolean, causal
    Raises:  TypeError, ValueError if a size is not an int or is too small
    Source:  Xiao et al. 2024, §3
    """
    check_size("length", length, at_least=0)
    check_size("window", window)
    check_size("n_sinks", n_sinks, at_least=0)
    keys = torch.arange(length)
    ago = keys[:, None] - keys  # (L, L), i - j
    return (ago >= 0) & ((ago < window) | (keys < n_sinks))
