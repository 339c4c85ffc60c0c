"""Layer normalization by hand."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _
from attnbook.mistakes.head import WrongLine


def my_layer_norm(x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    centered = x - x.mean(dim=-1, keepdim=True)
    variance = (centered**2).mean(dim=-1, keepdim=True)  # (..., L, 1)
    return gain * centered / (variance + eps).sqrt() + shift


def by_var_and_mean(x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps) * gain + shift


def norm_cases(generator: Generator) -> list[Case]:
    def case(note: str, eps: float, *sizes: int, by: float = 1.0, plus: float = 0.0) -> Case:
        x, d = draw(generator, *sizes) * by + plus, sizes[-1]
        gain, shift = draw(generator, 2, d)
        named = dict(zip(("A", "B", "L", "D")[-len(sizes) :], sizes, strict=True))
        return Case(
            (x, gain, shift, eps), named, _("{what}, eps {eps:g}").format(what=note, eps=eps)
        )

    length, batch = some_sizes(generator, 2)
    constant = case(_("row 1 has seven equal numbers"), 1e-3, 3, 7)
    constant.arguments[0][1] = 2.5
    return [
        case(_("3 words of width 5"), 1e-5, 3, 5),
        case(_("an eps that matters"), 0.5, 5, 6),
        case(_("2 sentences"), 1e-2, 2, 3, 10),
        case(
            _("{n} sentences, numbers around 20").format(n=batch),
            1e-2,
            batch,
            length,
            17,
            plus=20.0,
        ),
        case(_("two axes in front"), 0.1, 2, 3, 5, 14),
        case(_("numbers around 0.001"), 1e-6, 5, 11, by=1e-3),
        constant,
    ]


def variance(x: Tensor, axis: tuple[int, ...] = (-1,), correction: int = 0) -> Tensor:
    return x.var(axis, correction=correction, keepdim=True)


@dataclass(frozen=True)
class Norm:
    """Layer normalization in parts. Each is right unless it is replaced."""

    axis: Callable[[Tensor], tuple[int, ...]] = lambda x: (-1,)
    spread: Callable[..., Tensor] = lambda x, axis, eps: (variance(x, axis) + eps).sqrt()
    affine: Callable[..., Tensor] = lambda normed, gain, shift: gain * normed + shift

    def __call__(self, x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
        axis = self.axis(x)
        centered = x - x.mean(axis, keepdim=True)
        return self.affine(centered / self.spread(x, axis, eps), gain, shift)


NORM_MISTAKES = (
    WrongLine(
        "axis",
        lambda x: (-2,),
        "You took the mean and the variance over the words, down each column. Take them for each "
        "word over its D numbers, along the last axis.",
    ),
    WrongLine(
        "axis",
        lambda x: (1,),
        "You took the mean and the variance along axis 1. With a batch axis in front, that is the "
        "axis of the words. Count axes from the end.",
    ),
    WrongLine(
        "axis",
        lambda x: tuple(range(1, x.dim())),
        "In your answer, all words of a sentence share one mean and one variance. Each word needs "
        "its own.",
    ),
    WrongLine(
        "axis",
        lambda x: tuple(range(x.dim())),
        "Without `dim`, `mean()` and `var()` run over the whole batch. Each word has its own mean "
        "and variance.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (variance(x, axis, 1) + eps).sqrt(),
        "Your variance divides by D − 1, as `var` and `std` do by default. Layer normalization "
        "divides by D.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis).sqrt() + eps,
        "You added eps to the square root. Add it to the variance, under the root.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis).sqrt(),
        "You left out eps. It is added to the variance, under the root.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis).clamp_min(eps).sqrt(),
        "You took the larger of the variance and eps. Add eps to the variance instead.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis, 1).sqrt() + eps,
        "You added eps to the square root, and `std` divides by D − 1 by default. The Annotated "
        "Transformer does both, so its norm is not PyTorch's.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis) + eps,
        "You divided by the variance. Divide by its square root, the standard deviation.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (variance(x, axis) + 1e-5).sqrt(),
        "Your result does not depend on `eps`: it uses 1e-5, the default of PyTorch's norm.",
    ),
    WrongLine("affine", lambda normed, gain, shift: normed, "`gain` and `shift` are not used yet."),
)


def without_affine(answer: Tensor, case: Case) -> Tensor:
    _, gain, shift, _ = case.arguments
    return (answer - shift) / gain


def variance_left(case: Case) -> Tensor:
    """The variance after layer normalization: a little below 1, and 0 for equal numbers."""
    return variance(case.arguments[0]) / (variance(case.arguments[0]) + case.arguments[3])


EXERCISE = Exercise(
    title="Layer normalization by hand",
    level=1,
    minutes=10,
    section="8.4",
    prompt="""
Write `my_layer_norm(x, gain, shift, eps)`, which does what PyTorch's `nn.LayerNorm` does. `x` has
shape (..., L, D), the learned `gain` and `shift` have shape (D,), and `eps` is a small number.
Normalize the D numbers of each word to mean 0 and variance 1, with eps added to the variance. Then
multiply column d by `gain[d]`, and add `shift[d]`.
""",
    reference=my_layer_norm,
    cases=norm_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda x, gain, shift, eps: x - x.mean(-1),
            "Without `keepdim=True` the mean loses its last axis, and broadcasting aligns it "
            "with the wrong one.",
        ),
        Mistake(
            lambda x, gain, shift, eps: (
                gain * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + shift
            ),
            "The mean is not subtracted. Without the shift this would be RMSNorm.",
        ),
    ),
    common_mistakes=MistakeSet(lambda norm: norm, NORM_MISTAKES, right=Norm()),
    properties=(
        Property(
            "If the shift is subtracted and the result is divided by the gain, each word should "
            "have mean 0, but not all of yours do.",
            lambda answer, case: (
                not bool(answer.isfinite().all())
                or bool(without_affine(answer, case).mean(-1).abs().max() < 1e-6)
            ),
        ),
        Property(
            "If the shift is subtracted and the result is divided by the gain, each word should "
            "have the variance v / (v + eps), where v is its variance in x. Not all of yours do.",
            lambda answer, case: (
                not bool(answer.isfinite().all())
                or torch.allclose(variance(without_affine(answer, case)), variance_left(case))
            ),
        ),
    ),
    hints=(
        "Subtract from each word the mean of its own numbers. Then divide what is left by the "
        "square root of (its mean square + eps).",
        "`x.mean(dim=-1, keepdim=True)` has shape (..., L, 1), so it can be subtracted from x.",
        "`x.var(...)` divides by D − 1 unless you pass `correction=0`. `gain` and `shift` "
        "broadcast along the last axis.",
    ),
    insight="Each word is normalized by itself, so a norm leaks nothing from later words and gives "
    "a sentence the same result in any batch.",
    comes_back="In 08.experiment you find out where a layer has its norms.",
    others=(by_var_and_mean,),
)
