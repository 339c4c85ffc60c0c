"""Exercises of chapter 8: the Transformer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention import scaled_dot_product_attention
from attnbook.exercises.common_mistakes import MistakeSet, WrongLine
from attnbook.exercises.exercise import (
    Case,
    Exercise,
    Mistake,
    Property,
    choices,
    draw,
    some_sizes,
)
from attnbook.masks import causal_mask
from attnbook.transformer import Transformer

# --- 08.norm: layer normalization by hand ----------------------------------------------------


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
        return Case((x, gain, shift, eps), named, f"{note}, eps {eps:g}")

    length, batch = some_sizes(generator, 2)
    level = case("row 1 has seven equal numbers", 1e-3, 3, 7)
    level.arguments[0][1] = 2.5
    return [
        case("3 words of width 5", 1e-5, 3, 5),
        case("an eps that counts", 0.5, 5, 6),
        case("2 sentences", 1e-2, 2, 3, 10),
        case(f"{batch} sentences, numbers around 20", 1e-2, batch, length, 17, plus=20.0),
        case("two axes in front", 0.1, 2, 3, 5, 14),
        case("numbers of a thousandth", 1e-6, 5, 11, by=1e-3),
        level,
    ]


@dataclass(frozen=True)
class Norm:
    """Layer normalization's lines, each right unless a wrong one is put in."""

    axis: Callable[[Tensor], tuple[int, ...]] = lambda x: (-1,)
    center: Callable[..., Tensor] = lambda x, axis: x - x.mean(axis, keepdim=True)
    spread: Callable[..., Tensor] = lambda x, axis, eps: (variance(x, axis) + eps).sqrt()
    end: Callable[..., Tensor] = lambda normed, gain, shift: gain * normed + shift

    def __call__(self, x: Tensor, gain: Tensor, shift: Tensor, eps: float) -> Tensor:
        axis = self.axis(x)
        return self.end(self.center(x, axis) / self.spread(x, axis, eps), gain, shift)


def variance(x: Tensor, axis: tuple[int, ...], correction: int = 0) -> Tensor:
    return x.var(axis, correction=correction, keepdim=True)


NORM_MISTAKES = (
    WrongLine(
        "axis",
        lambda x: (-2,),
        "Mean and variance ran over the words: each column of a sentence is normed, and a word's "
        "numbers depend on its neighbors. Each word is normed by itself, along its own D numbers: "
        "the last axis.",
    ),
    WrongLine(
        "axis",
        lambda x: (0,),
        "Mean and variance ran along axis 0. That is the batch as soon as there is one, and "
        "sentences would change each other. Count from the end: `dim=-1`.",
    ),
    WrongLine(
        "axis",
        lambda x: (1,),
        "Mean and variance ran along axis 1. With a batch in front those are the words: count "
        "from the end, `dim=-1`.",
    ),
    WrongLine(
        "axis",
        lambda x: tuple(range(x.dim() - 1)),
        "Each column was normed, over all words of all sentences: that is batch normalization. "
        "Here each word is normed by itself, along its own D numbers.",
    ),
    WrongLine(
        "axis",
        lambda x: (-2, -1),
        "One mean and one variance for all words of a sentence. Each word has its own, from its "
        "own D numbers.",
    ),
    WrongLine(
        "axis",
        lambda x: tuple(range(x.dim())),
        "`mean()` and `var()` without `dim` take all numbers there are, of the whole batch. Each "
        "word has a mean and a variance of its own: `dim=-1, keepdim=True`.",
    ),
    WrongLine(
        "center",
        lambda x, axis: x,
        "The mean is not taken away: x itself is divided by the spread.",
    ),
    WrongLine(
        "center",
        lambda x, axis: x + x.mean(axis, keepdim=True),
        "The mean is added. It has to be taken away, so that the row's mean becomes 0.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (variance(x, axis, 1) + eps).sqrt(),
        "The sum of squares is divided by D − 1, as `var` and `std` do unless they are told "
        "otherwise. That estimates the variance of what a sample came from. Here the row is all "
        "there is: divide by D (`correction=0`).",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis).sqrt() + eps,
        "Your eps is added to the root. It belongs inside, beside the variance: there it also "
        "keeps the slope of the root finite where a row is all equal.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis).sqrt() + eps**0.5,
        "You took two roots, of the variance and of eps, and added them. The sum comes first, then "
        "one root of it.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis, 1).sqrt() + eps,
        "Two things about the spread: eps stands outside the root, and `std` divides by D − 1 "
        "unless it is told otherwise. The Annotated Transformer has it so, and is for this reason "
        "not PyTorch's LayerNorm.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis).sqrt(),
        "eps is missing. In a row of equal numbers the variance is 0, and 0/0 is nan.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis, 1).sqrt(),
        "eps is missing beside the variance, and `std` divides by D − 1 unless it is told "
        "`correction=0`.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis) + eps,
        "You divided by the variance. It is in squared units: take its root.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis, 1) + eps,
        "You divided by the variance, and by one that `var` makes with D − 1. Take the root, of "
        "the mean square (`correction=0`).",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (
            ((x - x.mean(axis, keepdim=True)) ** 2).sum(axis, keepdim=True) + eps
        ).sqrt(),
        "You divided by the row's length: by the root of the *sum* of squares. The variance is "
        "their mean, so that the numbers keep about the size 1 whatever D is.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (
            ((x - x.mean(axis, keepdim=True)) ** 2).sum(axis, keepdim=True).sqrt().clamp_min(1e-12)
        ),
        "You divided by the row's length, as `F.normalize` does, and without eps. Divide by the "
        "root of the *mean* of the squares plus eps: then the numbers keep about the size 1.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (variance(x, axis) + 1e-5).sqrt(),
        "`eps` has no influence: a small number of its own, 1e-5, stands in its place, as in "
        "PyTorch's norm unless it is told `eps`.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (variance(x, axis).sqrt() + eps).sqrt(),
        "You took the root twice: `std` is a root already.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (x - x.mean(axis, keepdim=True)).abs().amax(axis, keepdim=True) + eps,
        "You divided by the largest number of the row. The spread is the root of the mean square.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (variance(x, axis) + eps**2).sqrt(),
        "Your eps is squared. It is added to the variance as it is.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: 2 * (variance(x, axis) + eps),
        "You divided by twice the variance. `a / b ** 1/2` means a / b / 2: write `b ** 0.5`, or "
        "`b.sqrt()`.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: ((x**2).mean(axis, keepdim=True) + eps).sqrt(),
        "Your variance is the mean square of x itself. It is the mean square of what is left once "
        "the mean is gone.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (
            (x**2).mean(axis, keepdim=True) - x.mean(axis, keepdim=True) + eps
        ).sqrt(),
        "From the mean of the squares the *square* of the mean is to be taken. (Then it is the "
        "variance.)",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: variance(x, axis).clamp_min(eps).sqrt(),
        "You took eps for the least that a variance may be. It is added to it, always.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: 1 / (variance(x, axis) + eps).sqrt(),
        "You multiplied by the spread. Dividing makes large rows and small ones alike.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: (x - x.mean(axis, keepdim=True)).abs().mean(axis, keepdim=True) + eps,
        "You divided by the mean distance from the mean. The spread of layer normalization is the "
        "root of the mean *square*.",
    ),
    WrongLine(
        "spread",
        lambda x, axis, eps: torch.ones_like(x),
        "Nothing divides the numbers: the mean is gone, and large rows are still large.",
    ),
    WrongLine("end", lambda normed, gain, shift: normed, "`gain` and `shift` are not used yet."),
    WrongLine(
        "end", lambda normed, gain, shift: gain * normed, "`shift` is not used yet: add it last."
    ),
    WrongLine(
        "end",
        lambda normed, gain, shift: normed + shift,
        "`gain` is not used yet: it multiplies the normed numbers, column by column.",
    ),
    WrongLine(
        "end",
        lambda normed, gain, shift: gain * (normed + shift),
        "You shifted before you multiplied, so the shift is multiplied too. The gain comes first.",
    ),
    WrongLine(
        "end",
        lambda normed, gain, shift: shift * normed + gain,
        "`gain` and `shift` have changed places: the gain multiplies, the shift is added.",
    ),
    WrongLine(
        "end",
        lambda normed, gain, shift: normed / gain + shift,
        "You divided by the gain. It multiplies.",
    ),
    WrongLine(
        "end",
        lambda normed, gain, shift: gain * normed - shift,
        "The shift is subtracted. It is added.",
    ),
    WrongLine(
        "end",
        lambda normed, gain, shift: (1 + gain) * normed + shift,
        "You multiplied by 1 + gain. Some models store a gain that way; this one is the factor "
        "itself, and begins at 1.",
    ),
)

