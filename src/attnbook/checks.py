"""The errors of the library: each gives the values found and the rule that they break.

Arguments are checked before any arithmetic, so that readers see a sentence about queries and keys
instead of a message from inside a matrix product. A non-tensor is a TypeError; a tensor that does
not fit is a ValueError. (The module is longer than others because all checks are here, so that
the modules shown in chapters contain only mathematics.)
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def check_tensor(name: str, x: Tensor) -> None:
    """Require a tensor, whatever its dtype."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}")


def check_float_tensor(name: str, x: Tensor) -> None:
    """Require a floating-point tensor."""
    check_tensor(name, x)
    if not x.is_floating_point():
        raise ValueError(f"{name} has dtype {x.dtype}: it must be floating point")


def check_size(name: str, size: int, *, at_least: int = 1) -> None:
    """Require a whole number that is not too small."""
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"{name} must be an int, got {type(size).__name__}")
    if size < at_least:
        raise ValueError(f"{name}={size}: it must be at least {at_least}")


def check_positions(name: str, positions: Sequence[int], length: int) -> None:
    """Require whole numbers from 0 to length − 1."""
    for position in positions:
        check_size(f"one of {name}", position, at_least=0)
        if position >= length:
            raise ValueError(f"{name} has {position}, but the last position is {length - 1}")


def check_heads(d_model: int, n_heads: int) -> None:
    """Require the number of heads to divide d_model."""
    check_size("d_model", d_model)
    check_size("n_heads", n_heads)
    if d_model % n_heads:
        raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")


def check_groups(n_heads: int, n_kv_heads: int) -> None:
    """Require the number of key heads to divide the number of query heads."""
    check_size("n_heads", n_heads)
    check_size("n_kv_heads", n_kv_heads)
    if n_heads % n_kv_heads:
        raise ValueError(
            f"n_heads={n_heads} is not divisible by n_kv_heads={n_kv_heads}: "
            "each key head serves the same number of query heads"
        )


def check_even(name: str, size: int) -> None:
    """Require a size that can be split into pairs."""
    check_size(name, size)
    if size % 2:
        raise ValueError(f"{name}={size} is odd: its columns are taken in pairs")


def check_rows(name: str, x: Tensor) -> None:
    """Require a floating-point tensor (..., length, width)."""
    check_float_tensor(name, x)
    if x.dim() < 2:
        raise ValueError(f"{name} has shape {shape(x)}: it needs at least (length, width)")


def check_width(name: str, x: Tensor, width: int, width_name: str) -> None:
    """Require rows of this width: a floating-point tensor (..., L, width)."""
    check_rows(name, x)
    if x.size(-1) != width:
        raise ValueError(
            f"{name} has shape {shape(x)}, so its rows have width {x.size(-1)}: "
            f"{width_name}={width} is expected"
        )


def check_softmax(x: Tensor, dim: int, where: Tensor | None) -> None:
    """Require the arguments that `softmax` documents."""
    check_float_tensor("x", x)
    if not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim={dim} is out of range for x with {x.dim()} dimensions")
    if where is not None:
        check_mask(where, "where")
        if where.device != x.device or not fits(shape(where), shape(x)):
            raise ValueError(
                f"where has shape {shape(where)} on {where.device}: it must broadcast to x of "
                f"shape {shape(x)} on {x.device}"
            )


def check_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None
) -> None:
    """Require the arguments that `scaled_dot_product_attention` documents."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        check_rows(name, x)
    check_dtype_and_device(query=query, key=key, value=value)
    if query.size(-1) == 0:
        raise ValueError("query has width 0: a dot product needs at least one number per row")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"query has width {query.size(-1)} but key has width {key.size(-1)}: "
            "a dot product needs rows of equal width"
        )
    check_values(key, value)
    leading(query=query, key=key, value=value)
    scores = (*leading(query=query, key=key), query.size(-2), key.size(-2))
    if mask is not None:
        check_mask(mask)
        check_fits("mask", mask, scores, query)
    if bias is not None:
        check_float_tensor("bias", bias)
        check_fits("bias", bias, scores, query)


def check_values(key: Tensor, value: Tensor) -> None:
    """Require as many values as keys."""
    if key.size(-2) != value.size(-2):
        raise ValueError(
            f"key has {rows(key.size(-2))} but value has {value.size(-2)}: each key needs one value"
        )


def check_source_length(z: Tensor, n_cached: int) -> None:
    """Require z to be as long as the cached source, unless the cross-attention's cache is empty."""
    if n_cached not in (0, z.size(-2)):
        raise ValueError(
            f"z has {rows(z.size(-2))} but the cache has {n_cached}: a cache serves one source"
        )


