"""Exercises of chapter 8: the Transformer."""

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from attnbook.attention.masks import causal_mask
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.chapters.common_mistakes import MistakeSet, WrongLine
from attnbook.exercises.exercise import Case, Exercise, Mistake, Property, draw, some_sizes
from attnbook.language import _
from attnbook.models.transformer import Transformer

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


NORM = Exercise(
    id="08.norm",
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

# --- 08.clip: one factor for all gradients ----------------------------------------------------


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
    return torch.cat([g.flatten() for g in gradients])


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

CLIP = Exercise(
    id="08.clip",
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
                or all(map(torch.allclose, answer, case.arguments[0]))
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

# --- 08.moves: which rows change? ------------------------------------------------------------


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


def moves_mistake(changes: str, answer: str, message: str) -> Mistake:
    return Mistake(lambda change: answer if change in changes else moves(change), message)


MOVES = Exercise(
    id="08.moves",
    title="Which rows change?",
    level=2,
    minutes=10,
    section="8.8",
    prompt="""
A Transformer like the one in this chapter, with two encoder and two decoder layers, reads five
source words, numbered 0 to 4, and four target words, numbered 0 to 3. Source word 4 is padding. The
padding is masked wherever source words are keys, and the future is masked wherever target words are
keys. Now one thing is changed. Which of the decoder's four output rows change? (Ignore rounding in
the last digit.)

- `"a"`: source word 1 becomes another word.
- `"b"`: source word 4, the padding, becomes another word.
- `"c"`: target word 2 becomes another word.
- `"d"`: as in b, but the decoder has no padding mask.
- `"e"`: source words 0 and 1 are swapped, and the source has no positional encoding.
- `"f"`: as in a, but in both decoder layers the output of the cross-attention is set to 0.
- `"g"`: as in c, but in both decoder layers the output of the self-attention is set to 0.
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
    cases=lambda generator: [
        Case((c,), note=_("change {name}").format(name=c)) for c in "abcdefgh"
    ],
    mistakes=(
        moves_mistake(
            "ad",
            "none",
            "The decoder's cross-attention takes keys and values from all rows of the encoder's "
            "output that are not masked. Has one of those rows changed?",
        ),
        moves_mistake(
            "cgh",
            "none",
            "Row 2 starts as target word 2, and the residual connections carry it to the top.",
        ),
        moves_mistake(
            "abdef",
            "own",
            "Source word i and target row i do not belong together. Each target row attends to "
            "all source words that are not masked.",
        ),
        moves_mistake("ch", "own", "Row 3 may attend to row 2, and does."),
        moves_mistake(
            "abdef",
            "later",
            "The causal mask applies between target words. It hides no source word.",
        ),
        moves_mistake(
            "b", "all", "The padding is masked in the encoder and in the decoder. No path is left."
        ),
        moves_mistake(
            "c",
            "all",
            "Row 2 lies in the future of rows 0 and 1, so they may not attend to it in any layer.",
        ),
        moves_mistake(
            "e",
            "all",
            "Without positions, the encoder's rows are the same in another order, and a weighted "
            "sum over keys and values does not depend on their order.",
        ),
        moves_mistake(
            "f", "all", "The encoder's rows change, but their only path to the decoder was cut."
        ),
        moves_mistake(
            "g",
            "all",
            "Only self-attention connects target rows. Everything else works on each of them "
            "alone.",
        ),
        moves_mistake(
            "g",
            "later",
            "How would row 3 learn about word 2? Cross-attention, norms and the feed-forward "
            "network work on each target row alone.",
        ),
        moves_mistake(
            "h",
            "later",
            "In the second layer, rows 0 and 1 attend to row 2, which changed in the first layer.",
        ),
    ),
    hints=(
        "Follow the change upward. At each sublayer, ask where its queries, keys and values come "
        "from and what is masked.",
        "Only attention moves information between rows. In each decoder layer there is one path "
        "between target rows, and one from source to target.",
        "A weighted sum over keys and values does not depend on their order. And one layer without "
        "a causal mask is enough to look ahead.",
    ),
    insight="Four questions describe a decoder layer: where its queries come from, where its keys "
    "and values come from, what is masked, and what is added. Everything else works row by row.",
    comes_back="Chapter 9 trains this model with these masks.",
    code=False,
)

# --- 08.count: the parameters of a Transformer ------------------------------------------------


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
    with torch.device("meta"):  # only shapes, no numbers
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
class Count:
    """The terms of the sum. Each is right unless it is replaced.

    `attentions` and `norms` count those of an encoder layer and a decoder layer together.
    """

    attention: Callable[..., int] = lambda d: 4 * (d * d + d)
    attentions: Callable[..., int] = lambda: 3
    network: Callable[..., int] = lambda d, f: 2 * d * f + f + d
    norm: Callable[..., int] = lambda d: 2 * d
    norms: Callable[..., int] = lambda: 5
    last_norms: Callable[..., int] = lambda first: 2 if first else 0
    tables: Callable[..., int] = lambda s, t, d: (s + t) * d
    to_words: Callable[..., int] = lambda t, d: d * t + t

    def __call__(self, s: int, t: int, d: int, n: int, f: int, first: bool) -> int:
        layers = self.attentions() * self.attention(d) + 2 * self.network(d, f)
        norms = (n * self.norms() + self.last_norms(first)) * self.norm(d)
        return n * layers + norms + self.tables(s, t, d) + self.to_words(t, d)


COUNT_MISTAKES = (
    WrongLine(
        "attention",
        lambda d: 4 * d * d,
        "The biases of attention are missing: each of its four linear layers has one.",
    ),
    WrongLine("attention", lambda d: 3 * (d * d + d), "Attention has a fourth linear layer, W_O."),
    WrongLine(
        "attentions",
        lambda: 2,
        "A decoder layer has two attention sublayers: self-attention and cross-attention.",
    ),
    WrongLine("network", lambda d, f: 2 * d * f, "The feed-forward network has two biases."),
    WrongLine(
        "network",
        lambda d, f: d * f + f + d,
        "The feed-forward network has two matrices: one to d_ff, the other back to d_model.",
    ),
    WrongLine("norm", lambda d: d, "A norm learns two vectors, a gain and a shift."),
    WrongLine(
        "norms",
        lambda: 4,
        "Either the third norm of each decoder layer is missing, or the second bias of each "
        "feed-forward network. Both change the count by the same amount.",
    ),
    WrongLine(
        "last_norms",
        lambda first: 0,
        "With `norm_first`, each stack has one more norm at the top.",
    ),
    WrongLine(
        "last_norms",
        lambda first: 2,
        "Only with `norm_first` does each stack have a norm at the top.",
    ),
    WrongLine("tables", lambda s, t, d: 0, "The two embedding tables are missing."),
    WrongLine("to_words", lambda t, d: 0, "The last linear layer, which scores words, is missing."),
    WrongLine("to_words", lambda t, d: d * t, "The last linear layer has a bias."),
)


def count_encoder(s: int, t: int, d: int, n: int, f: int, first: bool) -> int:
    layer = 4 * (d * d + d) + 2 * d * f + f + d + 4 * d
    return n * layer + (2 * d if first else 0)


def count_weights(s: int, t: int, d: int, n: int, f: int, first: bool) -> int:
    return n * (12 * d * d + 4 * d * f) + (s + 2 * t) * d


def not_counted(message: str, *counts: Callable[..., int]) -> Property:
    """Give this message to an answer that equals one of these counts."""
    return Property(
        message, lambda answer, case: answer not in [count(*case.arguments) for count in counts]
    )


def off_by(name: str, sizes: Callable[..., Sequence[int]]) -> Property:
    return Property(
        f"You are off by exactly {name}.",
        lambda answer, case: abs(answer - my_count(*case.arguments)) not in sizes(*case.arguments),
    )


COUNT = Exercise(
    id="08.count",
    title="Count the parameters",
    level=2,
    minutes=10,
    section="8.9",
    prompt="""
Write `my_count(source_size, target_size, d_model, n_layers, d_ff, norm_first)`: the number of
parameters of the library's `Transformer` with these sizes, for any number of heads. The first two
arguments are the vocabulary sizes of the source and the target. The encoder and the decoder have
`n_layers` layers each, and positions are sinusoids. With `norm_first`, the layers are pre-norm, as
in section 8.10. Count what is below and above the layers, too. Return a whole number. (Counting the
parameters of a built model also passes, but the point is to find a formula.)
""",
    reference=my_count,
    cases=count_cases,
    mistakes=(),
    common_mistakes=MistakeSet(lambda count: count, COUNT_MISTAKES, right=Count()),
    properties=(
        not_counted(
            "This is the encoder alone. The decoder has its own layers and embedding table.",
            count_encoder,
            lambda s, t, d, *more: s * d + count_encoder(s, t, d, *more),
        ),
        not_counted(
            "The matrices are right. Biases, gains and shifts are parameters, too.",
            count_weights,
            lambda s, t, d, n, *more: 10 * n * d + count_weights(s, t, d, n, *more),
        ),
        not_counted(
            "Source and target each have an embedding table, and the last linear layer has its own "
            "matrix.",
            lambda s, t, d, *more: my_count(s, t, d, *more) - s * d,
            lambda s, t, d, *more: my_count(s, t, d, *more) - t * d,
        ),
        off_by("one norm, or one norm per layer", lambda s, t, d, n, f, first: (2 * d, 2 * d * n)),
        off_by("the norms of all layers", lambda s, t, d, n, f, first: (10 * d * n,)),
        off_by(
            "one attention sublayer per layer", lambda s, t, d, n, f, first: (4 * (d * d + d) * n,)
        ),
        off_by(
            "one feed-forward network per layer",
            lambda s, t, d, n, f, first: ((2 * d * f + f + d) * n,),
        ),
        off_by(
            "a whole number of layers",
            lambda s, t, d, n, f, first: [
                i * my_count(0, 0, d, 1, f, False) for i in range(1, n + 1)
            ],
        ),
    ),
    hints=(
        "Section 8.9 counts a layer of each kind. What is below the layers and above them, and "
        "what does `norm_first` add?",
        "An embedding table has d_model numbers for each word. The last linear layer has d_model "
        "weights and a bias for each target word. With `norm_first`, each stack ends in a norm.",
        "Add up n_layers · (12 (D² + D) + 2 (2 D F + F + D) + 10 D), (S + T) · D, and D · T + T, "
        "and with `norm_first` another 4 D.",
    ),
    insight="The layers do not grow with the vocabulary, and the embedding tables and the last "
    "layer do not grow with depth. The number of heads and the length of a sentence do not matter.",
    comes_back="11.bytes counts what such a model keeps in memory while it writes.",
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
    """Return the sublayers and norms of a decoder layer with random matrices, as functions."""
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


Line = Callable[[Tensor, Tensor, Rows, Rows], Tensor]  # (before, x, part, norm)


def post(before: Tensor, x: Tensor, part: Rows, norm: Rows) -> Tensor:
    """The form of each line: x is this line's input, and `before` is the previous line's input."""
    return norm(x + part(x))


@dataclass(frozen=True)
class Layer:
    """The three lines of a decoder layer. Each is right unless it is replaced."""

    first: Line = post
    second: Line = post
    third: Line = post

    def __call__(
        self,
        y: Tensor,
        z: Tensor,
        look_back: Rows,
        look_across: Rows,
        feed_forward: Rows,
        norms: list[Rows],
    ) -> Tensor:
        a = self.first(y, y, look_back, norms[0])
        b = self.second(y, a, lambda rows: look_across(rows, z), norms[1])
        return self.third(a, b, feed_forward, norms[2])


FORMS: dict[str, Line] = {
    "no residual": lambda before, x, part, norm: norm(part(x)),
    "no norm": lambda before, x, part, norm: x + part(x),
    "pre-norm": lambda before, x, part, norm: x + part(norm(x)),
    "norm of the part": lambda before, x, part, norm: x + norm(part(x)),
    "norm of the input": lambda before, x, part, norm: norm(x) + part(x),
    "norm of both": lambda before, x, part, norm: norm(x) + part(norm(x)),
    "norm twice": lambda before, x, part, norm: norm(x + part(norm(x))),
    "adds before": lambda before, x, part, norm: norm(before + part(x)),
    "reads before": lambda before, x, part, norm: norm(x + part(before)),
    "only before": lambda before, x, part, norm: norm(before + part(before)),
    "adds both": lambda before, x, part, norm: norm(before + x + part(x)),
}
LAYER_MISTAKES = (
    WrongLine(
        "first",
        FORMS["no residual"],
        "The first line has no residual connection: nothing is added to the output of `look_back`.",
    ),
    WrongLine(
        "second",
        FORMS["adds before"],
        "The second line adds `y`, so its residual connection skips two sublayers. Each sublayer "
        "adds to its own input.",
    ),
    WrongLine(
        "third",
        FORMS["pre-norm"],
        "The last line normalizes the input of the feed-forward network, as pre-norm does. "
        "Post-norm normalizes the sum.",
    ),
    WrongLine(
        "second",
        FORMS["no residual"],
        "The second line has no residual connection: nothing is added to the output of "
        "`look_across`.",
    ),
    WrongLine(
        "second",
        FORMS["reads before"],
        "Your cross-attention reads `y`. Its queries come from the result of the first line.",
    ),
    WrongLine(
        "third",
        FORMS["norm twice"],
        "The last line normalizes twice. Post-norm normalizes the sum only.",
    ),
    WrongLine(
        "third",
        FORMS["reads before"],
        "Your feed-forward network reads `a`. Its input is the result of the second line.",
    ),
)


def source_first(
    y: Tensor, z: Tensor, look_back: Rows, look_across: Rows, feed_forward: Rows, norms: list[Rows]
) -> Tensor:
    a = norms[0](y + look_across(y, z))
    b = norms[1](a + look_back(a))
    return norms[2](b + feed_forward(b))


def not_a_form(message: str, *lines: str) -> Property:
    """Give this message if these lines share one of the FORMS and the others are right."""

    def holds(answer: Tensor, case: Case) -> bool:
        if torch.allclose(answer, my_decoder_layer(*case.arguments)):
            return True  # in the first line, some of the forms are right
        layers = [Layer(**dict.fromkeys(lines, form)) for form in FORMS.values()]
        return not any(torch.allclose(answer, layer(*case.arguments)) for layer in layers)

    return Property(message, holds)


def has_no_other_norms(answer: Tensor, case: Case) -> bool:
    y, z, back, across, network, norms = case.arguments
    others = (list(used) for used in itertools.product(norms, repeat=3) if list(used) != norms)
    layers = (my_decoder_layer(y, z, back, across, network, used) for used in others)
    return not any(torch.allclose(answer, layer) for layer in layers)


REPAIR = Exercise(
    id="08.repair",
    title="Three faults in a decoder layer",
    level=2,
    minutes=12,
    section="8.7",
    prompt="""
Someone wrote this post-norm decoder layer from memory. The sublayers are functions:
`look_back(rows)` is the masked self-attention of the target, `look_across(rows, context)` is the
cross-attention of `rows` to `context`, and `feed_forward(rows)` is the feed-forward network.
`norms` is a list of three norms, in the order in which they are used. `y` (B, Lq, D) is the target,
`z` (B, Lk, D) is the encoder's output, and the answer has the same shape as `y`. The code runs, but
each of its three lines has a fault. Repair them.
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
            Layer(FORMS["no residual"], FORMS["adds before"], FORMS["pre-norm"]),
            "All three faults are still there. Ask of each sublayer: what is its input, is that "
            "input added to its output, and where is the norm?",
        ),
        Mistake(
            Layer(FORMS["pre-norm"], FORMS["pre-norm"], FORMS["pre-norm"]),
            "This is a pre-norm layer: each sublayer reads normalized rows. In a post-norm layer "
            "the norm comes after each sum.",
        ),
        Mistake(
            source_first,
            "You attend to the source before the target. The decoder's self-attention comes first.",
        ),
        Mistake(
            lambda y, z, back, across, network, norms: my_decoder_layer(
                y, z, back, lambda rows, context: across(rows, rows), network, norms
            ),
            "`z` is never read: your cross-attention attends to the target.",
        ),
    ),
    common_mistakes=MistakeSet(lambda layer: layer, LAYER_MISTAKES, right=Layer()),
    properties=(
        not_a_form("Only the first line is wrong.", "first"),
        not_a_form("Only the second line is wrong.", "second"),
        not_a_form("Only the third line is wrong.", "third"),
        not_a_form("The same thing is wrong in all three lines.", "first", "second", "third"),
        Property(
            "The lines are right except for their norms: the first should use `norms[0]`, the "
            "second `norms[1]`, and the third `norms[2]`.",
            has_no_other_norms,
        ),
    ),
    hints=(
        "Each of the three lines should have the form norm(input + sublayer(input)). Compare them "
        "with this form.",
        "In the first line, something is missing. In the second, the wrong tensor is added. In the "
        "third, two things are in the wrong order.",
        "In the second line, `look_across` reads `a`, so `a` has to be added to its output.",
    ),
    insight="A post-norm decoder layer is the same line three times, with three sublayers. None "
    "of the three faults changes the shape, so only a comparison of numbers reveals them.",
    comes_back="In 08.experiment you find such faults without seeing the code.",
    others=(by_a_loop,),
)

