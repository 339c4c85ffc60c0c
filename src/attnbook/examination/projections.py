"""Guess which matrix of a layer makes queries, keys and values, and in how many heads."""

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor, nn

from attnbook.examination.facts import Facts
from attnbook.examination.matrices import Apply, Matrix, matrices_of

N_HEADS = re.compile(r"(n|num|nb|n_?o)?_?(attention|attn|query|q)?_?(heads?|h)", re.IGNORECASE)
GUESSES = (4, 2, 8, 1, 3, 6, 12, 16)  # of the number of heads, if no attribute tells


class Projections(NamedTuple):
    """Functions from rows to queries, keys, values, and from the joined heads to the output.

    `usual` means that names or the usual order tell the roles; otherwise they are guessed. `n_in`
    is how wide the rows are that the matrices take.
    """

    n_heads: int
    q: Apply
    k: Apply
    v: Apply
    out: Apply
    width: int  # of the queries of all heads
    n_in: int
    usual: bool


def same(x: Tensor) -> Tensor:
    return x


def numbers_of_heads(layer: nn.Module, facts: Facts, width: int) -> list[int]:
    """List the possible numbers of heads, the most probable first."""
    if facts.n_heads:
        return [facts.n_heads]
    named = [
        value
        for module in layer.modules()
        for name, value in vars(module).items()
        if N_HEADS.fullmatch(name) and type(value) is int and value > 0
    ]
    guesses = [*named, 1] if named else GUESSES
    return [n for n in dict.fromkeys(guesses) if width % n == 0]


def readings(layer: nn.Module, facts: Facts) -> Iterator[Projections]:
    """Yield the ways to read a layer's matrices, the most probable first."""
    for matrices in matrices_of(layer):
        by_role: dict[str, list[Matrix]] = {}
        for matrix in matrices:
            by_role.setdefault(matrix.role, []).append(matrix)
        if not 1 <= len(matrices) <= 5:
            continue
        yield from by_name(layer, facts, by_role)
        if len(matrices) <= 2:
            yield from fused(layer, facts, matrices)
        if not all(by_role.get(role) for role in "qkv") and len(matrices) in (3, 4):
            yield from by_order(layer, facts, matrices)


def by_name(
    layer: nn.Module, facts: Facts, by_role: dict[str, list[Matrix]]
) -> Iterator[Projections]:
    """Read matrices whose names tell their roles."""
    if not by_role.get("q"):
        return
    (q,) = by_role["q"][:1]
    named = {id(m) for role in ("q", "k", "v", "kv") for m in by_role.get(role, [])[:1]}
    rest = [m for ms in by_role.values() for m in ms if id(m) not in named]
    if len(rest) > 1:
        return
    out = rest[0].apply if rest else same
    if by_role.get("k") and by_role.get("v"):
        k, v = by_role["k"][0], by_role["v"][0]
        yield from with_heads(layer, facts, (q, k, v), out, usual=True)
    elif by_role.get("kv"):
        (kv,) = by_role["kv"][:1]
        for first in (0, 1):
            k, v = (half(kv, i) for i in (first, 1 - first))
            yield from with_heads(layer, facts, (q, k, v), out, usual=first == 0)


def half(matrix: Matrix, i: int) -> Matrix:
    """Return the left or the right half of a matrix."""
    return Matrix(
        matrix.name, "", lambda x: matrix.apply(x).chunk(2, -1)[i], matrix.n_in, matrix.n_out // 2
    )


def by_order(layer: nn.Module, facts: Facts, matrices: list[Matrix]) -> Iterator[Projections]:
    """Read three or four matrices whose names do not tell their roles, in each order."""
    choices = [(matrices[:3], matrices[3:])]
    if len(matrices) == 4:
        choices = [([*matrices[:i], *matrices[i + 1 :]], [matrices[i]]) for i in (3, 0, 1, 2)]
    for three, rest in choices:
        out = rest[0].apply if rest else same
        for q, k, v in itertools.permutations(three):
            usual = (q, k, v) == tuple(matrices[:3])
            yield from with_heads(layer, facts, (q, k, v), out, usual=usual)


def with_heads(
    layer: nn.Module,
    facts: Facts,
    roles: tuple[Matrix, Matrix, Matrix],
    out: Apply,
    *,
    usual: bool,
) -> Iterator[Projections]:
    """Yield one reading for each possible number of heads."""
    q, k, v = roles
    heads = [q.n_parts] if q.n_parts > 1 else numbers_of_heads(layer, facts, q.n_out)
    for n_heads in heads:
        yield Projections(n_heads, q.apply, k.apply, v.apply, out, q.n_out, q.n_in, usual)


def fused(layer: nn.Module, facts: Facts, matrices: list[Matrix]) -> Iterator[Projections]:
    """Read a matrix that makes queries, keys and values at once, in each order and layout."""
    whole = max(matrices, key=lambda m: m.n_out)
    rest = [m for m in matrices if m is not whole]
    if whole.n_out % 3 or (rest and rest[0].n_in * 3 != whole.n_out):
        return
    out = rest[0].apply if rest else same
    width = whole.n_out // 3
    for n_heads in numbers_of_heads(layer, facts, width):
        for layout in ("3hd", "h3d", "hd3"):
            for order in itertools.permutations(range(3)):
                q, k, v = (piece(whole.apply, i, layout, n_heads) for i in order)
                usual = order == (0, 1, 2) and layout != "hd3"
                yield Projections(n_heads, q, k, v, out, width, whole.n_in, usual)


def piece(apply: Apply, i: int, layout: str, n_heads: int) -> Apply:
    """Return the queries, keys or values of a fused matrix, heads side by side."""

    def cut(x: Tensor) -> Tensor:
        y = apply(x)
        width = y.size(-1) // 3 // n_heads
        sizes = {"3": 3, "h": n_heads, "d": width}
        return (
            y.unflatten(-1, [sizes[axis] for axis in layout])
            .select(x.dim() - 1 + layout.index("3"), i)
            .flatten(-2)
        )

    return cut
