"""Errors about any tensor: its dtype, its device, its shape and its ids."""

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


def check_sequences(**tensors: Tensor) -> None:
    """Require one sequence or a batch, (L, D) or (B, L, D), of matching sizes."""
    for name, x in tensors.items():
        if x.dim() > 3:
            raise ValueError(f"{name} has shape {shape(x)}: it must be (L, D) or (B, L, D)")
    leading(**tensors)


def check_dtype_and_device(**tensors: Tensor) -> None:
    """Require the same dtype and device for all tensors."""
    for attribute in ("dtype", "device"):
        values = [getattr(x, attribute) for x in tensors.values()]
        if any(value != values[0] for value in values):
            listed = ", ".join(f"{name}: {getattr(x, attribute)}" for name, x in tensors.items())
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
    lowest, highest = extremes(ids)
    if not 0 <= lowest <= highest < vocabulary_size:
        raise ValueError(
            f"{name} has ids from {lowest} to {highest}: "
            f"the vocabulary has ids from 0 to {vocabulary_size - 1}"
        )


def extremes(ids: Tensor) -> tuple[int, int]:
    """The smallest and the largest id, in one read, for which the CPU waits for a GPU.

    Ids that have no values count as 0: those of an empty batch, on the meta device, and while
    PyTorch compiles, exports or maps a function.
    """
    if torch.compiler.is_compiling() or ids.numel() == 0:
        return 0, 0
    try:
        lowest, highest = torch.stack(ids.aminmax()).tolist()
    except RuntimeError:  # torch.vmap and the meta device refuse to give out numbers
        return 0, 0
    return lowest, highest


def leading(**tensors: Tensor) -> torch.Size:
    """The leading dimensions that the tensors, all (..., L, D), broadcast to."""
    shapes = [x.shape[:-2] for x in tensors.values()]
    if all(each == shapes[0] for each in shapes):
        return shapes[0]  # the usual case: skip broadcast_shapes, which takes 0.1 ms
    try:
        return torch.broadcast_shapes(*shapes)
    except RuntimeError:
        *some, last = (f"{name} {shape(x)}" for name, x in tensors.items())
        raise ValueError(
            f"the leading dimensions of {', '.join(some)} and {last} do not broadcast"
        ) from None


def fits(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether the given shape broadcasts to the wanted one without enlarging it."""
    if len(given) > len(wanted):
        return False
    last = wanted[len(wanted) - len(given) :]
    return all(size in (1, to) for size, to in zip(given, last, strict=True))


def shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