NORM = Exercise(
    id="08.norm",
    title="Layer normalization by hand",
    level=1,
    minutes=10,
    section="8.4",
    prompt="""
Write `my_layer_norm(x, gain, shift, eps)`, which does what PyTorch's `nn.LayerNorm` does. `x` has
shape (..., L, D), the learned `gain` and `shift` (D,), and `eps` is a small number. Each word is
brought to mean 0 and variance 1 along its own D numbers, eps being added to the variance; then
column d is multiplied by `gain[d]`, and `shift[d]` is added.
""",
    stub="""
def my_layer_norm(x, gain, shift, eps):
    raise NotImplementedError
""",
    reference=my_layer_norm,
    cases=norm_cases,
    axes="A B L D",
    mistakes=(
        Mistake(
            lambda x, gain, shift, eps: x - x.mean(-1),
            "A mean along the last axis has lost that axis, and lines up with the wrong one: "
            "`keepdim=True` keeps it, with size 1.",
        ),
        Mistake(
            lambda x, gain, shift, eps: gain * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt(),
            "This is RMSNorm, without a mean and without a shift, as Llama has it. Layer "
            "normalization takes the mean away first.",
        ),
        Mistake(
            lambda x, gain, shift, eps: (
                gain * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + shift
            ),
            "The mean is nowhere taken away: your spread is the root of the mean square of x "
            "itself. (Without the shift this would be RMSNorm.)",
        ),
        Mistake(
            lambda x, gain, shift, eps: Norm()(gain * x + shift, torch.ones(()), 0 * shift, eps),
            "Gain and shift came before the norm, which then took them away again. They come last.",
        ),
        Mistake(
            lambda x, gain, shift, eps: gain * (Norm()(x, gain * 0 + 1, shift * 0, eps) + x),
            "You added x itself. The sum around a norm belongs to the layer, not to the norm.",
        ),
    ),
    common_mistakes=MistakeSet(lambda norm: norm, NORM_MISTAKES, right=Norm()),
    properties=(
        Property(
            "Take gain and shift away again, and each word should have mean 0. Yours have not.",
            lambda answer, case: (
                not bool(answer.isfinite().all())
                or bool(
                    ((answer - case.arguments[2]) / case.arguments[1]).mean(-1).abs().max() < 1e-6
                )
            ),
        ),
    ),
    hints=(
        "Two steps: take from each word the mean of its own numbers; then divide by the root of "
        "(the mean of the squares that are left, plus eps).",
        "`x.mean(dim=-1, keepdim=True)` has shape (..., L, 1), so that it can be subtracted.",
        "`x.var(...)` divides by D − 1 unless it is told `correction=0`. `gain` and `shift` line "
        "up with the last axis by themselves.",
    ),
    insight="Nothing here knows of another word or another sentence: that is why a norm may stand "
    "between two attentions and leak nothing, and why it works the same for a batch of one.",
    comes_back="In 08.experiment you find out where a layer has its norms.",
    others=(by_var_and_mean,),
)

# --- 08.clip: all gradients by one factor ----------------------------------------------------


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
        now = torch.cat([g.flatten() for g in drawn]).norm()
        gradients = [length * g / now for g in drawn]
        told = f"{note}: limit {limit:g}, all together {length:g} long"
        return Case((gradients, limit), note=told)

    alike = [torch.tensor([3.0, 0.0]).double(), torch.tensor([[0.0], [4.0], [0.0]]).double()]
    return [
        case("two gradients, too long", 1.5, (3,), (2, 3), length=6.0),
        case("two gradients, short enough", 2.5, (2,), (3, 2), length=0.75),
        Case((alike, 4.5), note="3 and 4 long, neither above the limit of 4.5: together 5"),
        case("four gradients, far too long", 0.7, (2,), (5, 2), (5,), (2, 3, 5), length=300.0),
        case("a single gradient", 3.5, (7,), length=11.0),
        case("all of them 0", 0.5, (3,), (2, 5), length=0.0),
        case("long, but within the limit", 20.0, (5, 3), (7,), length=17.0),
    ]


@dataclass(frozen=True)
class Clip:
    """How long the gradients are, each or all, and what that does to them; right unless not."""

    length: Callable[[list[Tensor]], list[Tensor]] = lambda gs: [lengths(gs).norm()] * len(gs)
    factor: Callable[[Tensor, float], Tensor] = lambda length, limit: (limit / length).clamp(max=1)

    def __call__(self, gradients: list[Tensor], limit: float) -> list[Tensor]:
        pairs = zip(gradients, self.length(gradients), strict=True)
        return [g * self.factor(length, limit) for g, length in pairs]


def lengths(gradients: list[Tensor]) -> Tensor:
    return torch.stack([g.norm() for g in gradients])


def all_numbers(gradients: list[Tensor]) -> Tensor:
    return torch.cat([g.flatten() for g in gradients])


CLIP_MISTAKES = (
    WrongLine(
        "length",
        lambda gs: list(lengths(gs)),
        "Each gradient was shortened by its own length. Then those of different layers shrink by "
        "different factors, and the step points elsewhere: one length, of all of them together.",
    ),
    WrongLine(
        "length",
        lambda gs: [lengths(gs).sum()] * len(gs),
        "You added the lengths of the gradients. Side by side they are one long row, and its "
        "length is the root of the sum of all *squares*.",
    ),
    WrongLine(
        "length",
        lambda gs: [lengths(gs).max()] * len(gs),
        "You took the longest gradient for all. Their common length is the root of the sum of all "
        "squares.",
    ),
    WrongLine(
        "length",
        lambda gs: [lengths(gs).mean()] * len(gs),
        "You took the mean of the lengths. Their common length is the root of the sum of all "
        "squares.",
    ),
    WrongLine(
        "length",
        lambda gs: [lengths(gs).norm() ** 2] * len(gs),
        "You compared the sum of squares with the limit. A length is its root.",
    ),
    WrongLine(
        "length",
        lambda gs: [(lengths(gs) ** 2).mean().sqrt()] * len(gs),
        "You took the root of the *mean* of the gradients' squared lengths. It is the sum.",
    ),
    WrongLine(
        "length",
        lambda gs: [all_numbers(gs).abs().sum()] * len(gs),
        "You added the sizes of all numbers. The length is the root of the sum of their squares.",
    ),
    WrongLine(
        "length",
        lambda gs: [all_numbers(gs).sum()] * len(gs),
        "You added all numbers, where those below 0 take away from the others. The length is the "
        "root of the sum of their squares.",
    ),
    WrongLine(
        "length",
        lambda gs: [all_numbers(gs).abs().max()] * len(gs),
        "You compared the largest number with the limit. It is the length of all of them together "
        "that counts.",
    ),
    WrongLine(
        "length",
        lambda gs: [(all_numbers(gs) ** 2).mean().sqrt()] * len(gs),
        "You took the root of the *mean* square of all numbers. A length is the root of their sum.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: limit / length,
        "The gradients were always brought to the limit: short ones became longer, and none at all "
        "became 0/0. What is within the limit stays as it is.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (length > limit) / length.clamp_min(1e-30) + (length <= limit),
        "What was too long has length 1 now. It keeps as much as the limit allows: limit / length.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (length / limit).clamp(max=1),
        "Your factor is length / limit, or 1 if that is more. So the long ones stay long, and the "
        "short ones become shorter: limit / length.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (limit / length).clamp(min=1),
        "You took the larger of 1 and limit / length: the long ones stay, and the short ones "
        "become longer. The smaller of the two is the factor.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (length <= limit).to(length),
        "What was too long is 0 now. It only has to become shorter: its direction is still the "
        "best that is known.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: (length > limit) * limit + (length <= limit),
        "What was too long was multiplied by the limit. It has to end at the limit: divide by the "
        "length as well.",
    ),
    WrongLine(
        "factor",
        lambda length, limit: torch.ones_like(length),
        "Nothing was shortened: these are the gradients as they came.",
    ),
)

