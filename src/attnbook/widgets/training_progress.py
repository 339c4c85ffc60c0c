"""The progress of a training run: embeddings or an attention map at some steps, and the loss."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook.language import _
from attnbook.widgets.element import check_shape, play, show_element

__all__ = ["watch_attention", "watch_embeddings"]


def watch_embeddings(
    losses: Sequence[float],
    embeddings: Mapping[int, Tensor],
    words: Sequence[str],
    kinds: Mapping[str, Sequence[int]],
) -> None:
    """Let the reader move through a training run, and see the words of each kind cluster.

    The embeddings are projected onto the first two right singular vectors of the last ones, with
    word 0 at the upper right. A word's nearest neighbor is the word with the largest cosine
    similarity, computed from all D numbers.

    kinds: up to six names, each with the indices of its words
    Shapes:  losses: one for each step; embeddings (N, D) at increasing steps; words N
    Raises:  ValueError if a shape does not fit, or a step has no loss
    """
    shape = embeddings[max(embeddings)].shape
    _check(losses, embeddings, (len(words), shape[-1]))
    stacked = torch.stack([table.detach().cpu() for table in embeddings.values()])  # (S, N, D)
    points = stacked @ torch.linalg.svd(stacked[-1]).Vh[:2].mT  # (S, N, 2)
    points = points * points[-1, 0].sign()
    reach = points.abs().amax((1, 2))  # (S,): the view follows the farthest point
    unit = stacked / stacked.norm(dim=-1, keepdim=True)
    nearest = [(x @ x.mT).fill_diagonal_(-2).argmax(-1).tolist() for x in unit]
    counts = [  # words whose nearest neighbor is of their kind
        [sum(neighbors[i] in kind for i in kind) for kind in kinds.values()]
        for neighbors in nearest
    ]
    data = {
        "kinds": [{"name": name, "rows": list(kind)} for name, kind in kinds.items()],
        "reach": [float(f"{x:.3g}") for x in reach.tolist()],
        # in thousandths of the reach
        "places": [
            [round(1000 * x) for x in at_step.flatten().tolist()]
            for at_step in points / reach[:, None, None]
        ],
        "nearest": nearest,
        "words": {
            "name": _("Training step by step: words as points in the plane"),
            "try": _("Press play, or drag along the loss. Then pick a kind of word."),
            "kinds": _("kinds of words"),
            "found": _("{found} of {all}"),
            "alike": _("Most like {word}: {other}."),
        },
    }
    sizes = {name: len(kind) for name, kind in kinds.items() if len(kind) > 1}
    cells = [
        [
            _("{found} of {all}").format(found=n, all=sizes[name])
            for name, n in zip(kinds, row, strict=True)
            if name in sizes
        ]
        for row in counts
    ]
    _training(data, losses, list(embeddings), words, list(sizes), cells)


def watch_attention(
    losses: Sequence[float], maps: Mapping[int, Tensor], words: Sequence[str]
) -> None:
    """Let the reader move through a training run, and see how an attention map changes.

    Shapes:  losses: one for each step; maps (L, L), weights, at increasing steps; words L
    Raises:  ValueError if a shape does not fit, or a step has no loss
    """
    _check(losses, maps, (len(words), len(words)))
    data = {
        "maps": [
            [[round(w, 2) for w in row] for row in weights.tolist()] for weights in maps.values()
        ],
        "words": {
            "name": _("A training run, step by step: which word attends to which"),
            "try": _("Press play, or drag along the loss."),
            "queries": _("queries"),
            "said": _("{query} attends most to {key}: weight {weight}."),
        },
    }
    cells = [
        [f"{words[row.argmax()]} {row.max():.2f}" for row in weights.detach().cpu()]
        for weights in maps.values()
    ]
    _training(
        data,
        losses,
        list(maps),
        words,
        [_("{word} attends to").format(word=word) for word in words],
        cells,
    )


def _check(losses: Sequence[float], tensors: Mapping[int, Tensor], shape: tuple[int, int]) -> None:
    """Reject a tensor of the wrong shape or a step without a loss."""
    for step, tensor in tensors.items():
        check_shape(f"step {step}", tensor, shape)
        if not 0 <= step < len(losses):
            raise ValueError(f"step {step} has no loss: there are {len(losses)}, from step 0 on")


def _training(
    data: dict[str, Any],
    losses: Sequence[float],
    steps: list[int],
    labels: Sequence[str],
    head: list[str],
    cells: list[list[str]],
) -> None:
    """Print an attn-training element; its table has every fourth step, and the last one."""
    data |= {
        "labels": list(labels),
        "steps": steps,
        "losses": [round(loss, 2) for loss in losses[: steps[-1] + 1]],
    }
    data["words"] |= {
        "steps": _("training steps"),
        "loss": _("loss"),
        **play(),
        "told": _("Step {step}: loss {loss}."),
    }
    rows = [
        [str(step), f"{losses[step]:.2f}", *row] for step, row in zip(steps, cells, strict=True)
    ]
    show_element("attn-training", data, [_("step"), _("loss"), *head], [*rows[:-1:4], rows[-1]])
