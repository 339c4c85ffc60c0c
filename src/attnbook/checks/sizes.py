"""Errors about whole numbers: lengths, widths, numbers of heads."""

from collections.abc import Sequence


def check_size(name: str, size: int, *, at_least: int = 1, because: str = "") -> None:
    """Require a whole number that is not too small; `because` says why a smaller one would be."""
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"{name} must be an int, got {type(size).__name__}")
    if size < at_least:
        why = f", because {because}" if because else ""
        raise ValueError(f"{name}={size}: it must be at least {at_least}{why}")


def check_window(window: int) -> None:
    """Require the size of a window that counts the position itself."""
    check_size("window", window, because="it counts the position itself")


def check_reach(window: int) -> None:
    """Require the size of a window that does not count the position itself."""
    check_size("window", window, at_least=0, because="it does not count the position itself")


def check_positions(name: str, positions: Sequence[int], length: int) -> None:
    """Require whole numbers from 0 to length − 1."""
    for position in positions:
        check_size(f"one of {name}", position, at_least=0)
        if position >= length:
            raise ValueError(f"{name} has {position}, but the last position is {length - 1}")


def check_even(name: str, size: int) -> None:
    """Require a size that can be split into pairs."""
    check_size(name, size)
    if size % 2:
        raise ValueError(f"{name}={size} is odd: its columns are taken in pairs")


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