CLIP = Exercise(
    id="08.clip",
    title="One factor for all",
    level=1,
    minutes=10,
    section="8.11",
    prompt="""
Write `my_clip(gradients, limit)`. `gradients` is a list of tensors of any shapes, one for each
parameter of a model. Take them for one long row of numbers, and let its length (the root of the sum
of all squares) be at most `limit`: if it is longer, every gradient is multiplied by the same
factor, so that the length becomes `limit`; if not, all stay as they are. Return a new list, and
leave the old tensors as they are.
""",
    stub="""
def my_clip(gradients, limit):
    raise NotImplementedError
""",
    reference=my_clip,
    cases=clip_cases,
    mistakes=(
        Mistake(
            lambda gradients, limit: [g.clamp(-limit, limit) for g in gradients],
            "You cut off each number at the limit. That turns the step: the large numbers lose, "
            "the small ones do not. One factor for all keeps its direction.",
        ),
        Mistake(
            lambda gradients, limit: [g.clamp(max=limit) for g in gradients],
            "You cut off what is above the limit, number by number, and left what is far below 0. "
            "One factor for all keeps the direction.",
        ),
        Mistake(
            lambda gradients, limit: [
                g * (limit / g.abs().max()).clamp(max=1.0) for g in gradients
            ],
            "Each gradient was shortened until its largest number fits the limit. It is one "
            "length, of all of them together, and one factor.",
        ),
        Mistake(
            lambda gradients, limit: [g - limit for g in gradients],
            "The limit was subtracted from each number. It is a length: multiply.",
        ),
        Mistake(
            lambda gradients, limit: [
                g * factor
                for g in gradients
                for factor in [(limit / lengths(gradients).norm() / len(gradients)).clamp(max=1.0)]
            ],
            "The limit was shared out among the gradients. It is for all of them together: the "
            "factor is limit / length.",
        ),
    ),
    common_mistakes=MistakeSet(lambda clip: clip, CLIP_MISTAKES, right=Clip()),
    properties=(
        Property(
            "You return another number of gradients than you were given: each comes back, those "
            "that were short enough as they are.",
            lambda answer, case: len(answer) == len(case.arguments[0]),
        ),
        Property(
            "All together your gradients are still longer than the limit.",
            lambda answer, case: bool(lengths(answer).norm() <= case.arguments[1] * (1 + 1e-6)),
        ),
        Property(
            "These gradients were within the limit, and should have stayed as they were.",
            lambda answer, case: (
                bool(lengths(case.arguments[0]).norm() > case.arguments[1])
                or all(map(torch.allclose, answer, case.arguments[0]))
            ),
        ),
        Property(
            "Your gradients point elsewhere than before: they were not all multiplied by one "
            "factor.",
            lambda answer, case: (
                bool(
                    F.cosine_similarity(all_numbers(answer), all_numbers(case.arguments[0]), dim=0)
                    > 1 - 1e-9
                )
                or not all_numbers(case.arguments[0]).any()
            ),
        ),
        Property(
            "Your gradients became shorter than they have to be.",
            lambda answer, case: bool(
                lengths(answer).norm()
                >= (1 - 1e-6) * min(case.arguments[1], lengths(case.arguments[0]).norm())
            ),
        ),
    ),
    hints=(
        "First one number: the length of everything. The shapes do not matter for it.",
        "`g.flatten()` makes a row of any gradient, `torch.cat` one row of all. Or add up "
        "`(g**2).sum()` over them and take the root.",
        "The factor is limit / length, but never more than 1.",
    ),
    insight="Only the length of the step changes, not its direction. That is what cutting each "
    "number, or each layer, by itself would lose.",
    comes_back="Chapter 9 trains its translator with it.",
    others=(by_a_sum_of_squares,),
)

# --- 08.moves: who notices? ------------------------------------------------------------------


def moves(change: str) -> str:
    return {
        "a": "all",
        "b": "none",
        "c": "later",
        "d": "all",
        "e": "none",
        "f": "none",
        "g": "own",
        "h": "all",
    }[change]


MOVES = Exercise(
    id="08.moves",
    title="Who notices?",
    level=2,
    minutes=10,
    section="8.8",
    prompt="""
A Transformer of two encoder and two decoder layers, as this chapter builds it, reads five source
words, 0 to 4, of which 4 is padding, and four target words, 0 to 3. The padding is hidden wherever
source words are keys, and the future wherever target words are. Now one thing is changed. Which of
the decoder's four output rows move? (What rounding does to a last digit is no move.)

- `"a"`: source word 1 becomes another word.
- `"b"`: source word 4, the padding, becomes another word.
- `"c"`: target word 2 becomes another word.
- `"d"`: as in b, but the mask of the padding was forgotten in the decoder.
- `"e"`: source words 0 and 1 change places, and no positions were added to the source.
- `"f"`: as in a, but in both decoder layers the output of the attention to the source is set to 0.
- `"g"`: as in c, but in both decoder layers the output of the attention to the target is set to 0.
- `"h"`: as in c, but the second decoder layer has no causal mask.

`moves(change)` returns `"all"`, `"none"`, `"own"` (row 2 alone) or `"later"` (rows 2 and 3).
""",
    stub="""
def moves(change):
    raise NotImplementedError  # fill in the answers, then delete this line
    first = {"a": "", "b": "", "c": "", "d": ""}
    then = {"e": "", "f": "", "g": "", "h": ""}
    return (first | then)[change]
""",
    reference=moves,
    cases=lambda generator: [Case((c,), note=f"change {c}") for c in "abcdefgh"],
    mistakes=choices(
        moves,
        {
            ("a", "none"): "What would the decoder translate then? Its second attention takes keys "
            "and values from the encoder's output.",
            ("a", "own"): "Source and target are two sequences: row 1 of one has no row 1 of the "
            "other for its own. Every target row asks every source word.",
            ("a", "later"): "The causal mask lies between target words. The source is known as a "
            "whole, and every target row may look at all of it.",
            ("b", "all"): "The padding is hidden from the real words in the encoder, and from the "
            "target words in the decoder. On which way should it arrive?",
            ("b", "own"): "The padding's own row in the encoder moves. The question is for the "
            "decoder's rows, and those may not look at it.",
            ("b", "later"): "The causal mask has no say in the source. And the mask of the padding "
            "hides this word from everybody.",
            ("c", "all"): "Rows 0 and 1 may not look at word 2: it is their future, in both "
            "layers.",
            ("c", "none"): "The row of word 2 starts from word 2: it goes through every sum.",
            ("c", "own"): "Row 3 may look back at word 2, and does.",
            ("d", "none"): "In the encoder no real word looks at the padding. But its row is there "
            "at the end, and it has moved: who looks at it in the decoder now?",
            ("d", "own"): "Every target row asks every source row that is not hidden.",
            ("d", "later"): "The causal mask lies between target words, not between target and "
            "source.",
            ("e", "all"): "Without positions the encoder's rows are the same as before, in another "
            "order. A sum over keys and values does not ask for their order.",
            ("e", "own"): "Source words and target rows do not belong together by number. And what "
            "does the decoder see of the order of keys?",
            ("e", "later"): "The causal mask has no say in the source. And what does the decoder "
            "see of the order of keys?",
            ("f", "all"): "The encoder's rows move. But the only way from them into the decoder "
            "was set to 0.",
            ("f", "own"): "Row 2 of the target has no more to do with source word 1 than the "
            "others have. And which way is left from the source to any of them?",
            ("f", "later"): "The causal mask has no say in the source. And which way is left from "
            "the source to the target?",
            ("g", "all"): "Without that attention no target row learns of another: sum, norm, "
            "feed-forward network and the look at the source work row by row.",
            ("g", "none"): "The row of word 2 starts from word 2, and the sums carry it up.",
            ("g", "later"): "By which way would row 3 hear of word 2? The look at the source, the "
            "norms and the feed-forward network work row by row.",
            ("h", "later"): "In the second layer rows 0 and 1 look at row 2 of the first, and that "
            "one has moved.",
            ("h", "own"): "Even with both masks row 3 would notice. And one of them is missing.",
            ("h", "none"): "A mask that is missing hides nothing. And row 2 itself starts from "
            "word 2, and its sums carry it up.",
        },
    ),
    hints=(
        "Follow the change upwards. At each part ask: who gives the queries, who keys and values, "
        "and who is hidden from whom?",
        "Only attention takes something from one row to another. Between target rows there is one "
        "such way in a layer, and between source and target there is one.",
        "Keys and values are a set: a sum over them does not know their order. And one layer "
        "without a mask is enough to look ahead.",
    ),
    insight="Four questions, and the decoder layer is understood: from whom the queries, from whom "
    "keys and values, what is hidden, and what is added. All else works row by row.",
    comes_back="Chapter 9 trains this machine, with just these masks.",
    code=False,
)

