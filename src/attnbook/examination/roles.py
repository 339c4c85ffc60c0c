"""Queries, keys and values, seen while attention runs: whose they are, and how they are rotated."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.examination.exam import Exam
from attnbook.examination.trace import Seen, attentions, traced
from attnbook.language import _


def check_roles(exam: Exam, run: Callable[[], Any]) -> bool:
    """Find attention in which the same rows have two roles; return whether there is one.

    If all three are the same, there are no matrices, which is meant.
    """
    names = {"q": _("queries"), "k": _("keys"), "v": _("values")}
    for seen in attentions(traced(run)):
        rows = seen._asdict()
        for first, second in ("qk", "qv", "kv"):
            (third,) = set("qkv") - {first, second}
            if equal(rows[first], rows[second]) and not equal(rows[first], rows[third]):
                sentence = _(
                    "The {first} and the {second} of an attention {shape} are the same numbers. "
                    "Each needs a matrix of its own."
                ).format(first=names[first], second=names[second], shape=(*seen.q.shape,))
                exam.report.add("values" if second == "v" else "numbers", sentence)
                return True
        if tiled(exam, seen.k):
            return True
    return False


def tiled(exam: Exam, keys: Tensor) -> bool:
    """Find key heads 0 1 that are used as 0 1 0 1, and not as 0 0 1 1."""
    n_heads = keys.size(-3) if keys.dim() == 4 else 0
    heads = keys.transpose(0, 1) if n_heads else keys
    first = [next(j for j in range(n_heads) if equal(heads[i], heads[j])) for i in range(n_heads)]
    n_kv = len(set(first))
    if n_kv in (0, 1, n_heads) or first != [i % n_kv for i in range(n_heads)]:
        return False
    sentence = _(
        "Query heads 0 … {last} use key heads {order}: the set of key heads is repeated. Repeat "
        "each of them instead, with `repeat_interleave`."
    )
    order = " ".join(map(str, first))
    exam.report.add("groups", sentence.format(last=n_heads - 1, order=order))
    return True


def equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a, b)


def check_rotations(exam: Exam, run: Callable[[Tensor], Any], a: Tensor, b: Tensor) -> bool:
    """Rotated rows must have scores that depend on their distance only; return whether they do not.

    `a` and `b` are inputs whose rows are all equal. What is rotated differs between them by what
    depends on the position; what is added, such as a table of positions, does not.
    """
    exam.report.attempt(_("the same row at each position"))
    pairs = zip(
        attentions(traced(lambda: run(a))), attentions(traced(lambda: run(b))), strict=False
    )
    for one, other in pairs:
        if one.q.shape[-2] != one.k.shape[-2] or one.q.shape[-2] != a.size(1):
            return False
        if one.q.shape != other.q.shape:
            return False
        q, k, v = (is_turned(x, y) for x, y in zip(one, other, strict=True))
        if v and is_constant(lengths(one.v)):
            exam.report.add("rotary", values_sentence())
            return True
        if v or not is_constant(one.v):
            return False
        if not (q or k) or is_stationary(one):
            continue
        if q != k and is_constant(lengths(one.q)) and is_constant(lengths(one.k)):
            exam.report.add("rotary", one_sided_sentence(_("queries") if q else _("keys")))
            return True
        sentence = _(
            "With the same row at each position, the products of queries and keys should depend on "
            "their distance only, and those at distance 1 are {first:.3g}, {second:.3g}, … So "
            "the rotation is wrong (the angles and the pairs do not belong together, or a sign is "
            "wrong), or what follows it depends on the position, such as a norm."
        )
        dots = diagonals(one.q, one.k)[1].flatten()
        exam.report.add("rotary", sentence.format(first=dots[0].item(), second=dots[1].item()))
        return True
    return False


def values_sentence() -> str:
    return _(
        "With the same row at each position, the values should be equal. They have equal lengths "
        "and different directions: they are rotated, too. Rotate queries and keys only."
    )


def one_sided_sentence(rotated: str) -> str:
    sentence = _(
        "With the same row at each position, only the {rotated} turn with the position. Rotate "
        "both queries and keys: then their products depend on their distance only."
    )
    return sentence.format(rotated=rotated)


def is_turned(a: Tensor, b: Tensor) -> bool:
    """Whether rows differ in a way that adding something to each position does not explain."""
    return not is_constant(a - b, beside=a)


def is_constant(rows: Tensor, beside: Tensor | None = None) -> bool:
    """Whether all rows are equal but for rounding."""
    size = (rows if beside is None else beside).abs().max()
    return bool((rows - rows[..., :1, :]).abs().max() <= 1e-4 * size)


def lengths(rows: Tensor) -> Tensor:
    """Return the length of each row: (..., L, d) -> (..., L, 1)."""
    return rows.norm(dim=-1, keepdim=True)


def diagonals(q: Tensor, k: Tensor) -> list[Tensor]:
    """Return the products of queries and keys at distances 0, 1, 2 of the first head."""
    q, k = (t.reshape(-1, *t.shape[-2:])[0] for t in (q, k))
    return [(q @ k.mT).diagonal(-distance) for distance in range(3)]


def is_stationary(seen: Seen) -> bool:
    """Whether products of queries and keys depend on the distance only.

    Their lengths may depend on the position, as with a scale that grows with the number of keys.
    """
    lines = diagonals(*(t / lengths(t).clamp(min=1e-12) for t in (seen.q, seen.k)))
    size = max(line.abs().max() for line in lines)
    return all(bool((line - line[0]).abs().max() <= 1e-3 * size) for line in lines)
