"""Twelve patients: which experiment shows what is wrong with a layer?"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from attnbook.attention.heads import merge_heads, split_heads
from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.exercises.exercise import EVERY, Case, Exercise, draw
from attnbook.language import _
from attnbook.positions.rotary import apply_rotary

Layer = Callable[..., Tensor]


def diagnosis(layer: Layer) -> str:
    x = torch.randn(2, 12, 8, dtype=torch.float64)

    def moved(other: Tensor, *keep: Tensor) -> Tensor:
        return (layer(other, *keep) - layer(x, *keep)).abs().amax(dim=-1) > 1e-9

    if moved(x).any():
        return "random"
    if moved(torch.cat((x[:1], x[1:] + 1)))[0].any():
        return "sentences"
    each = [x + (torch.arange(12) == j)[:, None] for j in range(12)]  # row j is another
    moves = torch.stack([moved(other)[0] for other in each], dim=1)
    if moves.triu(1).any():
        return "leak"
    if not moves[torch.ones(12, 12, dtype=torch.bool).tril()].all():
        return "blind"
    keep = (torch.arange(12) >= 3).expand(2, 12)
    if moved(torch.cat((x[:, :3] + 1, x[:, 3:]), dim=1), keep)[:, 3:].any():
        return "padding"
    swapped = x[:, [1, 0, *range(2, 12)]]
    return "healthy" if moved(swapped)[:, -1].all() else "order"


W = draw(Generator().manual_seed(15), 4, 8, 8) / 8**0.5


def no_transpose(y: Tensor) -> Tensor:
    return y.reshape(y.size(0), y.size(2), -1)


def by_head_first(y: Tensor) -> Tensor:
    return merge_heads(y.flatten(0, 1).unflatten(0, (2, -1)).transpose(0, 1))


def across(axes: tuple[int, ...]) -> Callable[[Tensor], Tensor]:
    """Return a normalization with the mean over these axes."""
    return lambda x: x - x.mean(axes, keepdim=True)


@dataclass(frozen=True, eq=False)
class Patient:
    """A causal layer with two heads and rotary positions. Each part is right unless replaced.

    It computes in float64, and returns rows in the dtype of its input.
    """

    prepare: Callable[[Tensor], Tensor] = lambda x: x
    hidden: Callable[[Tensor], Tensor] = lambda back: back < 0  # of how many words back a key is
    keep: Callable[[Tensor], Tensor] = lambda keep: keep[:, None, None]
    turn: float = 1.0  # positions are multiplied by it
    merge: Callable[[Tensor], Tensor] = merge_heads

    def __call__(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        rows = self.prepare(x.detach().double().cpu())
        at = torch.arange(rows.size(1))
        q, k, v = (split_heads(rows @ w, 2) for w in W[:3])
        q, k = (apply_rotary(t, self.turn * at) for t in (q, k))
        mask = ~self.hidden(at[:, None] - at)
        if keep is not None:
            mask = mask & self.keep(keep.bool().cpu())
        y = scaled_dot_product_attention(q, k, v, mask)[0]
        return (self.merge(y) @ W[3]).to(x)


def except_for(query: int, key: int) -> Callable[[Tensor], Tensor]:
    """Hide later words, but treat this pair of words in the opposite way."""

    def hidden(back: Tensor) -> Tensor:
        pair = torch.zeros_like(back, dtype=torch.bool)
        pair[query : query + 1, key : key + 1] = True
        return (back < 0) ^ pair

    return hidden


PATIENTS = {
    "as it should be": Patient(),
    "positions half as fast": Patient(turn=0.5),
    "each word sees the next": Patient(hidden=lambda back: back < -1),
    "word 2 sees word 9": Patient(hidden=except_for(2, 9)),
    "centered along the sequence": Patient(prepare=across((1,))),
    "not itself": Patient(hidden=lambda back: back < 1),
    "word 9 does not see word 4": Patient(hidden=except_for(9, 4)),
    "unfolded by head": Patient(merge=by_head_first),
    "centered over the batch": Patient(prepare=across((0,))),
    "mask along the queries": Patient(keep=lambda keep: keep[:, None, :, None]),
    "dropout": Patient(prepare=lambda x: x * (torch.rand(x.shape) > 0.2)),
    "all at position 0": Patient(turn=0.0),
}
PAIR, HOLE, QUERIES = (
    PATIENTS[name]
    for name in ("word 2 sees word 9", "word 9 does not see word 4", "mask along the queries")
)

EXERCISE = Exercise(
    title="Twelve patients",
    level=3,
    minutes=25,
    section="15.3",
    prompt="""
Twelve layers without their source code, and printing them tells nothing. Each should be causal, be
told about positions, and keep sentences apart. `layer(x)` takes and returns rows (B, L, 8), with L
at most 64; `layer(x, keep)` also takes a mask (B, L), True for real words. Write
`diagnosis(layer)`, which experiments with a layer and returns the first of these that is true:

- `"random"`: the same input gives different outputs;
- `"sentences"`: a sentence moves with another sentence of the batch;
- `"leak"`: a row moves with a later row;
- `"blind"`: a row does not move with itself, or with an earlier row;
- `"padding"`: real words move with padding that `keep` marks as False;
- `"order"`: the last word does not notice that two earlier words are exchanged;
- `"healthy"`: none of these.
""",
    reference=diagnosis,
    cases=lambda generator: [
        Case((layer,), note=_("patient {number}").format(number=number))
        for number, layer in enumerate(PATIENTS.values(), start=1)
    ],
    choices={
        (PAIR, "healthy"): "a single row moves with a single later one. Change each row in turn, "
        "and look at all others, in a sentence of at least 10 words.",
        (PAIR, "order"): "a single row moves with a single later one. Change each row in turn, "
        "and look at all others, in a sentence of at least 10 words.",
        (HOLE, "healthy"): "a single row does not move with a single earlier one. Change each row "
        "in turn, and look at all later rows, in a sentence of at least 10 words.",
        (QUERIES, "healthy"): "do you try padding? With a causal mask, padding on the right is "
        "never seen: put it on the left.",
        (EVERY, "healthy"): "something is wrong with it. Is each of your experiments sensitive to "
        "a change of 1e-9, and does it look at all rows?",
        (EVERY, "random"): "two calls with the same input give the same output.",
        (EVERY, "sentences"): "either no sentence moves with another one (do you change only the "
        "other?), or something that comes before `sentences` in the list is true.",
        (EVERY, "leak"): "either no row moves with a later row, or something that comes before "
        "`leak` in the list is true.",
        (EVERY, "blind"): "either each row moves with itself and with all earlier rows, or "
        "something that comes before `blind` in the list is true.",
        (EVERY, "padding"): "either real words stay when the padding changes (differences below "
        "1e-9 are rounding), or something that comes before `padding` in the list is true.",
        (EVERY, "order"): "either the last row moves when two earlier words are exchanged, or "
        "something that comes before `order` in the list is true.",
    },
    hints=(
        "Write the experiments in the order of the list, and begin with two calls. A layer that "
        "is random moves in each of them.",
        "Change one row of one sentence at a time, and note which rows of the same sentence move: "
        "a matrix (L, L). Above the diagonal it shows leaks, below it blind rows.",
        "For `padding`, mark some rows on the *left* as padding, change them, and look at the "
        "rest. For `order`, exchange the first two words and look at the last row.",
    ),
    insight="The order of the experiments matters: each assumes that those before it found "
    "nothing. And each needs an input that can show the fault, long enough, with padding on the "
    "side that counts.",
    comes_back="`examine` (15.9) works through such a list, on layers that you write.",
)