# --- 08.count: what does the whole machine learn? ---------------------------------------------


def my_count(
    source_size: int, target_size: int, d_model: int, n_layers: int, d_ff: int, norm_first: bool
) -> int:
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    last_norms = 2 * norm if norm_first else 0
    tables = (source_size + target_size) * d_model
    to_words = d_model * target_size + target_size
    return n_layers * (encoder_layer + decoder_layer) + last_norms + tables + to_words


def count_of_a_model(
    source_size: int, target_size: int, d_model: int, n_layers: int, d_ff: int, norm_first: bool
) -> int:
    sizes = (source_size, target_size, d_model, 1, n_layers, d_ff)
    with torch.device("meta"):  # shapes alone, no numbers
        model = Transformer(*sizes, norm_first=norm_first)
    return sum(p.numel() for p in model.parameters())


def count_cases(generator: Generator) -> list[Case]:
    sizes = (
        (11, 17, 6, 1, 13),
        (23, 37, 10, 2, 19),
        (61, 47, 12, 3, 29),
        (9000, 7000, 512, 6, 2048),
    )
    return [
        Case(
            (*each, norm_first),
            {"D": each[2], "F": each[4]},
            "source_size {}, target_size {}, d_model {}, n_layers {}, d_ff {}".format(*each)
            + f", norm_first {norm_first}",
        )
        for each in sizes
        for norm_first in (False, True)
    ]


@dataclass(frozen=True)
class Parts:
    """What is added up, each right unless a wrong one is put in.

    `s` and `t` are the sizes of the vocabularies; attentions, networks and norms are those of an
    encoder layer and a decoder layer together.
    """

    attention: Callable[..., int] = lambda d: 4 * (d * d + d)
    attentions: Callable[..., int] = lambda: 3
    network: Callable[..., int] = lambda d, f: 2 * d * f + f + d
    networks: Callable[..., int] = lambda: 2
    norms: Callable[..., int] = lambda d, first: 5 * 2 * d
    layers: Callable[..., int] = lambda n: n
    last: Callable[..., int] = lambda d, first: 4 * d if first else 0
    tables: Callable[..., int] = lambda s, t, d: (s + t) * d
    to_words: Callable[..., int] = lambda s, t, d: d * t + t

    def __call__(self, s: int, t: int, d: int, n: int, f: int, first: bool) -> int:
        pair = self.attentions() * self.attention(d) + self.networks() * self.network(d, f)
        stack = self.layers(n) * (pair + self.norms(d, first)) + self.last(d, first)
        return stack + self.tables(s, t, d) + self.to_words(s, t, d)


COUNT_MISTAKES = (
    WrongLine(
        "attention",
        lambda d: 3 * (d * d + d),
        "An attention has a fourth matrix, with its bias: W_O.",
    ),
    WrongLine(
        "attention",
        lambda d: 4 * d * d,
        "The biases of the attention are missing: each of its four linear layers has one.",
    ),
    WrongLine(
        "attention",
        lambda d: 4 * d * d + d,
        "You counted one bias in an attention. Each of its four linear layers has one.",
    ),
    WrongLine(
        "attention",
        lambda d: 4 * d * d + 3 * d,
        "You counted three biases in an attention. W_O has one as well.",
    ),
    WrongLine(
        "attention",
        lambda d: 4 * (d * d + 1),
        "A bias is no single number: it has one for each column of its matrix, d_model here.",
    ),
    WrongLine(
        "attention",
        lambda d: 3 * d * d,
        "An attention has a fourth matrix, W_O, and each of the four has a bias.",
    ),
    WrongLine(
        "attentions",
        lambda: 2,
        "A decoder layer has two attentions: one looks back at the target, the other across to "
        "the source.",
    ),
    WrongLine(
        "attentions",
        lambda: 4,
        "You counted an attention too many: an encoder layer has one, a decoder layer two.",
    ),
    WrongLine(
        "network",
        lambda d, f: 2 * d * f,
        "The biases of the feed-forward network are missing: d_ff of them after the first matrix, "
        "d_model after the second.",
    ),
    WrongLine(
        "network",
        lambda d, f: 2 * d * f + f,
        "The second bias of the feed-forward network is missing: its output is d_model wide.",
    ),
    WrongLine(
        "network",
        lambda d, f: 2 * d * f + d,
        "The first bias of the feed-forward network is missing: its inner rows are d_ff wide.",
    ),
    WrongLine(
        "network",
        lambda d, f: 2 * d * f + 2 * d,
        "You gave both biases of the feed-forward network the width d_model. A bias is as wide as "
        "what comes out of its matrix, and the first brings out d_ff.",
    ),
    WrongLine(
        "network",
        lambda d, f: 2 * d * f + 2 * f,
        "You gave both biases of the feed-forward network the width d_ff. A bias is as wide as "
        "what comes out of its matrix, and the second leads back to d_model.",
    ),
    WrongLine(
        "network",
        lambda d, f: d * f + f,
        "The feed-forward network has two matrices: one widens the rows to d_ff, the other leads "
        "them back to d_model.",
    ),
    WrongLine(
        "network",
        lambda d, f: d * f,
        "The feed-forward network has two matrices, there and back, and a bias after each.",
    ),
    WrongLine(
        "networks",
        lambda: 1,
        "You counted one feed-forward network in a pair of layers. Both kinds of layer have one.",
    ),
    WrongLine(
        "networks",
        lambda: 3,
        "You counted three feed-forward networks in a pair of layers. A decoder layer has two "
        "attentions and one network.",
    ),
    WrongLine("networks", lambda: 0, "The feed-forward networks are missing."),
    WrongLine(
        "norms",
        lambda d, first: 0,
        "The norms of the layers are missing. Each learns a gain and a shift for every column.",
    ),
    WrongLine(
        "norms",
        lambda d, first: 2 * 2 * d,
        "You counted one norm a layer. There is one for each part: two in an encoder layer, three "
        "in a decoder layer.",
    ),
    WrongLine(
        "norms",
        lambda d, first: 5 * d,
        "You counted one number per column and norm. A norm has two: gain and shift.",
    ),
    WrongLine(
        "norms",
        lambda d, first: 5 * 2,
        "You counted two numbers a norm. Gain and shift are rows: two numbers for each column.",
    ),
    WrongLine(
        "norms", lambda d, first: 4 * 2 * d, "A decoder layer has three parts, and so three norms."
    ),
    WrongLine(
        "norms",
        lambda d, first: 6 * 2 * d,
        "You counted six norms in a pair of layers: two parts and three parts make five.",
    ),
    WrongLine(
        "norms",
        lambda d, first: 5 * 2 * d if first else 0,
        "You counted the norms of the layers in one order only. They are there in both: "
        "`norm_first` says on which side of the sum they stand.",
    ),
    WrongLine(
        "layers",
        lambda n: 1,
        "You counted one layer of each kind. There are n_layers, each with parameters of its own.",
    ),
    WrongLine(
        "layers",
        lambda n: 2 * n,
        "You counted twice as many layers: each tower has n_layers.",
    ),
    WrongLine(
        "last",
        lambda d, first: 0,
        "With `norm_first` nothing norms the last sum of a tower, so one more norm stands on top "
        "of each.",
    ),
    WrongLine(
        "last",
        lambda d, first: 4 * d,
        "You counted a last norm on each tower in both orders. Where each sum is normed, the last "
        "one is, too.",
    ),
    WrongLine(
        "last",
        lambda d, first: 2 * d if first else 0,
        "You counted one last norm. Both towers have one.",
    ),
    WrongLine(
        "last",
        lambda d, first: 0 if first else 4 * d,
        "The last norms stand in the other order: where the parts read normed rows, nothing norms "
        "the last sum.",
    ),
    WrongLine("tables", lambda s, t, d: 0, "The two tables are missing: a row for each word."),
    WrongLine(
        "tables",
        lambda s, t, d: s * d,
        "The target's words come twice: in a table, from which the decoder reads them, and in the "
        "last matrix. You counted one of the two.",
    ),
    WrongLine(
        "tables",
        lambda s, t, d: t * d,
        "The source has a table too: the encoder reads other words than the decoder.",
    ),
    WrongLine(
        "tables",
        lambda s, t, d: s + t,
        "You counted one number for a word. In a table each has a row, d_model wide.",
    ),
    WrongLine(
        "to_words",
        lambda s, t, d: 0,
        "The last matrix is missing: from d_model numbers to a score for each target word.",
    ),
    WrongLine(
        "to_words", lambda s, t, d: d * t, "The last matrix has a bias: a number for each word."
    ),
    WrongLine(
        "to_words",
        lambda s, t, d: d * t + d,
        "A bias is as wide as what comes out of its matrix: here a score for each target word.",
    ),
    WrongLine(
        "to_words",
        lambda s, t, d: d * s + s,
        "The last matrix leads to the words of the source. It is the target that is written.",
    ),
    WrongLine(
        "to_words",
        lambda s, t, d: (d + 1) * (s + t),
        "The last matrix gives scores to the words of both languages. Only the target is written.",
    ),
)

