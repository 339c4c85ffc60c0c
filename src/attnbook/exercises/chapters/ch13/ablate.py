"""Replace a head's output by its mean over other sequences."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.attention.heads import split_heads
from attnbook.attention.interventions import head_outputs
from attnbook.attention.masks import causal_mask
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.chapters.ch13.shared import head_is, some_layer
from attnbook.exercises.chapters.mistake_sets import MistakeSet
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw
from attnbook.mistakes.head import WrongLine


def without_head(
    layer: MultiHeadAttention, x: Tensor, others: Tensor, mask: Tensor, head: int
) -> Tensor:
    with head_outputs(layer) as usual:
        layer(others, mask=mask)

    def replace(outputs: Tensor) -> Tensor:
        changed = outputs.clone()  # (B, H, L, Dv)
        changed[:, head] = usual[0][:, head].mean(dim=0)
        return changed

    with head_outputs(layer, replace):
        return layer(x, mask=mask)[0]


def without_head_by_a_choice(
    layer: MultiHeadAttention, x: Tensor, others: Tensor, mask: Tensor, head: int
) -> Tensor:
    chosen = (torch.arange(layer.n_heads, device=x.device) == head)[:, None, None]
    with head_outputs(layer) as usual:
        layer(others, mask=mask)
    means = usual[0].mean(dim=0, keepdim=True)  # (1, H, L, Dv)
    with head_outputs(layer, lambda outputs: torch.where(chosen, means, outputs)):
        return layer(x, mask=mask)[0]


def ablate_cases(generator: Generator) -> list[Case]:
    def case(note: str, b: int, n: int, h: int, length: int, d: int, head: int) -> Case:
        layer = some_layer(generator, d, h)
        x, others = draw(generator, b, length, d), draw(generator, n, length, d)
        sizes = {"B": b, "N": n, "H": h, "L": length, "D": d}
        return Case((layer, x, others, causal_mask(length), head), sizes, note)

    return [
        case("1 sequence, head 1 of 3", 1, 4, 3, 5, 6, 1),
        case("2 sequences, head 3 of 4", 2, 5, 4, 7, 12, 3),
        case("3 sequences, head 0 of 2", 3, 7, 2, 5, 10, 0),
    ]


def outputs_of(layer: MultiHeadAttention, x: Tensor, mask: Tensor | None) -> Tensor:
    """What each head outputs for x before W_O, (B, H, L, Dv)."""
    with head_outputs(layer) as outputs:
        layer(x, mask=mask)
    return outputs[0]


Given = tuple[MultiHeadAttention, Tensor, Tensor, Tensor]  # layer, x, others, mask


def of_others(given: Given) -> Tensor:
    layer, _x, others, mask = given
    return outputs_of(layer, others, mask)


def of_x(given: Given) -> Tensor:
    layer, x, _others, mask = given
    return outputs_of(layer, x, mask)


@dataclass(frozen=True)
class Ablation:
    """Mean ablation in parts. Each is right unless it is replaced.

    `new` receives the layer, x, the others and the mask, and returns what replaces each head,
    (B or 1, H, L or 1, Dv or 1). `put` receives the outputs of the heads for x, that replacement
    and the number of the head. `mask_of_x` receives the mask.
    """

    new: Callable[[Given], Tensor] = lambda given: of_others(given).mean(0, keepdim=True)
    put: Callable[[Tensor, Tensor, int], Tensor] = lambda outputs, means, head: torch.where(
        head_is(head, outputs), means, outputs
    )
    mask_of_x: Callable[[Tensor], Tensor | None] = lambda mask: mask

    def __call__(
        self, layer: MultiHeadAttention, x: Tensor, others: Tensor, mask: Tensor, head: int
    ) -> Tensor:
        new = self.new((layer, x, others, mask))
        with head_outputs(layer, lambda outputs: self.put(outputs, new.expand_as(outputs), head)):
            return layer(x, mask=self.mask_of_x(mask))[0]


def without_mask(given: Given) -> Tensor:
    layer, _x, others, _mask = given
    return outputs_of(layer, others, None).mean(0, keepdim=True)


def of_the_mean_sequence(given: Given) -> Tensor:
    layer, _x, others, mask = given
    return outputs_of(layer, others.mean(0, keepdim=True), mask)


def of_all_sequences(given: Given) -> Tensor:
    layer, x, others, mask = given
    return outputs_of(layer, torch.cat((x, others)), mask).mean(0, keepdim=True)


def by_mean_weights(given: Given) -> Tensor:
    layer, x, others, mask = given
    weights = layer(others, mask=mask)[1].mean(0, keepdim=True)
    return weights @ split_heads(layer.w_v(x), layer.n_heads)


def by_mean_values(given: Given) -> Tensor:
    layer, x, others, mask = given
    values = split_heads(layer.w_v(others), layer.n_heads).mean(0, keepdim=True)
    return layer(x, mask=mask)[1] @ values


def by_both_means(given: Given) -> Tensor:
    layer, _x, others, mask = given
    values = split_heads(layer.w_v(others), layer.n_heads).mean(0, keepdim=True)
    return layer(others, mask=mask)[1].mean(0, keepdim=True) @ values


ONE_SEQUENCE = (
    "You took the output for one other sequence, as in resample ablation. Take the mean over all "
    "of `others`."
)
ABLATION_MISTAKES = (
    WrongLine(
        "new",
        lambda given: of_x(given).mean(0, keepdim=True),
        "You took the mean over `x` itself. For one sequence, that is what the head outputs "
        "anyway, so nothing is removed. Take the mean over `others`.",
    ),
    WrongLine(
        "new",
        lambda given: torch.zeros_like(of_x(given)),
        "You set the head to zero, but its mean is not zero. What the head adds to every "
        "sequence should stay.",
    ),
    WrongLine(
        "new",
        lambda given: of_others(given).mean((0, 2), keepdim=True),
        "You took the mean over the positions too. Each position has its own mean.",
    ),
    WrongLine(
        "new",
        lambda given: of_others(given).mean((0, 3), keepdim=True),
        "You took the mean over the columns too. Each of the Dv columns has its own mean.",
    ),
    WrongLine(
        "new",
        lambda given: of_others(given).mean((0, 2, 3), keepdim=True),
        "You took a single mean of everything that the head outputs. Each position and each "
        "column has its own mean.",
    ),
    WrongLine(
        "new",
        of_all_sequences,
        "You took the mean over `x` and `others` together. Take it over `others` only.",
    ),
    WrongLine("new", lambda given: of_others(given)[:1], ONE_SEQUENCE),
    WrongLine("new", lambda given: of_others(given)[-1:], ONE_SEQUENCE),
    WrongLine("new", lambda given: of_others(given)[: len(given[1])], ONE_SEQUENCE),
    WrongLine(
        "new",
        lambda given: of_others(given)[: len(given[1])].mean(0, keepdim=True),
        "You took the mean over only part of `others`, one for each sequence of `x`. Take it over "
        "all of them.",
    ),
    WrongLine(
        "new",
        of_the_mean_sequence,
        "You averaged the sequences and then computed the output of the head. Because of the "
        "softmax, that is not the mean of the outputs.",
    ),
    WrongLine(
        "new",
        without_mask,
        "The mask is missing for `others`, so their positions attend to later ones.",
    ),
    WrongLine(
        "new",
        by_mean_weights,
        "You averaged the weights of `others`, but took the values of `x`. Replace what the head "
        "outputs, its weights times its values.",
    ),
    WrongLine(
        "new",
        by_mean_values,
        "You averaged the values of `others`, but took the weights of `x`. Replace what the head "
        "outputs, its weights times its values.",
    ),
    WrongLine(
        "new",
        by_both_means,
        "You multiplied the mean weights by the mean values. That is not the mean of their "
        "products, which is what the head outputs.",
    ),
    WrongLine(
        "put",
        lambda outputs, means, head: means,
        "You replaced all heads. The other heads have to stay as they are.",
    ),
    WrongLine(
        "put",
        lambda outputs, means, head: torch.where(head_is(head, outputs), outputs, means),
        "You replaced all the *other* heads and kept this one.",
    ),
    WrongLine(
        "put",
        lambda outputs, means, head: torch.where(head_is(head - 1, outputs), means, outputs),
        "You removed the head before the one you were given. Heads are counted from 0.",
    ),
    WrongLine(
        "put",
        lambda outputs, means, head: torch.where(head_is(head, outputs), outputs + means, outputs),
        "You added the mean to the output of the head. The mean takes its place.",
    ),
    WrongLine(
        "put",
        lambda outputs, means, head: torch.where(head_is(head, outputs), outputs - means, outputs),
        "You subtracted the mean from the output of the head. The mean takes its place.",
    ),
    WrongLine(
        "mask_of_x",
        lambda mask: None,
        "The mask is missing for `x`, so its positions attend to later ones.",
    ),
)


EXERCISE = Exercise(
    title="Mean ablation of one head",
    level=2,
    minutes=12,
    section="13.9",
    prompt="""
