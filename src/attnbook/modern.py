"""What came after the Transformer of 2017."""

import torch
from torch import Tensor

from attnbook.checks import check_alike, check_rows


class KVCache:
    """The keys and values of all positions seen so far, so that none is computed twice.

    A row's key and value depend on that row alone. Where rows come one by one, as in decoding, the
    old ones stay as they are and only the new ones have to be made.

    Shapes:  key (..., L, Dk), value (..., L, Dv), mostly (B, H, L, Dk); None before the first
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    @property
    def length(self) -> int:
        """How many positions are in it."""
        return 0 if self.key is None else self.key.size(-2)

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new positions at the end, and give back all of them.

        Shapes:  key (..., new, Dk), value (..., new, Dv) -> (..., L, Dk), (..., L, Dv)
        Raises:  ValueError if they do not continue what is there
        """
        for name, new, old in (("key", key, self.key), ("value", value, self.value)):
            check_rows(name, new)
            if old is None:
                continue
            check_alike(**{name: new, "the cache": old})
            if (new.shape[:-2], new.shape[-1]) != (old.shape[:-2], old.shape[-1]):
                raise ValueError(
                    f"{name} has shape {tuple(new.shape)} but the cache has {tuple(old.shape)}: "
                    "all but the length must be the same"
                )
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(
                f"key has shape {tuple(key.shape)} but value has {tuple(value.shape)}: "
                "each key needs one value"
            )
        if self.key is not None and self.value is not None:
            key, value = torch.cat((self.key, key), dim=-2), torch.cat((self.value, value), dim=-2)
        self.key, self.value = key, value
        return key, value

    def select(self, rows: Tensor) -> None:
        """Keep of the batch these rows, in this order; one may come twice, as in a beam."""
        if self.key is not None and self.value is not None:
            self.key, self.value = self.key[rows], self.value[rows]
