"""Clip all gradients by one factor."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw
from attnbook.language import _
from attnbook.mistakes.head import WrongLine


def my_clip(gradients: list[Tensor], limit: float) -> list[Tensor]:
    length = torch.cat([g.flatten() for g in gradients]).norm()
    factor = (limit / length).clamp(max=1.0)
    return [g * factor for g in gradients]


def by_a_sum_of_squares(gradients: list[Tensor], limit: float) -> list[Tensor]:
    length = sum((g**2).sum() for g in gradients) ** 0.5
    return [limit * g / length if length > limit else g for g in gradients]


def clip_cases(generator: Generator) -> list[Case]:
    def case(note: str, limit: float, *shapes: tuple[int, ...], length: float) -> Case:
        drawn = [draw(generator, *shape) for shape in shapes]
        gradients = [length * g / flat(drawn).norm() for g in drawn]
        return Case(
            (gradients, limit),
            note=_("{what}: limit {limit:g}, total norm {norm:g}").format(
                what=note, limit=limit, norm=length
            ),
        )

    both = [torch.tensor([3.0, 0.0]).double(), torch.tensor([[0.0], [4.0], [0.0]]).double()]
    return [
        case(_("two gradients, too large"), 1.5, (3,), (2, 3), length=6.0),
        case(_("two gradients, small enough"), 2.5, (2,), (3, 2), length=0.75),
        Case((both, 4.5), note="norms 3 and 4, each below the limit of 4.5, but 5 together"),
        case(_("four gradients, far too large"), 0.7, (2,), (5, 2), (5,), (2, 3, 5), length=300.0),
        case(_("a single gradient"), 3.5, (7,), length=11.0),
        case(_("all gradients are 0"), 0.5, (3,), (2, 5), length=0.0),
        case(_("large, but within the limit"), 20.0, (5, 3), (7,), length=17.0),
    ]


def flat(gradients: list[Tensor]) -> Tensor:
    return torch.cat([g.flatten() for g in gradients]).double()


@dataclass(frozen=True)
class Clip:
    """The norm for each gradient, and its scaling factor. Each is right unless it is replaced."""

    length: Callable[[list[Tensor]], list[Tensor]] = lambda gs: [flat(gs).norm()] * len(gs)
    factor: Callable[[Tensor, float], Tensor] = lambda length, limit: (limit / length).clamp(max=1)

    def __call__(self, gradients: list[Tensor], limit: float) -> list[Tensor]:
        pairs = zip(gradients, self.length(gradients), strict=True)
        return [g * self.factor(length, limit) for g, length in pairs]


CLIP_MISTAKES = (
    WrongLine(
        "length",
        lambda gs: [g.norm() for g in gs],
        "You compared each gradient with the limit separately, so the gradients shrink by "
        "different factors and the direction changes. Use the norm of all of them together.",
    ),
    WrongLine(
        "length",
        lambda gs: [sum(g.norm() for g in gs)] * len(gs),
        "You added the norms of the gradients. The norm of all numbers together is the square "
        "root of the sum of all *squares*.",
    ),
    WrongLine(
        "length",
        lambda gs: [(flat(gs) ** 2).sum()] * len(gs),
        "You used the sum of squares as the norm. The norm is its square root.",
    ),
    WrongLine(
        "length",
        lambda gs: [flat(gs).abs().max()] * len(gs),
        "You compared the largest number with the limit. Compare the norm of all numbers.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: limit / length,
        "You scaled small gradients up to the limit. Gradients within the limit stay as they are.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (length > limit) / length.clamp_min(1e-30) + (length <= limit),
        "Gradients that were too large have norm 1 now. They should have norm `limit`.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (length / limit).clamp(max=1),
        "Your factor is norm / limit, which shrinks small gradients. It is limit / norm.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (limit / length).clamp(min=1),
        "You took the larger of 1 and limit / norm. The factor is the smaller one.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (length > limit) * limit + (length <= limit),
        "You multiplied by the limit. Divide by the norm as well.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: torch.ones_like(length),
        "You returned the gradients unchanged.",
    ),
)

EXERCISE = Exercise(
    title="One factor for all",
    level=1,
    minutes=10,
    section="8.11",
    prompt="""
Write `my_clip(gradients, limit)`. `gradients` is a list of tensors of any shapes, one for each
parameter of a model. Treat them as one long vector, whose norm is the root of the sum of all
squares. If the norm is larger than `limit`, multiply every gradient by the same factor, so that the
norm becomes `limit`. If not, return them as they are. Return a list of gradients, and do not change
the tensors that you were given.
""",
    asks_for_gradients=True,
    reference=my_clip,
    cases=clip_cases,
    mistakes=(
        Mistake(
            lambda gradients, limit: [g.clamp(-limit, limit) for g in gradients],
            "You clipped each number by itself, which changes the direction. Multiply all of them "
            "by one factor.",
        ),
        Mistake(
            lambda gradients, limit: [g * min(1, limit / g.norm().item()) for g in gradients],
            "You gave each gradient a factor of its own, so their direction changes. Use the norm "
            "of all of them together (and nothing is divided by it if it is 0).",
        ),
    ),
    common_mistakes=MistakeSet(lambda clip: clip, CLIP_MISTAKES, right=Clip()),
    properties=(
        Property(
            "You did not return as many gradients as you were given.",
            lambda answer, case: len(answer) == len(case.arguments[0]),
        ),
        Property(
            "These gradients were within the limit and should have stayed as they were.",
            lambda answer, case: (
                bool(flat(case.arguments[0]).norm() > case.arguments[1])
                or torch.allclose(flat(answer), flat(case.arguments[0]))
            ),
        ),
        Property(
            "The total norm of your gradients is still larger than the limit.",
            lambda answer, case: bool(flat(answer).norm() <= case.arguments[1] * (1 + 1e-6)),
        ),
        Property(
            "Your gradients point in a different direction than before: not all of them were "
            "multiplied by the same factor.",
            lambda answer, case: (
                bool(F.cosine_similarity(flat(answer), flat(case.arguments[0]), dim=0) > 1 - 1e-9)
                or not flat(case.arguments[0]).any()
            ),
        ),
        Property(
            "Your gradients are smaller than they have to be.",
            lambda answer, case: bool(
                flat(answer).norm()
                >= (1 - 1e-6) * min(case.arguments[1], flat(case.arguments[0]).norm())
            ),
        ),
    ),
    hints=(
        "First compute one number, the norm of everything. The shapes do not matter here.",
        "`g.flatten()` turns any gradient into a vector, and `torch.cat` joins them. Or add up "
        "`(g**2).sum()` over all of them and take the root.",
        "The factor is limit / norm, but never more than 1.",
    ),
    insight="Clipping limits the norm of the gradient and keeps its direction. Clipping each "
    "number, or each parameter's gradient, by itself would in general change the direction.",
    comes_back="Chapter 9 clips the gradients of its translator in this way.",
    others=(by_a_sum_of_squares,),
)
