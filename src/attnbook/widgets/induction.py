"""Heads in two layers of attention: where they attend, what they add, and what depends on them."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from string import ascii_lowercase
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from attnbook.attention.heads import split_heads
from attnbook.attention.interventions import head_outputs
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.language import _
from attnbook.widgets.element import show_element

__all__ = ["explore_heads"]

VISIBLE = 0.06  # smaller weights are not drawn
N_BEST, LIKELY = 3, 0.02  # letters shown per prediction, and their minimum probability


class TwoLayers(Protocol):
    """Two layers of attention with residual connections, and nothing else."""

    token: nn.Embedding
    layers: Sequence[MultiHeadAttention]
    unembed: nn.Linear

    def __call__(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Score the next token. Shapes: ids (B, L) -> logits (B, L, V), weights (2, B, H, L, L)."""
        ...


class Run(NamedTuple):
    """What is computed for one sequence while some heads are removed."""

    probabilities: Tensor  # (L, V)
    weights: Tensor  # (2, H, L, L)
    adds: tuple[Tensor, Tensor]  # (H, L, V): to each letter's query scores, and to its logit


def explore_heads(
    model: TwoLayers, ids: Tensor, known: Tensor, letters: str, row: int = 0, start: int = -1
) -> None:
    """Let the reader pick a position, see what each head does there, and remove heads.

    A removed head outputs its mean over all sequences (mean ablation). Readers can remove one head
    of layer 1 at a time, or any heads of layer 2. A letter and a number say what a head adds. For
    layer 2, this is the letter whose logit rises most. For layer 1, it is the letter whose query
    gains most: the head raises the query's score for this position, averaged over layer 2's heads.
    Both numbers are relative to the mean over all letters.

    row: the sequence to show; start: the position that is selected initially
    Shapes:  ids (B, L + 1), whose first half is the block, with L <= 26
             known (B, L): which of ids[:, 1:] are predictable; letters: one character for each id
    """
    heads, half = range(model.layers[0].n_heads), ids.size(1) // 2
    sequence = "".join(letters[i] for i in ids[row].tolist())
    asked = [at + 1 for at in known[row].nonzero()[:, 0].tolist()]
    subsets = [[head for head in heads if bits >> head & 1] for bits in range(2 ** len(heads))]
    upper = [_run(model, ids, row, [[], off]) for off in subsets]  # the first has all heads
    lower = [_run(model, ids, row, [[head], []]) for head in heads]

    def says(runs: list[Run]) -> str:
        return "|".join(_rows(run.probabilities[half - 1 :], letters, N_BEST) for run in runs)

    data = {
        "sequence": sequence,
        "asked": asked,
        "start": start % (len(sequence) - 1),
        "below": _strips(upper[0], 0, letters),
        "above": [
            _strips(run, 1, letters) | {"says": says(upper if i == 0 else [run])}
            for i, run in enumerate([upper[0], *lower])
        ],
        "words": _words(),
    }
    named = {_("nothing"): upper[0]}
    named |= {_("layer 1, head {n}").format(n=head): lower[head] for head in heads}
    named |= {_("layer 2, head {n}").format(n=head): upper[2**head] for head in heads}
    named |= {_("layer 2, all heads"): upper[-1]}
    rows = []
    for name, run in named.items():
        best = [letters[i] for i in run.probabilities.argmax(-1).tolist()]
        said = [best[at - 1] for at in asked]
        n_right = sum(letter == sequence[at] for at, letter in zip(asked, said, strict=True))
        rows.append(
            [name, " ".join(said), _("{found} of {all}").format(found=n_right, all=len(asked))]
        )
    head = [
        _("removed"),
        _("predicted for {letters}").format(letters=" ".join(sequence[at] for at in asked)),
        _("right"),
    ]
    show_element("attn-induction", data, head, rows)


@torch.no_grad()
def _run(model: TwoLayers, ids: Tensor, row: int, removed: list[list[int]]) -> Run:
    """Run the model on all sequences, without the removed heads of each layer."""
    with ExitStack() as stack:
        calls = [
            stack.enter_context(head_outputs(layer, _averaged(heads)))
            for layer, heads in zip(model.layers, removed, strict=True)
        ]
        logits, weights = model(ids[:, :-1])
    below, above = (
        call[0][row] @ split_heads(layer.w_o.weight, layer.n_heads).mT  # (H, L, D)
        for layer, call in zip(model.layers, calls, strict=True)
    )
    reader = model.layers[1]
    queries = split_heads(reader.w_q(model.token.weight), reader.n_heads)  # (H, V, Dk)
    keys = split_heads(reader.w_k(below), reader.n_heads)  # (H of layer 1, H of layer 2, L, Dk)
    scores = (keys @ queries.mT).mean(1) / queries.size(-1) ** 0.5  # (H, L, V)
    adds = scores, model.unembed(above)
    return Run(logits[row].softmax(-1), weights[:, row], adds)


def _averaged(removed: list[int]) -> Callable[[Tensor], Tensor]:
    """Replace the outputs of these heads with their means over the sequences."""

    def replace(outputs: Tensor) -> Tensor:  # (B, H, L, Dv)
        changed = outputs.clone()
        changed[:, removed] = outputs.mean(0)[removed]
        return changed

    return replace


def _strips(run: Run, layer: int, letters: str) -> dict[str, str]:
    """For each head of a layer: its weights, the letter that it adds most to, and how much."""
    adds = run.adds[layer]
    largest = (adds - adds.mean(-1, keepdim=True)).max(-1)
    return {
        "weights": "|".join(_rows(head, ascii_lowercase) for head in run.weights[layer]),
        "adds": "|".join(
            "".join(f"{letters[i]}{x:.0f}" for i, x in zip(*head, strict=True))
            for head in zip(largest.indices.tolist(), largest.values.tolist(), strict=True)
        ),
    }


def _rows(shares: Tensor, names: str, n_best: int | None = None) -> str:
    """Write each row as names with percentages: a97b3. A name without a number stands for 100.

    A row of probabilities lists its n_best, and a row of weights lists all that are visible.
    """
    least = VISIBLE if n_best is None else LIKELY
    rows = []
    for row in shares.tolist():
        best = sorted(range(len(row)), key=lambda i: -row[i])[:n_best]
        pairs = [(names[i], round(100 * row[i])) for i in best if row[i] >= least]
        rows.append("".join(f"{name}{x if x < 100 else ''}" for name, x in pairs))
    return " ".join(rows)


def _words() -> dict[str, Any]:
    """The words of the figure, in the reader's language."""
    return {
        "name": _("Two layers of attention, with and without some heads"),
        "try": _(
            "Pick a letter in the second half, and switch heads off: "
            "one of layer 1, or any of layer 2."
        ),
        "sequence": _("sequence and predictions"),
        "right": _("right: {n} of {all}"),
        "layers": [_("layer 1"), _("layer 2")],
        "head": _("head {head}"),
        "adds": [_("key for"), _("raises")],
        "mean": _("mean"),
        "bars": [_("all heads"), _("now")],
        "first": _("In the first half, nothing is predictable."),
        "says": _("After {letter} the model predicts {best}, {share}%."),
        "due": [
            _("Right."),
            _("Wrong: it is {next}."),
            _("{next} is not marked: a jump, or the block begins again."),
        ],
        "comma": _(", "),
        "most": _("{layer} attends most to {letters}."),
    }
