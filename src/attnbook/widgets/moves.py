"""Who moves whom: layers with a fault each, and a batch in which a reader changes a word."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from attnbook.language import _
from attnbook.widgets.element import check_shape, show_element

__all__ = ["explore_moves"]

LEAST = 1e-9  # a smaller change is rounding


def explore_moves(
    layers: Mapping[str, Callable[[Tensor, Tensor], Tensor]],
    rows: Tensor,
    sentences: Sequence[Sequence[str]],
) -> None:
    """Let the reader change a word, see which outputs move, and name the fault of each layer.

    The layers are numbered at random, so that their order in the code does not give them away.

    layers: for each fault, a causal layer that has it, called with rows and a mask of real words
    sentences: the words of a batch, with "" for padding; no word may occur twice
    Shapes:  rows (B, L, D), mask (B, L); a layer returns (B, L, D)
    Raises:  ValueError if rows do not fit the sentences, or if a word occurs twice
    """
    real = [[word != "" for word in sentence] for sentence in sentences]
    keep = torch.tensor(real, device=rows.device)
    check_shape("rows", rows, (*keep.shape, rows.size(-1)))
    words = [word for sentence in sentences for word in sentence if word]
    if len({*words}) < len(words):
        raise ValueError("a word occurs twice: an answer could not name it")
    moves = {name: who_moves_whom(layer, rows, keep).cpu() for name, layer in layers.items()}
    order = torch.randperm(len(layers), generator=torch.Generator().manual_seed(0)).tolist()
    names = [[*layers][i] for i in order]
    data = {
        "sentences": [list(sentence) for sentence in sentences],
        "layers": names,
        "moves": [
            ["".join(map(str, row)) for row in moves[name].flatten(2).flatten(0, 1).int().tolist()]
            for name in names
        ],
        "words": {
            "name": _("Who moves whom, in layers with a fault each"),
            "try": _("Pick a layer, and change words one by one. Which outputs move? Why?"),
            "layer": _("layer"),
            "change": _("pick a word to change"),
            "outputs": _("outputs that move"),
            "fault": _("your diagnosis"),
            "moves": _("moves"),
            "stays": _("stays"),
            "padding": _("padding"),
            "word": _("“{word}”"),
            "of": _("the padding of sentence {n}"),
            "who": _("Changing {word} moves {list}."),
            "comma": _(", "),
            "nobody": _("Changing {word} moves no output."),
            "right": _("Yes: layer {n} moves what “{fault}” moves, and nothing else."),
            "twin": _("So does “{other}”: this experiment can't tell them apart."),
            "would": _("No: with “{fault}”, changing {word} would move {output}. Here it doesn't."),
            "would_not": _("No: changing {word} moves {output} here. With “{fault}” it wouldn't."),
        },
    }
    head = [
        _("layer"),
        _("fault"),
        _("moved by later words"),
        _("not moved by earlier words"),
        _("moved by padding"),
        _("moved by another sentence"),
    ]
    table = [
        [f"{i}", name, *(f"{n}" for n in contradictions(moves[name], keep.cpu()))]
        for i, name in enumerate(names, 1)
    ]
    show_element("attn-moves", data, head, table)


@torch.no_grad()
def who_moves_whom(layer: Callable[[Tensor, Tensor], Tensor], rows: Tensor, keep: Tensor) -> Tensor:
    """Which outputs of real words move if one row of the batch gets other numbers.

    Shapes:  rows (B, L, D), keep (B, L) -> (B, L, B, L): first the changed row, then the output
    """
    before = layer(rows, keep)
    moved = torch.zeros(*keep.shape, *keep.shape, dtype=torch.bool, device=keep.device)
    for sentence, word in torch.ones_like(keep).nonzero().tolist():
        changed = rows.clone()
        changed[sentence, word] = rows[sentence, word].flip(-1)
        change = (layer(changed, keep) - before).abs().amax(-1)
        moved[sentence, word] = (change > LEAST) & keep
    return moved


def contradictions(moved: Tensor, keep: Tensor) -> list[int]:
    """Count the outputs that contradict a causal layer, in four ways.

    They move with a later word, do not move with an earlier one, move with padding, or move with
    another sentence.

    Shapes:  moved (B, L, B, L), keep (B, L), True for real words
    """
    n, length = keep.shape
    same = torch.eye(n, dtype=torch.bool)[:, None, :, None]
    later = torch.ones(length, length, dtype=torch.bool).tril(-1)[:, None, :]
    real = keep[:, :, None, None]
    cases = [
        moved & same & real & later,
        ~moved & same & real & keep & ~later,
        moved & ~real,
        moved & ~same & real,
    ]
    return [int(case.any(dim=(0, 1)).sum()) for case in cases]
