"""Find a simple relation between a wrong answer and the right one, such as a constant factor."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attnbook.exercises.checker.answers import is_number, matches, to_python
from attnbook.exercises.checker.side_by_side import difference_mask
from attnbook.language import _

Pair = tuple[Any, Any, Mapping[str, int]]  # an answer, the right one, and the case's sizes

# The kinds of relations in which the reader left out a function.
FUNCTIONS = {
    "softmax missing": lambda x: x.softmax(-1),
    "exp missing": torch.exp,
    "root missing": torch.sqrt,
}


def messages() -> dict[str, str]:
    """Return what the reader is told about each kind of relation, with its values in braces."""
    return {
        "negated": _("Your answer is the exact opposite: True where it should be False."),
        "all nan": _("All your numbers are nan."),
        "some nan": _("{count} of your {total} numbers are nan."),
        "some nan, rest right": _("{count} of your {total} numbers are nan. The rest is right."),
        "opposite sign": _("Every number has the opposite sign."),
        "factor": _("Every number is {factor:.4g} times the right one{meaning}."),
        "offset": _("Every number is the right one plus {offset:.4g}."),
        "same factor": _("In all cases, every number is {factor:.4g} times the right one."),
        "same offset added": _("In all cases, every number is the right one plus {size:.4g}."),
        "same offset subtracted": _(
            "In all cases, every number is the right one minus {size:.4g}."
        ),
        "softmax missing": _(
            "a softmax over the last axis is missing: applied to your numbers, it gives the right "
            "ones."
        ),
        "exp missing": _("`exp` is missing: applied to your numbers, it gives the right ones."),
        "root missing": _(
            "a square root is missing: applied to your numbers, it gives the right ones."
        ),
        "nearly right": _(
            "Nearly right: no number is off by more than {largest:.1g}. Is something rounded, or a "
            "small number added or left out?"
        ),
        "transposed": _("Rows and columns are swapped: transposed, your answer would be right."),
        "columns flipped": _("The columns are in reverse order."),
        "rows flipped": _("The rows are in reverse order."),
        "matrices reordered": _("Each matrix is right, but they are in a different order."),
        "one row right": _("Of {total} rows, row {indices} is right."),
        "some rows right": _("Of {total} rows, rows {indices} are right."),
        "one column right": _("Of {total} columns, column {indices} is right."),
        "some columns right": _("Of {total} columns, columns {indices} are right."),
        "reordered": _("The numbers are right, but in the wrong places."),
        "some differ": _("{count} of {total} numbers differ."),
    }


@dataclass(frozen=True)
class Relation:
    """How an answer is related to the right one: a kind from `messages()`, and its values."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """What the reader is told."""
        return messages()[self.kind].format(**self.values)


def relation(got: Any, wanted: Any, sizes: Mapping[str, int]) -> Relation | None:
    """Find what would make the answer right, or which part of it is right.

    `sizes` are the case's sizes, which may explain a factor. Returns None if no relation is found,
    or if the two answers are neither lists of numbers nor tensors of the same shape.
    """
    if is_list_of_numbers(wanted):
        same = is_list_of_numbers(got) and sorted(got) == sorted(wanted)
        return Relation("reordered") if same else None
    if not isinstance(got, Tensor) or not isinstance(wanted, Tensor) or got.shape != wanted.shape:
        return None
    if (got == wanted).all():  # also if both are empty
        return None
    if got.dtype == torch.bool:
        if matches(~got, wanted):
            return Relation("negated")
    elif got.is_floating_point() and wanted.is_floating_point():
        found = numeric_relation(got.detach().double(), wanted.detach().double(), sizes)
        if found:
            return found
    return positional_relation(got, wanted)


def relation_message(failed: Pair, cases: Sequence[Pair]) -> str:
    """Return how the failed answer, or else every answer, relates to the right one, or ""."""
    found = relation(*failed) or relation_in_all([case[:2] for case in cases])
    if not found:
        return ""
    relations = [relation(*case) for case in cases] if found.kind == "factor" else []
    factors = {f"{r.values['factor']:.4g}" for r in relations if r and r.kind == "factor"}
    if len(factors) < 2:
        return found.message
    return _("{relation} In other cases the factor is different.").format(relation=found.message)


def relation_in_all(pairs: Sequence[tuple[Any, Any]]) -> Relation | None:
    """Find a factor or an offset that is the same for every answer.

    This is meant for single numbers and for whole numbers, where one case is not enough.
    """
    if any(len(numbers_in(got)) != len(numbers_in(wanted)) for got, wanted in pairs):
        return None
    got, wanted = (numbers_in(side) for side in zip(*pairs, strict=True))
    if len(set(wanted)) < 3:
        return None
    largest = max(range(len(wanted)), key=lambda i: abs(wanted[i]))
    factor, offset = got[largest] / wanted[largest], got[largest] - wanted[largest]

    def holds(guess: Callable[[float], float]) -> bool:
        guesses = zip(got, map(guess, wanted), strict=True)
        return all(math.isclose(*pair, rel_tol=1e-6, abs_tol=1e-9) for pair in guesses)

    if offset and holds(lambda w: w + offset):
        kind = "same offset subtracted" if offset < 0 else "same offset added"
        return Relation(kind, {"size": abs(offset)})
    if offset and factor and not looks_like_one(factor) and holds(lambda w: w * factor):
        return Relation("same factor", {"factor": factor})
    return None


def is_list_of_numbers(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and all(map(is_number, x))


def numbers_in(x: Any) -> list[float]:
    """Return the finite numbers in an answer: a number, a tensor, or a list of either."""
    x = to_python(x)
    if isinstance(x, (list, tuple)):
        return [number for item in x for number in numbers_in(item)]
    return [x] if is_number(x) and math.isfinite(x) else []


def numeric_relation(got: Tensor, wanted: Tensor, sizes: Mapping[str, int]) -> Relation | None:
    """Find a relation that holds for every number: a factor, an offset, or a missing function."""
    nan = got.isnan() & ~wanted.isnan()
    if nan.any():
        if nan.all():
            return Relation("all nan")
        rest_is_right = matches(got[~nan], wanted[~nan])
        kind = "some nan, rest right" if rest_is_right else "some nan"
        return Relation(kind, {"count": int(nan.sum()), "total": nan.numel()})
    usable = (wanted.abs() > 1e-6) & got.isfinite() & wanted.isfinite()
    if wanted.numel() < 2 or not usable.any():
        return None
    nearly_right = Relation("nearly right", {"largest": (got - wanted).abs().max().item()})
    if matches(got, wanted):  # a factor or an offset would only be rounding
        return nearly_right
    factor = (got[usable] / wanted[usable]).median().item()
    if factor and not looks_like_one(factor) and matches(got, factor * wanted):
        if math.isclose(factor, -1, rel_tol=1e-6):
            return Relation("opposite sign")
        return Relation("factor", {"factor": factor, "meaning": factor_in_sizes(factor, sizes)})
    offset = (got - wanted)[got.isfinite()].median().item()
    if abs(offset) > 1e-6 and matches(got, wanted + offset):
        return Relation("offset", {"offset": offset})
    for kind, function in FUNCTIONS.items():
        if matches(function(got), wanted):
            return Relation(kind)
    return nearly_right if torch.allclose(got, wanted, rtol=1e-2, atol=1e-3) else None


def looks_like_one(factor: float) -> bool:
    """Return whether a factor is shown as 1, which says nothing."""
    return f"{factor:.4g}" == "1"


def factor_in_sizes(factor: float, sizes: Mapping[str, int]) -> str:
    """Express a factor in the case's sizes, such as " (√Dk in this case)", or return ""."""
    meaning = _(" ({size} in this case)")
    for name, size in sizes.items():
        if size < 2:  # a factor of 1 explains nothing, and 0 has no reciprocal
            continue
        for text, value in (
            (f"√{name}", size**0.5),
            (f"1/√{name}", size**-0.5),
            (name, size),
            (f"1/{name}", 1 / size),
        ):
            if math.isclose(factor, value, rel_tol=1e-6):
                return meaning.format(size=text)
        for n in range(2, 65):  # a constant in place of the square root of the width
            if math.isclose(factor * n, size**0.5, rel_tol=1e-9):
                return meaning.format(size=f"√{name} / {n}")
    return ""