COUNT = Exercise(
    id="08.count",
    title="What does the whole machine learn?",
    level=2,
    minutes=10,
    section="8.9",
    prompt="""
Write `my_count(source_size, target_size, d_model, n_layers, d_ff, norm_first)`: how many numbers
the library's `Transformer` of these sizes learns, however many heads it has. The first two are the
numbers of words in the two languages. Both towers have `n_layers` layers, `norm_first` is that of
section 8.10, and positions are sinusoids; all that stands below and above the layers counts, too.
Answer with a whole number. (Building the model and counting passes; the point is a formula.)
""",
    stub="""
def my_count(source_size, target_size, d_model, n_layers, d_ff, norm_first):
    raise NotImplementedError
""",
    reference=my_count,
    cases=count_cases,
    mistakes=(
        Mistake(
            lambda s, t, d, n, f, first: Parts(layers=lambda n: 0, last=lambda d, first: 0)(
                s, t, d, n, f, first
            ),
            "Tables and last matrix are right. The layers are missing.",
        ),
        Mistake(
            lambda s, t, d, n, f, first: Parts(
                tables=lambda s, t, d: 0, to_words=lambda s, t, d: 0
            )(s, t, d, n, f, first),
            "The layers are right. Below them stand two tables, and above them a last matrix that "
            "gives each target word a score.",
        ),
        Mistake(
            lambda s, t, d, n, f, first: Parts(
                last=lambda d, first: 0,
                tables=lambda s, t, d: 0,
                to_words=lambda s, t, d: 0,
            )(s, t, d, n, f, first),
            "These are the layers. Below them stand two tables, above them a last matrix, and with "
            "`norm_first` one more norm on top of each tower.",
        ),
        Mistake(
            lambda s, t, d, n, f, first: (
                n * Parts()(s, t, d, 1, f, False) + (4 * d if first else 0)
            ),
            "You counted tables and last matrix once for each layer. They stand once below and "
            "once above all layers.",
        ),
        Mistake(
            lambda s, t, d, n, f, first: Parts(
                norms=lambda d, first: (14 if first else 10) * d, last=lambda d, first: 0
            )(s, t, d, n, f, first),
            "You counted a last norm in each layer. It is the last of a tower: one on top of all.",
        ),
        Mistake(
            Parts(attentions=lambda: 2, norms=lambda d, first: 4 * 2 * d),
            "You took a decoder layer for an encoder layer. It has an attention more, across to "
            "the source, and a norm for it.",
        ),
        Mistake(
            Parts(networks=lambda: 3, norms=lambda d, first: 6 * 2 * d),
            "You took a decoder layer for two encoder layers. It has two attentions, but one "
            "feed-forward network, and three norms.",
        ),
        Mistake(
            Parts(
                lambda d: 4 * d * d,
                network=lambda d, f: 2 * d * f,
                to_words=lambda s, t, d: d * t,
            ),
            "No bias is counted, neither in the layers nor in the last matrix. Each linear layer "
            "has one.",
        ),
        Mistake(
            lambda s, t, d, n, f, first: Parts()(s, t, d, n, 4 * d, first),
            "`d_ff` has no influence: you took it for 4 · d_model, as in the paper. It is an "
            "argument here.",
        ),
        Mistake(
            lambda s, t, d, n, f, first: Parts(
                lambda d: 4 * d * d,
                network=lambda d, f: 2 * d * f,
                norms=lambda d, first: 0,
                last=lambda d, first: 0,
                to_words=lambda s, t, d: d * t,
            )(s, t, d, n, f, first),
            "The matrices are right. Biases and norms are missing: small numbers, but they are "
            "learned too.",
        ),
    ),
    common_mistakes=MistakeSet(lambda parts: parts, COUNT_MISTAKES, right=Parts()),
    hints=(
        "Section 8.9 counts a layer of each kind. What stands below the layers, what above them, "
        "and what does `norm_first` add?",
        "A table has a row of d_model numbers for each word; the last matrix a row for each word "
        "of the target, and a bias. On top of each tower there is a norm if `norm_first`.",
        "n_layers · (12 (D² + D) + 2 (2 D F + F + D) + 10 D), then (S + T) · D, then D · T + T, "
        "and 4 D more if `norm_first`.",
    ),
    insight="The layers do not grow with the vocabulary, and tables and last matrix do not grow "
    "with depth. Neither the heads nor the length of a sentence occur.",
    comes_back="Chapter 11 counts a model of eight billion in the same way.",
    others=(count_of_a_model,),
)

# --- 08.repair: three faults in a decoder layer ----------------------------------------------

Rows = Callable[..., Tensor]


def my_decoder_layer(
    y: Tensor, z: Tensor, look_back: Rows, look_across: Rows, feed_forward: Rows, norms: list[Rows]
) -> Tensor:
    norm_1, norm_2, norm_3 = norms
    a = norm_1(y + look_back(y))
    b = norm_2(a + look_across(a, z))
    return norm_3(b + feed_forward(b))


def by_a_loop(
    y: Tensor, z: Tensor, look_back: Rows, look_across: Rows, feed_forward: Rows, norms: list[Rows]
) -> Tensor:
    parts = look_back, lambda rows: look_across(rows, z), feed_forward
    for part, norm in zip(parts, norms, strict=True):
        y = norm(y + part(y))
    return y


