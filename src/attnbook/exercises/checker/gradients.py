"""Compare the gradients of an answer with those of the reference, argument by argument."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.exercises.checker import guard
from attnbook.exercises.checker.excerpts import format_error
from attnbook.exercises.exercise import Case, draw
from attnbook.language import _


class Problem(NamedTuple):
    """A message for the reader about what is wrong with the gradients.

    `lost` is true if some or all gradients do not reach the arguments, although the answer itself
    is right.
    """

    message: str
    lost: bool


def argument_gradients(
    function: Callable[..., Any], case: Case, seconds: float | None = None
) -> guard.Outcome:
    """Call the function on a case and backpropagate a randomly weighted sum of its answer.

    The outcome's answer is a list with the gradient of each floating-point argument, or None where
    no gradient arrives. `seconds` is the limit for `guard.call`.
    """

    def backward(*arguments: Any) -> list[Tensor | None]:
        answer = function(*arguments)
        leaves = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
        if not (isinstance(answer, Tensor) and answer.requires_grad):
            return [None for _ in leaves]
        weights = draw(torch.Generator().manual_seed(0), *answer.shape).to(answer)
        # With the weights as a third argument, autograd would first import SymPy for a second.
        return list(torch.autograd.grad((weights * answer).sum(), leaves, allow_unused=True))

    return guard.call(backward, case.arguments, grad=True, seconds=seconds)


def gradient_problem(
    reference: Callable[..., Any], case: Case, outcome: guard.Outcome, wanted: list[Tensor | None]
) -> Problem | None:
    """Return what is wrong with gradients that stop, are nan, or differ from the right ones."""
    if outcome.error is not None:
        return exception_problem(outcome.error)
    nothing_lost = [w is None or not w.any() for w in wanted]  # a gradient of zeros may be missing
    if all(got is None for got in outcome.answer) and not all(nothing_lost):
        return Problem(
            _(
                "The numbers are right, but no gradient flows back: `.detach()`, `.item()`, "
                "`.data`, NumPy, `torch.tensor(...)` or `no_grad` cut it off."
            ),
            lost=True,
        )
    named = zip(inspect.signature(reference).parameters, case.arguments, strict=False)
    names = [n for n, a in named if isinstance(a, Tensor) and a.is_floating_point()]
    lost = None
    for name, got, right, zeros in zip(names, outcome.answer, wanted, nothing_lost, strict=True):
        if right is None or (got is None and zeros):
            continue
        n_nan = 0 if got is None else int((got.isnan() & ~right.isnan()).sum())
        if n_nan:
            message = _(
                "The numbers are right, but {n_nan} of the {total} numbers in the gradient of "
                "`{name}` are nan: in the backward pass something is 0 · ∞ or 0/0, although the "
                "answer hides it. Avoid it in the forward pass."
            )
            return Problem(message.format(n_nan=n_nan, total=right.numel(), name=name), lost=False)
        if got is None:
            lost = lost or _(
                "The numbers are right, but no gradient reaches `{name}`: `.detach()`, `.item()`, "
                "`.data`, NumPy, `torch.tensor(...)` or `no_grad` cut it off."
            ).format(name=name)
        elif not torch.allclose(got.double(), right.double(), 1e-4, 1e-7, equal_nan=True):
            lost = lost or _(
                "The numbers are right, but the gradient of `{name}` is wrong, because a part "
                "that depends on it is left out. `.detach()`, `.item()`, `.data`, NumPy, "
                "`torch.tensor(...)` or `no_grad` cut it off."
            ).format(name=name)
    return Problem(lost, lost=True) if lost else None


def exception_problem(error: BaseException) -> Problem:
    """Return what is wrong if there is an exception only when arguments require gradients."""
    text = str(error)
    if "numpy" in text and "grad" in text:
        message = _(
            "The numbers are right, but no gradient flows back: NumPy computes no gradients, and "
            "raises an error if they are needed. PyTorch's own functions compute them: use "
            "`x.exp()`, `x.sum()` and `x @ y` instead of `np.exp(x)`, `np.sum(x)`, `np.dot(x, y)`."
        )
        return Problem(message, lost=True)
    if "in-place" in text:
        message = _(
            "The numbers are right, but along the way your function writes to its arguments, "
            "which is forbidden if gradients are needed: work on a new tensor, without `x[...] "
            "=`, `+=` or methods that end in `_`."
        )
        return Problem(message, lost=False)
    message = _(
        "The numbers are right, but with arguments that require gradients your function raised "
        "{error}"
    )
    return Problem(message.format(error=format_error(error)), lost=False)
