"""The scale and the softmax of every attention inside, seen while it runs."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.examination.exam import Exam
from attnbook.examination.trace import HIDDEN, Event, Factor, Fused, Product, Softmax, traced
from attnbook.language import _

EXACT = 1e-4


def check_inner_scales(exam: Exam, run: Callable[[], Any]) -> None:
    """Look at the factor between dot products and scores, in every attention that runs."""
    facts = exam.facts
    if facts.scale == "own":
        return
    exam.report.attempt(_("the scale inside"))
    for scale, width in scales(traced(run)):
        right = float(facts.scale) if isinstance(facts.scale, (int, float)) else width**-0.5
        if abs(abs(scale) - right) <= 1e-3 * right:
            continue
        sentence = _(
            "The dot products are multiplied by {scale:.3g} before the softmax. The queries are "
            "{width} wide, so it has to be 1/√{width} = {right:.3g}. If you mean it, say "
            "`scale={scale:.3g}`."
        )
        exam.report.add("scale", sentence.format(scale=scale, width=width, right=right))
        return


def check_inner_softmax(exam: Exam, run: Callable[[], Any]) -> bool:
    """Look at the axis of each softmax, and at masks after it; return whether one is wrong."""
    events = traced(run)
    for i, event in enumerate(events):
        if not isinstance(event, Softmax) or event.weights.dim() < 2:
            continue
        product = next((e for e in events[i + 1 :] if uses(e, event.weights)), None)
        if isinstance(product, Product) and name_softmax(exam, event, product):
            return True
    return False


def uses(event: Event, weights: Tensor) -> bool:
    """Whether a product takes these weights, or weights of this shape that were masked."""
    return isinstance(event, Product) and event.a.shape == weights.shape


def name_softmax(exam: Exam, softmax: Softmax, product: Product) -> bool:
    """Name a softmax along another axis than the product sums over, or a mask after it."""
    used, weights = product.a, softmax.weights
    if torch.equal(used.nan_to_num(), weights.nan_to_num()):
        if softmax.axis == product.axis:
            return False
        sentence = _(
            "The softmax runs over axis {axis} of the scores {shape}, and the product with the "
            "values sums over axis {right}: a query's weights do not sum to 1. Use "
            "`softmax({right})`."
        )
        sentence = sentence.format(
            axis=softmax.axis, right=product.axis, shape=tuple(weights.shape)
        )
        exam.report.add("softmax_axis", sentence)
        return True
    cut = (used == 0) & (weights > 1e-4)
    kept = torch.where(cut, used, weights)
    in_used_rows = cut & (used != 0).any(softmax.axis, keepdim=True)
    if softmax.axis == product.axis and in_used_rows.any() and torch.allclose(kept, used):
        sentence = _(
            "Weights are set to 0 after the softmax, so the hidden keys stay in the denominator, "
            "and rows do not sum to 1. Fill the scores with −∞ before the softmax."
        )
        exam.report.add("mask_after_softmax", sentence)
        return True
    return False


def scales(events: list[Event]) -> list[tuple[float, int]]:
    """Return the factor of the dot products in each attention, with the width of its queries.

    Where the factor cannot be told, as with queries of equal norm or a bias, there is no entry.
    """
    found = []
    products: list[Product] = []
    factors: list[Factor] = []
    for event in events:
        if isinstance(event, Factor):
            factors.append(event)
        elif isinstance(event, Product):
            products.append(event)
        elif isinstance(event, Fused):
            width = event.q.size(-1)
            scale = width**-0.5 if event.scale is None else event.scale
            if not is_normalized(event.q):
                found.append((scale * factor_of(event.q, factors), width))
            products, factors = [], []
        elif isinstance(event, Softmax):
            for product in reversed(products):
                scale = ratio(event.scores, product.out)
                if scale and not is_normalized(product.a) and not is_normalized(product.b):
                    before = factor_of(product.a, factors) * factor_of(product.b, factors)
                    found.append((scale * before, product.width))
                    break
            products, factors = [], []
    return found


def ratio(scores: Tensor, dots: Tensor) -> float:
    """Return the number that dot products were multiplied by, or 0 if there is none."""
    if scores.numel() != dots.numel() or scores.dim() < 3:
        return 0.0
    dots = dots.reshape(scores.shape)
    seen = scores.isfinite() & (scores > HIDDEN) & (dots.abs() > 1e-6)
    if not seen.any():
        return 0.0
    quotients = scores[seen] / dots[seen]
    scale = quotients.median()
    exact = (scores[seen] - scale * dots[seen]).abs() <= EXACT * (scale * dots[seen]).abs().max()
    return float(scale) if exact.all() else 0.0


def is_normalized(rows: Tensor) -> bool:
    """Whether all rows have nearly the same norm, so that their scale is a matter of taste."""
    norms = rows.norm(dim=-1)
    return bool(norms.std() < 1e-2 * norms.mean())


def factor_of(rows: Tensor, factors: list[Factor]) -> float:
    """Return the number by which queries were multiplied before: they have the same norm still."""
    norm = rows.norm()
    for factor in factors:
        if factor.out.numel() == rows.numel() and abs(factor.out.norm() - norm) <= 1e-5 * norm:
            return factor.factor
    return 1.0