def positional_relation(got: Tensor, wanted: Tensor) -> Relation | None:
    """Find a relation between positions: transposed, flipped, reordered, or right in some rows."""
    if got.dim() < 1 or wanted.numel() < 2:
        return None
    if got.dim() >= 2 and matches(got.mT, wanted):
        return Relation("transposed")
    for axis, name in ((-1, "columns"), (-2, "rows")):
        if got.dim() >= -axis and matches(got.flip(axis), wanted):
            return Relation(f"{name} flipped")
    if got.dim() > 2 and has_reordered_matrices(got.flatten(0, -3), wanted.flatten(0, -3)):
        return Relation("matrices reordered")
    different = difference_mask(got, wanted)
    if got.dim() >= 2:
        for axis, name in ((-1, "row"), (-2, "column")):
            wrong = different.any(axis)
            wrong = wrong.flatten(0, -2).any(0) if got.dim() > 2 else wrong
            right = (~wrong).nonzero().flatten().tolist()
            if right and len(wrong) > 1:
                kind = f"one {name} right" if len(right) == 1 else f"some {name}s right"
                indices = ", ".join(map(str, right))
                return Relation(kind, {"total": len(wrong), "indices": indices})
    if torch.equal(got.flatten().sort().values, wanted.flatten().sort().values):
        return Relation("reordered")
    count, total = int(different.sum()), different.numel()
    return Relation("some differ", {"count": count, "total": total}) if count < total else None


def has_reordered_matrices(got: Tensor, wanted: Tensor) -> bool:
    """Return whether the matrices of both tensors are the same, in any order."""
    unmatched = list(wanted)
    for matrix in got:
        index = next((i for i, other in enumerate(unmatched) if matches(matrix, other)), None)
        if index is None:
            return False
        del unmatched[index]
    return True
