"""Masks in the form that the examined code takes."""

import torch
from torch import Tensor

from attnbook.examination.facts import Facts


def random_keep(shape: tuple[int, int, int], form: str) -> Tensor:
    """Draw which keys each query may see: always the first, and not the same in two sentences.

    Shapes:  (B, Lq, Lk), boolean; without an axis of a form, it is the same along that axis
    """
    b, n_queries, n_keys = shape
    keep = torch.rand(b, 1 if form == "BL" else n_queries, n_keys) < 0.6
    keep[..., 0] = True
    if form != "BL":  # otherwise a key that no query sees looks like another mistake
        keep[:, 1] |= ~keep.any(1)
    elif b > 1:
        keep[0, :, 1], keep[1, :, 1] = False, True
    if form == "LL":
        keep = keep[:1]
    return keep.expand(shape).clone()


def in_form(keep: Tensor, facts: Facts, n_heads: int) -> Tensor:
    """Turn (B, Lq, Lk), True = may look, into the shape and the meaning that were said."""
    form = facts.form
    if form == "LL":
        keep = keep[0]
    elif form == "BL":
        keep = keep[:, -1]
    elif form == "B1LL":
        keep = keep[:, None]
    elif form == "BHLL":
        keep = keep[:, None].expand(-1, n_heads, -1, -1)
    if facts.mask == "hide":
        return ~keep
    if facts.mask == "keep01":
        return keep.float()
    if facts.mask == "add":
        return torch.zeros(keep.shape).masked_fill(~keep, -torch.inf)
    return keep


def causal_rows(n_queries: int, n_keys: int, window: int | None = None) -> Tensor:
    """Which keys the last n_queries of n_keys rows may see: (Lq, Lk)."""
    queries = torch.arange(n_keys - n_queries, n_keys)[:, None]
    keys = torch.arange(n_keys)
    keep = keys <= queries
    return keep if window is None else keep & (keys > queries - window)