def some_parts(generator: Generator, d: int) -> tuple[Rows, Rows, Rows, list[Rows]]:
    """A decoder layer's parts with matrices of their own, as functions."""
    back, across = draw(generator, 2, 3, d, d) / d**0.5
    w_in, w_out = draw(generator, 2, d, d) / d**0.5
    gains, shifts = draw(generator, 2, 3, d)

    def attend(rows: Tensor, context: Tensor, matrices: Tensor, mask: Tensor | None) -> Tensor:
        w_q, w_k, w_v = matrices.to(rows)
        return scaled_dot_product_attention(rows @ w_q, context @ w_k, context @ w_v, mask)[0]

    def look_back(rows: Tensor) -> Tensor:
        return attend(rows, rows, back, causal_mask(rows.size(-2)).to(rows.device))

    def norm(i: int) -> Rows:
        return lambda rows: F.layer_norm(rows, (d,), 1 + gains[i].to(rows), shifts[i].to(rows))

    return (
        look_back,
        lambda rows, context: attend(rows, context, across, None),
        lambda rows: (rows @ w_in.to(rows)).relu() @ w_out.to(rows),
        [norm(0), norm(1), norm(2)],
    )


def layer_cases(generator: Generator) -> list[Case]:
    def case(note: str, b: int, target: int, source: int, d: int) -> Case:
        y, z = draw(generator, b, target, d), draw(generator, b, source, d)
        sizes = {"B": b, "Lq": target, "Lk": source, "D": d}
        return Case((y, z, *some_parts(generator, d)), sizes, note)

    return [
        case("2 target words, 3 source words", 1, 2, 3, 5),
        case("a batch of 2", 2, 3, 5, 7),
        case("a batch of 3, more target than source words", 3, 7, 2, 10),
    ]


@dataclass(frozen=True)
class Layer:
    """A decoder layer's three lines, each right unless a wrong one is put in."""

    first: Rows = lambda y, part, norm: norm(y + part(y))
    second: Rows = lambda y, a, z, part, norm: norm(a + part(a, z))
    third: Rows = lambda y, a, b, part, norm: norm(b + part(b))

    def __call__(
        self,
        y: Tensor,
        z: Tensor,
        look_back: Rows,
        look_across: Rows,
        feed_forward: Rows,
        norms: list[Rows],
    ) -> Tensor:
        a = self.first(y, look_back, norms[0])
        b = self.second(y, a, z, look_across, norms[1])
        return self.third(y, a, b, feed_forward, norms[2])


def alone(rows: Tensor, part: Rows, norm: Rows) -> Tensor:
    return norm(part(rows))


def bare(rows: Tensor, part: Rows, norm: Rows) -> Tensor:
    return rows + part(rows)


def pre(rows: Tensor, part: Rows, norm: Rows) -> Tensor:
    return rows + part(norm(rows))


def over_the_part(rows: Tensor, part: Rows, norm: Rows) -> Tensor:
    return rows + norm(part(rows))


def over_the_input(rows: Tensor, part: Rows, norm: Rows) -> Tensor:
    return norm(rows) + part(rows)


def twice(rows: Tensor, part: Rows, norm: Rows) -> Tensor:
    return norm(rows + part(norm(rows)))


def of_the_normed(rows: Tensor, part: Rows, norm: Rows) -> Tensor:
    return norm(rows) + part(norm(rows))


def same(rows: Tensor) -> Tensor:
    return rows


def around_too_much(y: Tensor, a: Tensor, z: Tensor, part: Rows, norm: Rows) -> Tensor:
    return norm(y + part(a, z))


def across(form: Rows) -> Rows:
    """A line of this form as the second one."""
    return lambda y, a, z, part, norm: form(a, lambda rows: part(rows, z), norm)


def last(form: Rows) -> Rows:
    """A line of this form as the third one."""
    return lambda y, a, b, part, norm: form(b, part, norm)


def everywhere(form: Rows) -> Layer:
    return Layer(form, across(form), last(form))


LAYER_MISTAKES = (
    WrongLine(
        "first",
        alone,
        "In the first line nothing is added: what the words were before they looked back is lost.",
    ),
    WrongLine("first", bare, "The norm of the first line is missing."),
    WrongLine(
        "first",
        pre,
        "Your first line norms before the look back, as pre-norm does. This layer is post-norm: "
        "first the sum, then the norm.",
    ),
    WrongLine(
        "first",
        over_the_part,
        "In your first line only what the attention found is normed, and y is added afterwards. "
        "The norm comes over the sum.",
    ),
    WrongLine(
        "first",
        over_the_input,
        "In your first line the norm goes over y alone. It comes over the sum.",
    ),
    WrongLine(
        "first",
        twice,
        "Your first line norms twice: once too often, before the look back.",
    ),
    WrongLine(
        "second",
        around_too_much,
        "In the second line y itself is added: so the sum goes around two parts, and what the "
        "look back found is gone unless the second attention brings it along. Each part adds to "
        "its own input.",
    ),
    WrongLine(
        "second",
        across(alone),
        "In the second line nothing is added: only what was found in the source goes on.",
    ),
    WrongLine("second", across(bare), "The norm of the second line is missing."),
    WrongLine(
        "second",
        across(pre),
        "Your second line norms before the look across, as pre-norm does. This layer is "
        "post-norm: first the sum, then the norm.",
    ),
    WrongLine(
        "second",
        across(over_the_part),
        "In your second line only what the attention found is normed. The norm comes over the sum.",
    ),
    WrongLine(
        "second",
        across(over_the_input),
        "In your second line the norm goes over a alone. It comes over the sum.",
    ),
    WrongLine(
        "second",
        across(twice),
        "Your second line norms twice: once too often, before the look across.",
    ),
    WrongLine(
        "second",
        lambda y, a, z, part, norm: norm(a + part(y, z)),
        "Your second attention asks with y, the rows before they looked back. Its queries are the "
        "rows of the first line.",
    ),
    WrongLine(
        "second",
        lambda y, a, z, part, norm: norm(y + part(y, z)),
        "Your second line begins with y again, so that the first line has no influence.",
    ),
    WrongLine(
        "second",
        lambda y, a, z, part, norm: norm(a + part(a, a)),
        "Your second attention looks at the target once more. Its keys and values are the source: "
        "z.",
    ),
    WrongLine(
        "second",
        lambda y, a, z, part, norm: norm(y + a + part(a, z)),
        "In the second line y is added once more. It is inside a already.",
    ),
    WrongLine(
        "third",
        last(alone),
        "In the last line nothing is added: what goes on is the feed-forward network's output "
        "alone. So it stands in the copy of S4 that the book has.",
    ),
    WrongLine("third", last(bare), "The norm of the last line is missing."),
    WrongLine(
        "third",
        last(pre),
        "The last line norms before the feed-forward network, as pre-norm does. This layer is "
        "post-norm, and its last step is a norm.",
    ),
    WrongLine(
        "third",
        last(over_the_part),
        "In your last line only what the feed-forward network brings is normed. The norm comes "
        "over the sum.",
    ),
    WrongLine(
        "third",
        last(over_the_input),
        "In your last line the norm goes over b alone. It comes over the sum.",
    ),
    WrongLine(
        "third",
        last(twice),
        "Your last line norms twice: once too often, before the feed-forward network.",
    ),
    WrongLine(
        "third",
        last(of_the_normed),
        "Your last line norms before the sum. It comes over the sum: the norm is the last step.",
    ),
    WrongLine(
        "third",
        lambda y, a, b, part, norm: norm(y + part(b)),
        "In the last line y is added: so the sum goes around all three parts. Each adds to its own "
        "input, which is b here.",
    ),
    WrongLine(
        "third",
        lambda y, a, b, part, norm: norm(a + part(b)),
        "In the last line a is added: so the sum goes around two parts. The feed-forward network "
        "adds to its own input, b.",
    ),
    WrongLine(
        "third",
        lambda y, a, b, part, norm: norm(a + part(a)),
        "Your last line goes on from a, so that the look across has no influence.",
    ),
    WrongLine(
        "third",
        lambda y, a, b, part, norm: norm(y + b + part(b)),
        "In the last line y is added once more. It is inside b already.",
    ),
    WrongLine(
        "third",
        lambda y, a, b, part, norm: norm(a + b + part(b)),
        "In the last line a is added once more. It is inside b already.",
    ),
    WrongLine(
        "third",
        lambda y, a, b, part, norm: norm(y + a + b + part(b)),
        "In the last line y and a are added once more. They are inside b already.",
    ),
    WrongLine(
        "third",
        lambda y, a, b, part, norm: y + norm(b + part(b)),
        "At the end y is added once more, over the last norm. The layer ends in a norm.",
    ),
)


