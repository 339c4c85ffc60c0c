"""The key-value cache: it keeps earlier keys and values, so that none are computed twice."""

import torch
from torch import Tensor

from attnbook.checks.attention import check_values
from attnbook.checks.sizes import check_size, check_window
from attnbook.checks.tensors import check_dtype_and_device, check_rows, shape


class KVCache:
    """The keys and values of all positions so far.

    A row's key and value depend only on that row. When rows come one at a time, as in decoding, the
    old keys and values stay the same, and only those of the new row have to be computed.

    With a window, the cache drops keys and values: it keeps the first n_sinks positions, and
    those that the next one may still attend to. As in sink_mask, `window` counts the position
    itself, so it keeps window − 1 of them. Only an empty cache accepts several positions at once;
    attention to them then needs a sink_mask.

    By default, a layer with rotary positions caches rotated keys, and a key keeps its position in
    the text, so the distance to the sinks grows with each step. With rotate_on_read, the cache
    holds keys that are not rotated. The layer rotates them in each step, by their positions in the
    cache: then no distance exceeds what the cache holds, however long the text is.

    Each update copies what is kept into new tensors. (Programs that serve many users write into
    memory that they have reserved.)

    Shapes:  key (..., L, Dk), value (..., L, Dv), mostly (B, H, L, Dk); None in an empty cache
    Raises:  TypeError, ValueError if a size is not an int or is too small
    Source:  Xiao et al. 2024, §3.2 (window and sinks; rotate_on_read, as they do)
    """

    def __init__(
        self, window: int | None = None, n_sinks: int = 0, *, rotate_on_read: bool = False
    ) -> None:
        if window is not None:
            check_window(window)
        check_size("n_sinks", n_sinks, at_least=0)
        if n_sinks and window is None:
            raise ValueError(
                f"n_sinks={n_sinks} needs a window: without one the cache keeps everything"
            )
        self.window, self.n_sinks, self.rotate_on_read = window, n_sinks, rotate_on_read
        self.key: Tensor | None = None
        self.value: Tensor | None = None
        self.length = 0  # positions so far, including dropped ones; the index of the next
        self.source: Tensor | None = None  # in cross-attention, the rows that it was filled from

    @property
    def n_kept(self) -> int:
        """How many positions the cache holds."""
        return 0 if self.key is None else self.key.size(-2)

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new positions, and return the old and new ones together.

        Shapes:  key (..., new, Dk), value (..., new, Dv) -> (..., L, Dk), (..., L, Dv)
        Raises:  ValueError if key or value does not fit the contents of the cache
        """
        check_rows("key", key)
        check_rows("value", value)
        check_values(key, value)
        self._check_window(key.size(-2))
        all_keys, all_values = _append("key", self.key, key), _append("value", self.value, value)
        self.key, self.value = self._forget(all_keys), self._forget(all_values)
        self.length += key.size(-2)
        return all_keys, all_values

    def _check_window(self, new: int) -> None:
        """With a window, several positions at once would each need keys of their own."""
        if self.window is None or new <= 1:
            return
        if self.n_kept:
            raise ValueError(
                f"key has {new} rows: a cache with a window takes one at a time, unless it is empty"
            )
        if self.rotate_on_read and new > self.n_sinks + self.window:
            raise ValueError(
                f"key has {new} rows, but window={self.window} and n_sinks={self.n_sinks} leave "
                f"{self.n_sinks + self.window} positions in the cache: with rotate_on_read, read "
                "the other rows one at a time"
            )

    def _forget(self, x: Tensor) -> Tensor:
        """Keep the sinks and all but one position of the window, so that the next position fits."""
        if self.window is None or x.size(-2) < self.n_sinks + self.window:
            return x
        first_kept = x.size(-2) - self.window + 1
        return torch.cat((x[..., : self.n_sinks, :], x[..., first_kept:, :]), dim=-2)

    def reorder(self, rows: Tensor) -> None:
        """Keep these sequences of the batch, in this order; a beam search may repeat one.

        Raises:  ValueError if the keys are not (B, H, L, Dk)
        """
        if self.key is not None and self.value is not None:
            if self.key.dim() < 4:
                raise ValueError(
                    f"the cache has keys of shape {shape(self.key)}: to reorder sequences, it "
                    "needs a batch axis, (B, H, L, Dk)"
                )
            self.key, self.value = self.key[rows], self.value[rows]
            self.source = None if self.source is None else self.source[rows]


def _append(name: str, old: Tensor | None, new: Tensor) -> Tensor:
    if old is None:
        return new.clone()  # a view would keep the whole tensor in memory
    check_dtype_and_device(**{name: new, "the cache": old})
    if (new.shape[:-2], new.shape[-1]) != (old.shape[:-2], old.shape[-1]):
        raise ValueError(
            f"{name} has shape {tuple(new.shape)} but the cache has {tuple(old.shape)}: "
            "everything but the length must be the same"
        )
    return torch.cat((old, new), dim=-2)
