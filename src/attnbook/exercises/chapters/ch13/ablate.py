"""Replace a head's output by its mean over other sequences."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from attnbook.attention.interventions import head_outputs
from attnbook.attention.masks import causal_mask
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.chapters.ch13.shared import head_is, some_layer
from attnbook.exercises.exercise import Case, Exercise, Mistake, draw


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


def ablated(
    new: Callable[[Tensor, Tensor], Tensor],
    put: Callable[[Tensor, Tensor, int], Tensor] | None = None,
    heard: Callable[[Tensor, Tensor], Tensor] = lambda x, others: others,
    masked: tuple[bool, bool] = (True, True),
) -> Callable[..., Tensor]:
    """Build a version of `without_head` that contains a mistake.

    `heard` returns the sequences to average over. `new` makes the replacement for all heads,
    (B, H, L, Dv), from their outputs for those sequences and for x. `put` receives the outputs, the
    replacement and the head's number. `masked` says whether those sequences and x are masked.
    """

    def only(outputs: Tensor, means: Tensor, head: int) -> Tensor:
        return torch.where(head_is(head, outputs), means, outputs)

    def wrong(
        layer: MultiHeadAttention, x: Tensor, others: Tensor, mask: Tensor, head: int
    ) -> Tensor:
        with head_outputs(layer) as usual:
            layer(heard(x, others), mask=mask if masked[0] else None)

        def replace(outputs: Tensor) -> Tensor:
            means = new(usual[0], outputs).expand_as(outputs)
            return (put or only)(outputs, means, head)

        with head_outputs(layer, replace):
            return layer(x, mask=mask if masked[1] else None)[0]

    return wrong


def mean_of_others(usual: Tensor, outputs: Tensor) -> Tensor:
    return usual.mean(0, keepdim=True)


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
            ablated(lambda usual, outputs: outputs.mean(0, keepdim=True)),
            "You took the mean over `x` itself. For one sequence, that is what the head outputs "
            "anyway, so nothing is removed. Take the mean over `others`.",
        ),
        Mistake(
            ablated(lambda usual, outputs: torch.zeros_like(outputs)),
            "You set the head to zero, but its mean is not zero. What the head adds to every "
            "sequence should stay.",
        ),
        Mistake(
            ablated(lambda usual, outputs: usual.mean((0, 2), keepdim=True)),
            "You took the mean over the positions too. Each position has its own mean.",
        ),
        Mistake(
            ablated(mean_of_others, heard=lambda x, others: torch.cat((x, others))),
            "You took the mean over `x` and `others` together. Take it over `others` only.",
        ),
        Mistake(
            ablated(mean_of_others, masked=(False, False)),
            "The mask is missing, so each position attends to later ones too.",
        ),
        Mistake(
            ablated(lambda usual, outputs: usual.mean((0, 2, 3), keepdim=True)),
            "You took a single mean of everything that the head outputs. Each position and each "
            "column has its own mean.",
        ),
        Mistake(
            ablated(mean_of_others, put=lambda outputs, means, head: means),
            "You replaced all heads. The other heads have to stay as they are.",
        ),
        Mistake(
            ablated(
                mean_of_others,
                put=lambda outputs, means, head: torch.where(
                    head_is(head - 1, outputs), means, outputs
                ),
            ),
            "You removed the head before the one you were given. Heads are counted from 0.",
        ),
        Mistake(
            ablated(lambda usual, outputs: usual[:1]),
            "You took the output for one other sequence, as in resample ablation. Take the mean "
            "over all of `others`.",
        ),
        Mistake(
            ablated(mean_of_others, heard=lambda x, others: others.mean(0, keepdim=True)),
            "You averaged the sequences and then computed the output of the head. Because of the "
            "softmax, that is not the mean of the outputs.",
        ),
        Mistake(
            ablated(mean_of_others, masked=(False, True)),
            "The mask is missing for `others`, so their positions attend to later ones.",
        ),
        Mistake(
            ablated(lambda usual, outputs: outputs),
            "Nothing is removed: this is the usual output of the layer for `x`.",
        ),
    ),
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
    comes_back="13.find removes each head of a trained model in this way.",
    others=(without_head_by_a_choice,),
)
