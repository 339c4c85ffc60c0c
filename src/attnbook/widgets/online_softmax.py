"""The online softmax: keys arrive one by one, and each updates the running sums."""

import math
from collections.abc import Sequence

from torch import Tensor

from attnbook.language import _
from attnbook.widgets.element import one_row, play, show_element

__all__ = ["explore_online_softmax"]


def explore_online_softmax(scores: Tensor, values: Tensor, labels: Sequence[str]) -> None:
    """Let the reader reorder the keys of one query, and compute their softmax block by block.

    Shapes:  scores (Lk,), values (Lk, Dv), labels Lk
    Raises:  ValueError if the lengths do not fit
    """
    row = one_row(scores, labels)
    if len(values) != len(labels):
        raise ValueError(f"values has {len(values)} rows: {len(labels)} labels need as many")
    data = {
        "labels": list(labels),
        "scores": row,
        "values": [[round(x, 2) for x in value] for value in values.tolist()],
        "sizes": [1, 2, 3, 6],
        "words": {
            "name": _("A softmax whose keys arrive in the order that you choose"),
            "seen": _("keys so far"),
            "sizes": _("keys at a time"),
            "try": _(
                "Press play. Then drag a word elsewhere, or click it to move it one place "
                "to the left."
            ),
            **play(),
            "rows": {
                "words": _("key"),
                "power": "e^(s − m)",
                "score": _("score s"),
                "largest": _("largest m"),
                "shrink": _("factor"),
                "total": _("sum l"),
            },
            "output": _(
                "mixture / sum, number by number; marks: from the softmax of the whole row"
            ),
            "first": _("{words}: the sum starts at {plus}."),
            "larger": _(
                "{words}: a new largest score. Everything so far is multiplied by "
                "{shrink}, then {plus} is added. The sum is {total}."
            ),
            "smaller": _("{words}: no larger score. {plus} is added. The sum is {total}."),
            "so_far": _("Mixture / sum is off by up to {off}."),
            "end": _(
                "All keys have arrived. How often the sum has shrunk: {shrinks}. LSE m + log l: "
                "{level}. Mixture / sum is off by {off}."
            ),
        },
    }
    rows, largest, total = [], -math.inf, 0.0
    for label, score in zip(labels, row, strict=True):
        previous, largest = largest, max(largest, score)
        shrink = math.exp(previous - largest)
        total = total * shrink + math.exp(score - largest)
        rows.append([label, *(f"{x:.2f}" for x in (score, largest, shrink, total))])
    show_element(
        "attn-online", data, [_("key"), _("score s"), _("largest m"), _("factor"), _("sum l")], rows
    )