# --- 08.experiment: where is the norm? -------------------------------------------------------

Black = Callable[[Tensor], Tensor]


def where_is_the_norm(layer: Black) -> str:
    x = torch.randn(100, 1, 64)  # a hundred sentences of one word
    far = 1e6 * x
    out = layer(far)
    if out.norm() > 1e4 * x.norm():  # grows with x: nothing normalizes the sums
        return "pre" if (out - far).norm() < 1e-3 * far.norm() else "no norm"
    through = torch.cosine_similarity(out, x, dim=-1).mean()  # part of x is kept
    return "post" if through > 0.15 else "no residual"


def by_two_sizes(layer: Black) -> str:
    x = torch.randn(400, 3, 64)
    small, large = layer(1e4 * x), layer(1e6 * x)
    if large.norm() < 2 * small.norm():
        out = layer(x) - layer(x).mean(dim=(0, 1))  # without the shift shared by all rows
        return "post" if (x * out).mean() > 0.15 else "no residual"
    added = (large - 1e6 * x).norm() / (small - 1e4 * x).norm()
    return "no norm" if added > 10 else "pre"


MATRICES = draw(Generator().manual_seed(8), 6, 64, 64) / 8
GAIN, SHIFT = draw(Generator().manual_seed(9), 2, 64) / 4