Write `without_head(layer, x, others, mask, head)`: what the layer outputs for `x` (B, L, D) if the
output of head number `head`, before W_O, is replaced with its mean. Take the mean over the
sequences `others` (N, L, D), separately for each position and each of the Dv columns. The other
heads stay as they are, and the layer has to be unchanged afterward. `layer(x, mask=mask)` returns
the output and the weights. Return the output, (B, L, D).
""",
    reference=without_head,
    cases=ablate_cases,
    axes="B L D",
    gradients=False,
    mistakes=(
        Mistake(
            Ablation(without_mask, mask_of_x=lambda mask: None),
            "The mask is missing, so each position attends to later ones too.",
        ),
        Mistake(
            Ablation(of_x),
            "Nothing is removed: this is the usual output of the layer for `x`.",
        ),
    ),
    common_mistakes=MistakeSet(lambda ablation: ablation, ABLATION_MISTAKES, right=Ablation()),
    hints=(
        "Run the layer twice: once to read what its heads output for `others`, and once to "
        "replace an output for `x`.",
        "`with head_outputs(layer) as usual:` collects a list whose item 0 has shape "
        "(N, H, L, Dv). Over which axis do you take the mean?",
        "`changed = outputs.clone()`, then `changed[:, head] = usual[0][:, head].mean(dim=0)`, in "
        "a function that you pass to `head_outputs`.",
    ),
    insight="The mean over a batch of one is the head's own output, so such an ablation removes "
    "nothing. Take the mean over many sequences.",
    comes_back="13.find removes each head of a model in this way.",
    others=(without_head_by_a_choice,),
)