def with_norms(some: Callable[[list[Rows]], list[Rows]]) -> Callable[..., Tensor]:
    """The layer with other norms than it was given."""

    def wrong(y: Tensor, z: Tensor, *parts: Any) -> Tensor:
        look_back, look_across, feed_forward, norms = parts
        return Layer()(y, z, look_back, look_across, feed_forward, some(norms))

    return wrong


REPAIR = Exercise(
    id="08.repair",
    title="Three faults in a decoder layer",
    level=2,
    minutes=12,
    section="8.7",
    prompt="""
A decoder layer from memory, post-norm, as the paper and S4 have it. Its parts come as functions:
`look_back(rows)` is the masked attention of the target to itself, `look_across(rows, context)` the
attention of `rows` to `context`, `feed_forward(rows)` the network, and `norms` is a list of three
norms, in the order in which they are used. `y` (B, Lq, D) are the rows of the target, `z`
(B, Lk, D) is what the encoder made of the source, and the answer has y's shape. The layer runs, and
each of its three lines has a fault.
""",
    stub="""
def my_decoder_layer(y, z, look_back, look_across, feed_forward, norms):
    raise NotImplementedError  # repair the lines below, then delete this one
    norm_1, norm_2, norm_3 = norms
    a = norm_1(look_back(y))
    b = norm_2(y + look_across(a, z))
    return b + feed_forward(norm_3(b))
""",
    reference=my_decoder_layer,
    cases=layer_cases,
    axes="B Lq D",
    mistakes=(
        Mistake(
            Layer(alone, around_too_much, last(pre)),
            "All three faults are still there. Of each part ask: what is its input, is just that "
            "added to its output, and where is the norm?",
        ),
        Mistake(
            everywhere(pre),
            "This is a decoder layer, but a pre-norm one: each part gets normed rows, and the sums "
            "stay as they are. Asked for is post-norm: the norm comes over each sum.",
        ),
        Mistake(
            everywhere(alone),
            "Nothing is added anywhere. Around each of the three parts leads a way past it: its "
            "input is added to its output.",
        ),
        Mistake(
            everywhere(bare),
            "All sums are right now, and no norm is left. Each comes over its sum.",
        ),
        Mistake(
            everywhere(over_the_part),
            "You normed what each part brings, and left the sums alone. Each norm comes over the "
            "whole sum.",
        ),
        Mistake(
            everywhere(over_the_input),
            "You normed each part's input where it is added, and not where the part reads it. The "
            "norm comes over the sum, when both are in it.",
        ),
        Mistake(
            everywhere(twice),
            "Each line norms twice. Pre-norm does it before the part, post-norm after the sum: "
            "this layer is post-norm.",
        ),
        Mistake(
            with_norms(lambda norms: norms[:1] * 3),
            "One norm stands in all three lines. Each line has its own, with a gain and a shift "
            "of its own.",
        ),
        Mistake(
            with_norms(lambda norms: norms[::-1]),
            "The norms stand in the opposite order: the first of the list belongs to the look "
            "back.",
        ),
        Mistake(
            everywhere(of_the_normed),
            "You normed each part's input, and added that to what the part brings. The norm comes "
            "over the sum, once a line.",
        ),
        Mistake(
            with_norms(lambda norms: [same, same, lambda x: norms[2](norms[1](norms[0](x)))]),
            "All three norms stand at the end. There is one over each of the three sums.",
        ),
        Mistake(
            Layer(bare, across(bare)),
            "One norm, at the end, is not enough: there is one over each of the three sums.",
        ),
        Mistake(
            Layer(second=lambda y, a, z, part, norm: norm(a + part(z, a))),
            "In your second line the source asks. The first argument of `look_across` are the rows "
            "that ask, and the target asks: the answer has a row for each target word.",
        ),
        Mistake(
            Layer(second=lambda y, a, z, part, norm: norm(z + part(a, z))),
            "In your second line z is added. The source gives keys and values, and what the rows "
            "of the target find there is added to those rows: there need not even be as many.",
        ),
    ),
    common_mistakes=MistakeSet(lambda layer: layer, LAYER_MISTAKES, right=Layer()),
    hints=(
        "All three lines have the same form: norm(input + part(input)). Compare each with it.",
        "In the first line something is missing, in the second the wrong rows are added, in the "
        "third two things stand in the wrong order.",
        "The second line: the look across begins with `a`, so `a` is what is added to it.",
    ),
    insight="Three times the same line, with another part in it. All three faults keep the shape: "
    "only numbers from another implementation give them away.",
    comes_back="In 08.experiment you find such faults without seeing a line.",
    others=(by_a_loop,),
)

# --- 08.experiment: where is the norm? -------------------------------------------------------

Black = Callable[[Tensor], Tensor]


def where_is_the_norm(layer: Black) -> str:
    x = torch.randn(100, 1, 64)  # a hundred sentences of one word
    far = 1e6 * x
    out = layer(far)
    if out.norm() > 1e4 * x.norm():  # it grows with its input: nothing norms the sums
        return "pre" if (out - far).norm() < 1e-3 * far.norm() else "no norm"
    through = torch.cosine_similarity(out, x, dim=-1).mean()  # of a residual something is left
    return "post" if through > 0.15 else "no residual"


MATRICES = draw(Generator().manual_seed(8), 6, 64, 64) / 8
GAIN, SHIFT = draw(Generator().manual_seed(9), 2, 64) / 4


def layer_norm(x: Tensor, learned: bool) -> Tensor:
    if not learned:
        return F.layer_norm(x, (64,))
    return F.layer_norm(x, (64,), 1 + GAIN.to(x), SHIFT.to(x))


def black_box(
    kind: str, strength: float = 1.0, learned: bool = False, sums: tuple[int, int] = (1, 1)
) -> Black:
    """An encoder layer with one head: its norms before, after or nowhere, its sums or some."""

    def attention(x: Tensor) -> Tensor:
        w_q, w_k, w_v, w_o = MATRICES[:4].to(x)
        return strength * scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v)[0] @ w_o

    def feed_forward(x: Tensor) -> Tensor:
        w_in, w_out = MATRICES[4:].to(x)
        return strength * 2**0.5 * (x @ w_in).relu() @ w_out

    def layer(x: Tensor) -> Tensor:
        for part, kept in zip((attention, feed_forward), sums, strict=True):
            brought = part(layer_norm(x, learned) if kind == "pre" else x)
            total = x + brought if kept else brought
            x = layer_norm(total, learned) if kind == "post" else total
        return x

    return layer