def layer_norm(x: Tensor, learned: bool) -> Tensor:
    if not learned:
        return F.layer_norm(x, (64,))
    return F.layer_norm(x, (64,), 1 + GAIN.to(x), SHIFT.to(x))


def black_box(
    kind: str, strength: float = 1.0, learned: bool = False, sums: tuple[int, int] = (1, 1)
) -> Black:
    """Return an encoder layer of this kind; `sums` says where it has residual connections."""

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


BOXES: dict[str, Black] = {
    "a pre-norm layer": black_box("pre"),
    "a pre-norm layer whose sublayers add little": black_box("pre", 0.05, learned=True),
    "a pre-norm layer whose sublayers add a lot": black_box("pre", 30.0),
    "a post-norm layer": black_box("post"),
    "a post-norm layer with learned gains and shifts": black_box("post", 0.8, learned=True),
    "a post-norm layer whose sublayers add little": black_box("post", 0.05),
    "norms before the sublayers, no residual connection": black_box("pre", sums=(0, 0)),
    "norms after the sublayers, no residual connection": black_box(
        "post", learned=True, sums=(0, 0)
    ),
    "post-norm, no residual connection around the FFN": black_box("post", sums=(1, 0)),
    "pre-norm, no residual connection around the attention": black_box("pre", sums=(0, 1)),
    "residual connections and no norm": black_box("none"),
    "residual connections and no norm, with sublayers that add little": black_box("none", 0.05),
}
kind_of = functools.cache(where_is_the_norm)  # since each mistake is tried on every box
BOX_MISTAKES = {
    ("pre", "post"): "Multiply the input by a million, and the output grows with it. It could "
    "not if a norm came last.",
    ("pre", "no residual"): "Multiply the input by a million, and the output grows with it. So "
    "residual connections bypass the norms.",
    ("pre", "no norm"): "Output minus input does not grow with the input, so the sublayers "
    "read normalized rows. Compare two inputs, both very large.",
    (
        "post",
        "pre",
    ): "However large the input is, the output does not grow: the last step is a norm.",
    ("post", "no residual"): "Part of each input row is left in its output row. Take the mean "
    "cosine over many rows. A learned shift is the same in all output rows, so subtract their "
    "mean first.",
    ("post", "no norm"): "However large the input is, the output does not grow. (Rows of `randn` "
    "already have a mean near 0 and a variance near 1: try larger ones.)",
    ("no residual", "pre"): "A large input does not make this output large. It would if both "
    "sublayers added to their input.",
    ("no residual", "post"): "Almost nothing of an input row is left in its output row: take the "
    "mean cosine over many rows.",
    ("no residual", "no norm"): "A large input does not make this output large, so something "
    "normalizes it.",
    ("no norm", "pre"): "Output minus input grows with the input. It would not if the sublayers "
    "read normalized rows.",
    ("no norm", "post"): "The output grows with the input. It could not if a norm came last.",
    ("no norm", "no residual"): "The output grows with the input, so nothing is normalized. The "
    "layers without a residual connection have norms.",
}

