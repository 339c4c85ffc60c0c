"""Rebuild a layer's numbers from its own matrices, right or with one known mistake."""

from typing import NamedTuple

from torch import Tensor

from attnbook.examination.layer_input import LayerInput
from attnbook.examination.projections import Projections
from attnbook.examination.reference import run_head
from attnbook.mistakes.head import RIGHT, Head


class Projected(NamedTuple):
    """Queries, keys and values (B, L, H · d), as one reading of the matrices gives them."""

    reading: Projections
    q: Tensor
    k: Tensor
    v: Tensor


def project(given: LayerInput, reading: Projections) -> Projected | None:
    """Apply the matrices to the rows; return None if the shapes do not fit."""
    x = given.x.to(given.exam.subject.device, given.exam.subject.dtype)
    context = x if given.context is None else given.context.to(x)
    try:
        rows = reading.q(x), reading.k(context), reading.v(context)
    except (RuntimeError, IndexError):
        return None
    return Projected(reading, *(each.cpu() for each in rows))


class Rebuilt(NamedTuple):
    """A layer of our own with the same matrices: how heads are split and joined, and the head."""

    head: Head = RIGHT
    split: str = "transpose"
    join: str = "transpose"
    tiled: bool = False  # the key heads 0 1 as 0 1 0 1
    roles: str = "qkv"  # which rows are used as queries, keys and values

    def output(self, given: LayerInput, found: Projected) -> Tensor | None:
        """Return what this layer gives, or None if the shapes do not fit."""
        h = found.reading.n_heads
        try:
            rows = {"q": found.q, "k": found.k, "v": found.v}
            q, k, v = (rows[role] for role in self.roles)
            width = q.size(-1) // h
            q = split_heads(q, h, self.split)
            k = split_heads(k, k.size(-1) // width, self.split)
            v = split_heads(v, k.size(1), self.split)
            if k.size(1) != h:
                k, v = (repeated(t, h, self.tiled) for t in (k, v))
            y = run_head(self.head, q, k, v, given.scores_keep)
            if y is None:
                return None
            return found.reading.out(join_heads(y, self.join).to(given.exam.subject.device)).cpu()
        except (RuntimeError, IndexError, ZeroDivisionError):
            return None

    def fits(self, given: LayerInput, found: Projected, output: Tensor) -> bool:
        """Whether this layer gives the same numbers."""
        own = self.output(given, found)
        return (
            own is not None and own.shape == output.shape and given.exam.subject.same(output, own)
        )


def split_heads(x: Tensor, n_heads: int, how: str) -> Tensor:
    """Split (B, L, H · d) into (B, H, L, d), correctly or by view alone."""
    b, n, width = x.shape
    if how == "view":
        return x.reshape(b, n_heads, n, width // n_heads)
    return x.unflatten(-1, (n_heads, width // n_heads)).transpose(1, 2)


def join_heads(y: Tensor, how: str) -> Tensor:
    """Join (B, H, L, d) to (B, L, H · d), correctly or by view alone."""
    b, n_heads, n, width = y.shape
    return (y if how == "view" else y.transpose(1, 2)).reshape(b, n, n_heads * width)


def repeated(x: Tensor, n_heads: int, tiled: bool) -> Tensor:
    times = n_heads // x.size(1)
    return x.repeat(1, times, 1, 1) if tiled else x.repeat_interleave(times, 1)
