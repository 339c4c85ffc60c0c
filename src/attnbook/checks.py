"""The errors of the library: each names the numbers it met and the rule they break.

Arguments are checked before any arithmetic, so that a reader meets a sentence about queries and
keys, not a message from inside a matrix product. What is no tensor is a TypeError; a tensor that
does not fit is a ValueError.
"""

import torch
from torch import Tensor


def check_tensor(name: str, x: object) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}")


def check_float_tensor(name: str, x: object) -> None:
    check_tensor(name, x)
    assert isinstance(x, Tensor)
    if not x.is_floating_point():
        raise ValueError(f"{name} has dtype {x.dtype}: it must be floating point")


def check_size(name: str, size: object, *, at_least: int = 1) -> None:
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"{name} must be an int, got {type(size).__name__}")
    if size < at_least:
        raise ValueError(f"{name}={size}: it must be at least {at_least}")


def check_heads(d_model: object, n_heads: object) -> None:
    """Demand sizes of which the second divides the first."""
    check_size("d_model", d_model)
    check_size("n_heads", n_heads)
    assert isinstance(d_model, int)
    assert isinstance(n_heads, int)
    if d_model % n_heads:
        raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")


def check_width(name: str, x: object, width: int, width_name: str) -> None:
    """Demand rows: a floating-point tensor (..., L, width)."""
    check_float_tensor(name, x)
    assert isinstance(x, Tensor)
    if x.dim() < 2:
        raise ValueError(f"{name} has shape {shape(x)}: it needs at least (length, width)")
    if x.size(-1) != width:
        raise ValueError(
            f"{name} has shape {shape(x)}, so its rows have width {x.size(-1)}: "
            f"{width_name}={width} is expected"
        )


def check_attention(query: object, key: object, value: object, mask: object, bias: object) -> None:
    """Demand what `scaled_dot_product_attention` documents, before any arithmetic."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_float_tensor(name, x)
        assert isinstance(x, Tensor)
        if x.dim() < 2:
            raise ValueError(f"{name} has shape {shape(x)}: it needs at least (length, width)")
    assert isinstance(query, Tensor)
    assert isinstance(key, Tensor)
    assert isinstance(value, Tensor)
    check_alike(query=query, key=key, value=value)
    if query.size(-1) == 0:
        raise ValueError("query has width 0: a dot product needs at least one number per row")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"query has width {query.size(-1)} but key has width {key.size(-1)}: "
            "a dot product needs rows of equal width"
        )
    if key.size(-2) != value.size(-2):
        raise ValueError(
            f"key has {rows(key.size(-2))} but value has {value.size(-2)}: each key needs one value"
        )
    scores = (*leading(query, key, value), query.size(-2), key.size(-2))
    if mask is not None:
        check_mask(mask)
        assert isinstance(mask, Tensor)
        check_fits("mask", mask, scores, query)
    if bias is not None:
        check_float_tensor("bias", bias)
        assert isinstance(bias, Tensor)
        check_fits("bias", bias, scores, query)


def check_mask(mask: object) -> None:
    check_tensor("mask", mask)
    assert isinstance(mask, Tensor)
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask has dtype {mask.dtype}: it must be boolean, True where a query may look. "
            "For numbers to be added to the scores use bias="
        )


def check_head_mask(mask: Tensor | None, query: Tensor, key: Tensor, n_heads: int) -> Tensor | None:
    """Give a mask the axis of the heads: (Lq, Lk) and (B, 1 or Lq, Lk) become (…, 1, …, Lk)."""
    for name, x in (("query", query), ("key", key)):
        if x.dim() > 3:
            raise ValueError(f"{name} has shape {shape(x)}: it must be (L, D) or (B, L, D)")
    batch = leading(query, key, key)
    if mask is None:
        return None
    check_mask(mask)
    if mask.dim() == 3:
        mask = mask.unsqueeze(1)
    elif mask.dim() not in (2, 4):
        raise ValueError(
            f"mask has shape {shape(mask)}: it must be (Lq, Lk), (B, 1 or Lq, Lk) "
            "or (B, 1 or H, Lq, Lk)"
        )
    scores = (*batch, n_heads, query.size(-2), key.size(-2))
    check_fits("mask", mask, scores, query)
    return mask


def check_alike(**tensors: Tensor) -> None:
    """Demand one dtype and one device of all."""
    for what in ("dtype", "device"):
        found = {name: str(getattr(x, what)) for name, x in tensors.items()}
        if len(set(found.values())) > 1:
            listed = ", ".join(f"{name}: {kind}" for name, kind in found.items())
            raise ValueError(f"the tensors must share one {what}, got {listed}")


def check_fits(name: str, x: Tensor, scores: tuple[int, ...], query: Tensor) -> None:
    """Demand that x broadcasts to the scores without enlarging them, on the same device."""
    if x.device != query.device:
        raise ValueError(f"{name} is on {x.device} but query is on {query.device}")
    try:
        fits = torch.broadcast_shapes(x.shape, scores) == torch.Size(scores)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} of shape {shape(x)} does not broadcast to the scores (..., Lq, Lk) = {scores}"
        )


def leading(query: Tensor, key: Tensor, value: Tensor) -> torch.Size:
    """The leading dimensions that query, key and value broadcast to."""
    try:
        return torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    except RuntimeError:
        raise ValueError(
            f"the leading dimensions of query {shape(query)}, key {shape(key)} and "
            f"value {shape(value)} do not broadcast"
        ) from None


def shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