EXPERIMENT = Exercise(
    id="08.experiment",
    title="Where is the norm?",
    level=3,
    minutes=15,
    section="8.10",
    prompt="""
You get twelve encoder layers without their source code. Each has self-attention and a feed-forward
network whose matrices you cannot see. `layer(x)` takes any `x` of shape (B, L, 64) and returns a
tensor of the same shape. Think of an experiment, and write `where_is_the_norm(layer)`, which
returns

- `"pre"` if each sublayer reads normalized rows and its output is added to its input,
- `"post"` if each sublayer's output is added to its input and the sum is normalized,
- `"no residual"` if one or both residual connections are missing (with norms before or after),
- `"no norm"` if both residual connections are there, but there is no norm.

Some sublayers add a lot, others add little, and some norms have learned gains and shifts.
""",
    reference=where_is_the_norm,
    cases=lambda generator: [Case((layer,), note=name) for name, layer in BOXES.items()],
    mistakes=tuple(
        Mistake(
            lambda layer, kind=kind, said=said: said if kind_of(layer) == kind else kind_of(layer),
            message,
        )
        for (kind, said), message in BOX_MISTAKES.items()
    ),
    hints=(
        "What does a norm do to a row that is a million times as large? And what does a residual "
        "connection do with it?",
        "If the output grows with the input, does output minus input grow as well? If it does not "
        "grow, is an output row at all similar to its input row?",
        "`layer(1e6 * x)` is large for two of the kinds. For the other two, the mean of "
        "`torch.cosine_similarity(out, x, dim=-1)` over many random rows is about 0 if nothing "
        "is left of the input.",
    ),
    insight="In a pre-norm stack, the input reaches the last norm as one term of a sum, and from "
    "there the gradient has a path back without a norm. In a post-norm stack, every norm rescales "
    "both the input and the gradient.",
    comes_back="10.experiment and 11.experiment examine other black boxes in this way.",
    others=(by_two_sizes,),
    code=False,
)

CHAPTER = "8. The Transformer"
EXERCISES = (NORM, CLIP, MOVES, COUNT, REPAIR, EXPERIMENT)