FFN = "post-norm, without the sum around the feed-forward network"
BOXES: dict[str, Black] = {
    "a pre-norm layer": black_box("pre"),
    "a pre-norm layer whose parts bring little": black_box("pre", 0.05, learned=True),
    "a pre-norm layer whose parts bring much": black_box("pre", 30.0),
    "a post-norm layer": black_box("post"),
    "a post-norm layer with learned gains and shifts": black_box("post", 0.8, learned=True),
    "a post-norm layer whose parts bring little": black_box("post", 0.05),
    "norms before the parts, and no sum": black_box("pre", sums=(0, 0)),
    "norms after the parts, and no sum": black_box("post", learned=True, sums=(0, 0)),
    FFN: black_box("post", sums=(1, 0)),
    "pre-norm, without the sum around the attention": black_box("pre", sums=(0, 1)),
    "sums and no norm": black_box("none"),
    "sums and no norm, the parts bring little": black_box("none", 0.05),
}
OUT_OF_THE_BOX: dict[tuple[str, str], str] = {
    ("a pre-norm layer", "post"): "Multiply the input by a thousand, and the output grows with it. "
    "Could it, if a norm came last?",
    ("a pre-norm layer", "no residual"): "Multiply the input by a thousand, and the output grows "
    "with it. Through a norm nothing grows: there is a way around it.",
    ("a pre-norm layer", "no norm"): "The output grows with the input, but what is added to it "
    "does not: the parts get normed rows. Look at output minus input.",
    ("a pre-norm layer whose parts bring little", "post"): "This output is nearly the input, at "
    "every size of the input. A norm at the end would bring all sizes to one.",
    ("a pre-norm layer whose parts bring little", "no residual"): "This output is nearly the "
    "input, at every size. What else than a sum could bring it here?",
    ("a pre-norm layer whose parts bring little", "no norm"): "Little is added here, and that is "
    "easy to miss: does output minus input grow with the input, or stay as it is?",
    ("a pre-norm layer whose parts bring much", "post"): "The parts bring thirty times as much as "
    "an ordinary input. Make the input a million times larger: the output grows in the end.",
    ("a pre-norm layer whose parts bring much", "no residual"): "The parts bring so much that the "
    "input drowns in it, but a sum is there: make the input a million times larger.",
    ("a pre-norm layer whose parts bring much", "no norm"): "Output minus input is large here, but "
    "it does not grow with the input. Compare it at two sizes of the input, both large.",
    ("a post-norm layer", "pre"): "However large the input, this output stays of one size: a norm "
    "comes after the last sum.",
    ("a post-norm layer", "no residual"): "Something of each input row is left in its output row: "
    "take their cosine, and the mean of it over many rows.",
    ("a post-norm layer", "no norm"): "However large the input, this output stays of one size. "
    "Sums alone would let it grow.",
    ("a post-norm layer with learned gains and shifts", "pre"): "Mean and variance of its rows are "
    "not 0 and 1, since gains and shifts were learned. But does a large input make them larger?",
    ("a post-norm layer with learned gains and shifts", "no residual"): "A shift is in every row "
    "of this output, and hides what they have of their inputs. Take the mean over many cosines, "
    "or take the mean row away first.",
    ("a post-norm layer with learned gains and shifts", "no norm"): "Gains and shifts were learned "
    "here, so that the rows have another mean and variance than 0 and 1. The norm shows in what a "
    "large input does: nothing.",
    ("a post-norm layer whose parts bring little", "pre"): "This output is nearly the input if "
    "that has mean 0 and variance 1 already, as random rows nearly have. Give it large ones.",
    ("a post-norm layer whose parts bring little", "no residual"): "This output is nearly the "
    "normed input: nothing but a sum could bring it here.",
    ("a post-norm layer whose parts bring little", "no norm"): "Random rows have nearly mean 0 and "
    "variance 1, and a norm does nothing to them. Give it rows of another size.",
    ("norms before the parts, and no sum", "pre"): "Its parts do get normed rows. But multiply the "
    "input by a thousand: a sum would bring that to the output.",
    ("norms before the parts, and no sum", "post"): "The output stays of one size, as if a norm "
    "came last. But is anything of an input row left in its output row? Take many cosines.",
    ("norms before the parts, and no sum", "no norm"): "Without any norm a large input would make "
    "this output large.",
    ("norms after the parts, and no sum", "pre"): "A large input leaves this output as it is. "
    "Around a norm that comes before, a sum would lead a large input past it.",
    ("norms after the parts, and no sum", "post"): "Its norms are where post-norm has them. But is "
    "anything of an input row left in its output row? Take many cosines.",
    ("norms after the parts, and no sum", "no norm"): "However large the input, this output stays "
    "of one size: a norm stands somewhere.",
    (FFN, "pre"): "A norm comes last here, so a large input does not make the output large.",
    (FFN, "post"): "The first of its parts has its sum, the second has not, so nothing of an input "
    "row comes through to the end. Take many cosines.",
    (FFN, "no norm"): "Two norms are here, and a large input does not make the output large.",
    ("pre-norm, without the sum around the attention", "pre"): "The second of its parts has its "
    "sum, the first has not. Multiply the input by a thousand: nothing of that arrives.",
    ("pre-norm, without the sum around the attention", "post"): "The output stays of one size, but "
    "by the norm at the beginning: of an input row nothing is left in its output row.",
    ("pre-norm, without the sum around the attention", "no norm"): "A large input does not make "
    "this output large: something norms it.",
    ("sums and no norm", "pre"): "The output grows with the input, and so does what is added to "
    "it: output minus input. Behind a norm it would stay of one size.",
    ("sums and no norm", "post"): "Multiply the input by a thousand, and the output is a thousand "
    "times as large. A norm would have undone that.",
    ("sums and no norm", "no residual"): "A missing sum shows between norms alone: here the output "
    "grows with the input, so there are none.",
    ("sums and no norm, the parts bring little", "pre"): "Output and input are nearly the same. "
    "But does output minus input grow with the input? It must not, behind a norm.",
    ("sums and no norm, the parts bring little", "post"): "This output is nearly the input, at "
    "every size of it: nothing is normed.",
    ("sums and no norm, the parts bring little", "no residual"): "Nearly all of this output is the "
    "input itself: a sum has brought it.",
}


def by_two_sizes(layer: Black) -> str:
    x = torch.randn(400, 3, 64)
    small, large = layer(1e4 * x), layer(1e6 * x)
    if large.norm() < 2 * small.norm():
        out = layer(x) - layer(x).mean(dim=(0, 1))  # without the shift that all rows have
        return "post" if (x * out).mean() > 0.15 else "no residual"
    added = (large - 1e6 * x).norm() / (small - 1e4 * x).norm()
    return "no norm" if added > 10 else "pre"


EXPERIMENT = Exercise(
    id="08.experiment",
    title="Where is the norm?",
    level=3,
    minutes=15,
    section="8.10",
    prompt="""
Twelve encoder layers came without their source, an attention and a feed-forward network each, with
matrices that you cannot see. `layer(x)` takes rows of your own making, `x` of shape (B, L, 64), and
returns as many. Think of an experiment, and write `where_is_the_norm(layer)`, which returns

- `"pre"` if each part gets normed rows and adds to what came in,
- `"post"` if each part adds to what came in and the sum is normed,
- `"no residual"` if one of the two sums is missing, or both (with norms before or after),
- `"no norm"` if both sums are there and no norm is.

Some parts bring much and some bring little, and some norms have learned gains and shifts.
""",
    stub="""
def where_is_the_norm(layer):
    raise NotImplementedError
""",
    reference=where_is_the_norm,
    cases=lambda generator: [Case((f,), note=name) for name, f in BOXES.items()],
    mistakes=choices(
        where_is_the_norm,
        {(BOXES[name], said): tells for (name, said), tells in OUT_OF_THE_BOX.items()},
    ),
    hints=(
        "What does a norm do to a row that is a million times as large? And what does a sum do "
        "with it?",
        "If the output grows with the input: does output minus input grow as well? If it does not "
        "grow: is an output row at all like its input row?",
        "`layer(1e6 * x)` tells two kinds apart by its size. For the other two, the mean of "
        "`torch.cosine_similarity(out, x, dim=-1)` over many random rows is about 0 if nothing "
        "comes through.",
    ),
    insight="In a pre-norm stack the input reaches the end as one term of a sum, and the gradient "
    "has a way back with no norm on it. In a post-norm stack every norm rescales both.",
    comes_back="Chapter 12 takes trained models apart in the same way, from outside.",
    others=(by_two_sizes,),
    code=False,
)

CHAPTER = "8. The Transformer"
EXERCISES = (NORM, CLIP, MOVES, COUNT, REPAIR, EXPERIMENT)
