"""A training, watched: what it had come to after so many steps, and the loss beside it."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attnbook.widgets.element import check_shape, show_element

__all__ = ["watch_rows", "watch_weights"]


def watch_rows(
    losses: Sequence[float],
    tables: Mapping[int, Tensor],
    words: Sequence[str],
    kinds: Mapping[str, Sequence[int]],
) -> None:
    """Let the reader move through a training, and see rows of a table find their kind.

    They are drawn in the plane of the two directions along which the last table's rows reach
    farthest, with its first row on the right and above. How alike two rows are is told by the
    cosine of all their numbers.

    Shapes:  losses: one for each step; tables by step (N, D), the steps rising; words N
             kinds: up to six names, with the rows of each
    Raises:  ValueError if a shape does not fit, or a step has no loss
    """
    shape = tables[max(tables)].shape
    _check(losses, tables, (len(words), shape[-1]))
    steps = torch.stack([table.detach().cpu() for table in tables.values()])  # (S, N, D)
    places = steps @ torch.linalg.svd(steps[-1]).Vh[:2].mT  # (S, N, 2)
    places = places * places[-1, 0].sign()
    reach = places.abs().amax((1, 2))  # (S,): the view follows the farthest
    rows = steps / steps.norm(dim=-1, keepdim=True)
    nearest = [(one @ one.mT).fill_diagonal_(-2).argmax(-1).tolist() for one in rows]
    found = [[sum(near[i] in kind for i in kind) for kind in kinds.values()] for near in nearest]
    data = {
        "kinds": [{"name": name, "rows": list(kind)} for name, kind in kinds.items()],
        "reach": [float(f"{one:.3g}") for one in reach.tolist()],
        # in thousandths of the reach
        "places": [
            [round(1000 * x) for x in place.flatten().tolist()]
            for place in places / reach[:, None, None]
        ],
        "nearest": nearest,
        "words": {
            "name": "A training, watched: words as points in the plane",
            "kinds": "kinds of words",
            "found": "{found} of {all}",
            "alike": "Most like {word}: {other}.",
        },
    }
    several = {name: len(kind) for name, kind in kinds.items() if len(kind) > 1}
    cells = [
        [f"{n} of {several[name]}" for name, n in zip(kinds, row, strict=True) if name in several]
        for row in found
    ]
    _training(data, losses, list(tables), words, list(several), cells)


def watch_weights(
    losses: Sequence[float], maps: Mapping[int, Tensor], words: Sequence[str]
) -> None:
    """Let the reader move through a training, and see how the map of a sentence changes.

    Shapes:  losses: one for each step; maps by step (L, L), weights, the steps rising; words L
    Raises:  ValueError if a shape does not fit, or a step has no loss
    """
    _check(losses, maps, (len(words), len(words)))
    data = {
        "maps": [[[round(w, 2) for w in row] for row in one.tolist()] for one in maps.values()],
        "words": {
            "name": "A training, watched: who looks at whom",
            "queries": "queries",
            "said": "{query} looks most at {key}: weight {weight}.",
        },
    }
    cells = [
        [f"{words[row.argmax()]} {row.max():.2f}" for row in one.detach().cpu()]
        for one in maps.values()
    ]
    _training(data, losses, list(maps), words, [f"{word} looks at" for word in words], cells)


def _check(losses: Sequence[float], kept: Mapping[int, Tensor], shape: tuple[int, int]) -> None:
    for step, one in kept.items():
        check_shape(f"step {step}", one, shape)
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
    """Print an attn-training; its table has every fourth of the steps, and the last."""
    data |= {
        "labels": list(labels),
        "steps": steps,
        "losses": [round(loss, 2) for loss in losses[: steps[-1] + 1]],
    }
    data["words"] |= {
        "steps": "training steps",
        "loss": "loss",
        "play": "▶ play",
        "stop": "■ stop",
        "told": "Step {step}: loss {loss}.",
    }
    rows = [
        [str(step), f"{losses[step]:.2f}", *row] for step, row in zip(steps, cells, strict=True)
    ]
    show_element("attn-training", data, ["step", "loss", *head], [*rows[:-1:4], rows[-1]])
