"""Errors about a mask or a bias: its dtype and the scores to which it has to broadcast."""

import torch
from torch import Tensor

from attnbook.checks.tensors import check_float_tensor, check_tensor, fits, leading, shape


def check_mask(mask: Tensor, name: str = "mask") -> None:
    """Require a boolean tensor."""
    check_tensor(name, mask)
    if mask.dtype != torch.bool:
        raise ValueError(
            f"{name} has dtype {mask.dtype}: it must be boolean, True where a query may look. "
            "For numbers to be added to the scores use bias="
        )


def check_bias(
    bias: Tensor | None, query: Tensor, key: Tensor, n_heads: int, n_cached: int
) -> None:
    """Require a bias that broadcasts to (..., H, Lq, Lk), where Lk counts cached keys too."""
    if bias is not None:
        check_float_tensor("bias", bias)
        batch, n_keys = leading(query=query, key=key), n_cached + key.size(-2)
        scores = (*batch, n_heads, query.size(-2), n_keys)
        if bias.dim() == 3 and not fits(shape(bias), scores) and bias.size(0) in batch:
            raise ValueError(
                f"bias has shape {shape(bias)}: three axes are (H, Lq, Lk), and H = {n_heads}. "
                "To give each sentence its own bias, add an axis for the heads: bias[:, None]"
            )
        check_fits("bias", bias, scores, query)


def check_source_mask(mask: Tensor | None, n: int, length: int) -> None:
    """Require one row for each sentence or for all: encoder and decoder use it for every query."""
    if mask is None:
        return
    check_mask(mask, "source_mask")
    if mask.dim() < 2 or not fits((mask.size(0), *mask.shape[-2:]), (n, 1, length)):
        raise ValueError(
            f"source_mask has shape {shape(mask)}: it must be (B, 1, Ls) = {(n, 1, length)}, "
            "or (1, Ls) for all sentences"
        )


def check_prompt_mask(mask: Tensor, tokens: Tensor, n_cached: int, windows: list[int]) -> None:
    """Require one row for each text, in which cached tokens come first, and caches that keep all.

    A cache with a window forgets how many of the tokens that it has dropped were padding.
    """
    check_mask(mask)
    wanted = (tokens.size(0), 1, n_cached + tokens.size(1))
    if shape(mask) != wanted or mask.device != tokens.device:
        raise ValueError(
            f"mask has shape {shape(mask)} on {mask.device}: it must be (B, 1, Lk) = {wanted} on "
            f"{tokens.device}, False at padding"
        )
    if windows:
        raise ValueError(
            f"a mask was given, and a cache has window={windows[0]}: what it drops could be padding"
        )


def check_fits(name: str, x: Tensor, scores: tuple[int, ...], query: Tensor) -> None:
    """Require x to broadcast to the scores without enlarging them, on the same device."""
    if x.device != query.device:
        raise ValueError(f"{name} is on {x.device} but query is on {query.device}")
    if not fits(shape(x), scores):
        raise ValueError(
            f"{name} of shape {shape(x)} does not broadcast to the scores (..., Lq, Lk) = {scores}"
        )