def check_one_sequence(query: Tensor, key: Tensor, rule: str) -> None:
    """Require as many queries as keys, because the rule compares their positions."""
    if query.size(-2) != key.size(-2):
        raise ValueError(
            f"query has {rows(query.size(-2))} and key has {key.size(-2)}: "
            f"{rule} compares positions of one sequence"
        )


def check_causal(causal: bool, query: Tensor, key: Tensor, mask: Tensor | None) -> None:
    """With causal=True, require a single sequence and no mask."""
    if causal:
        check_one_sequence(query, key, "causal=True")
    if causal and mask is not None:
        raise ValueError(
            "causal=True and a mask were given: combine_masks(mask, causal_mask(L)) makes one mask"
        )


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
        check_fits("bias", bias, (*batch, n_heads, query.size(-2), n_keys), query)


def check_sequences(**tensors: Tensor) -> None:
    """Require one sequence or a batch, (L, D) or (B, L, D), of matching sizes."""
    for name, x in tensors.items():
        if x.dim() > 3:
            raise ValueError(f"{name} has shape {shape(x)}: it must be (L, D) or (B, L, D)")
    leading(**tensors)


def check_dtype_and_device(**tensors: Tensor) -> None:
    """Require the same dtype and device for all tensors."""
    for attribute in ("dtype", "device"):
        values = {name: str(getattr(x, attribute)) for name, x in tensors.items()}
        if len(set(values.values())) > 1:
            listed = ", ".join(f"{name}: {value}" for name, value in values.items())
            raise ValueError(f"the tensors must share one {attribute}, got {listed}")


def check_ids(name: str, ids: Tensor, vocabulary_size: int) -> None:
    """Require a batch of sentences as vocabulary ids: whole numbers (B, L)."""
    check_tensor(name, ids)
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            f"{name} has dtype {ids.dtype}: ids are whole numbers, such as torch.int64"
        )
    if ids.dim() != 2:
        raise ValueError(
            f"{name} has shape {shape(ids)}: it must be (B, L), a batch of sentences. "
            f"Make a batch of one sentence with {name}[None]"
        )
    if ids.numel() and not 0 <= ids.min() <= ids.max() < vocabulary_size:
        raise ValueError(
            f"{name} has ids from {ids.min()} to {ids.max()}: "
            f"the vocabulary has ids from 0 to {vocabulary_size - 1}"
        )


def check_fits(name: str, x: Tensor, scores: tuple[int, ...], query: Tensor) -> None:
    """Require x to broadcast to the scores without enlarging them, on the same device."""
    if x.device != query.device:
        raise ValueError(f"{name} is on {x.device} but query is on {query.device}")
    if not fits(shape(x), scores):
        raise ValueError(
            f"{name} of shape {shape(x)} does not broadcast to the scores (..., Lq, Lk) = {scores}"
        )


def check_first_derivative(name: str) -> None:
    """Refuse to build a graph for second derivatives in the backward pass of a Function."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"{name} has first derivatives only, and create_graph=True asks for more: "
            "use scaled_dot_product_attention"
        )


def fits(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether the given shape broadcasts to the wanted one without enlarging it."""
    pairs = zip(reversed(given), reversed(wanted), strict=False)
    return len(given) <= len(wanted) and all(size in (1, to) for size, to in pairs)


def leading(**tensors: Tensor) -> torch.Size:
    """The leading dimensions that the tensors, all (..., L, D), broadcast to."""
    first, *others = (x.shape[:-2] for x in tensors.values())
    if all(
        other == first for other in others
    ):  # the usual case: skip broadcast_shapes, which takes a tenth of a millisecond
        return first
    try:
        return torch.broadcast_shapes(*(x.shape[:-2] for x in tensors.values()))
    except RuntimeError:
        *some, last = (f"{name} {shape(x)}" for name, x in tensors.items())
        raise ValueError(
            f"the leading dimensions of {', '.join(some)} and {last} do not broadcast"
        ) from None


def shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
