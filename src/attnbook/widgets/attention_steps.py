"""The steps of an attention head, from the vectors of a sentence to the output."""

import base64
from collections.abc import Mapping, Sequence

from torch import Tensor

from attnbook.attention.scaled_dot_product import scaled_dot_product_attention
from attnbook.language import _
from attnbook.widgets.element import check_shape, show_element

__all__ = ["follow_steps"]

ROLES = {  # of the matrices that have a role
    **dict.fromkeys(("W_Q", "Q"), "query"),
    **dict.fromkeys(("W_K", "K", "Kᵀ"), "key"),
    **dict.fromkeys(("W_V", "V", "output"), "value"),
    "weights": "weights",
}


def follow_steps(
    sentences: Mapping[str, tuple[Sequence[str], Tensor]],
    matrices: tuple[Tensor, Tensor, Tensor],
    start: tuple[int, int],
    columns: tuple[Sequence[str], Sequence[str], Sequence[str]] | None = None,
) -> None:
    """Let the reader go through a head step by step, and see how each number is computed.

    start: the query and the key that are selected initially
    columns: the names of the columns of x, of queries and keys, and of values, if any
    Shapes:  each sentence: its L words and x (L, D); matrices: (D, Dk), (D, Dk), (D, Dv)
    Raises:  ValueError if a shape does not fit, or a number does not fit into 16 bits
    """
    w_q, w_k, w_v = matrices
    data = {
        "sentences": [
            {"name": name, "words": list(words), "x": _packed(x)}
            for name, (words, x) in sentences.items()
        ],
        "matrices": [_packed(matrix) for matrix in matrices],
        "start": start,
        "columns": columns,
        "roles": ROLES,
        "words": {
            "name": _("An attention head, cell by cell"),
            "try": _("Pick a step, then a cell: the arithmetic of this cell appears below."),
            "sentences": _("sentence"),
            "mask": _("mask"),
            "nothing": _("none"),
            "causal": _("causal"),
            "steps": _("step"),
            "made": [
                "Q",
                "K",
                "V",
                _("scores"),
                _("scaled"),
                _("masked"),
                _("weights"),
                _("output"),
            ],
            "said": [
                _("Column {column} of the query of {query}: {value}."),
                _("Column {column} of the key of {query}: {value}."),
                _("Column {column} of the value of {query}: {value}."),
                _("The query of {query} times the key of {key}: score {value}."),
                _("The score of {query} for {key}, divided by the root of {width}: {value}."),
                _("{query} may attend to {key}: the score stays {value}."),
                _("{query} attends to {key} with weight {value}."),
                _("Column {column} of the output for {query}: {value}."),
            ],
            "closed": _(
                "{query} may not attend to {key}, which comes later: the score is {value}."
            ),
        },
    }
    i = start[0]
    rows = []
    for name, (words, x) in sentences.items():
        check_shape(f"x of {name}", x, (len(words), w_q.size(0)))
        query, key = x @ w_q, x @ w_k
        weights = scaled_dot_product_attention(query, key, x @ w_v)[1]
        scores = (query @ key.T)[i]
        scaled = scores / w_q.size(1) ** 0.5
        for word, *numbers in zip(words, scores, scaled, weights[i], strict=True):
            rows.append([name, words[i], word, *(f"{number:.2f}" for number in numbers)])
    head = [_("sentence"), _("query"), _("key"), _("score"), f"÷ √{w_q.size(1)}", _("weight")]
    show_element("attn-steps", data, head, rows)


def _packed(matrix: Tensor) -> list[int | str]:
    """The width of a matrix, and its numbers in ten-thousandths, as 16-bit integers in base64."""
    if matrix.abs().max() >= 2**15 / 1e4:
        raise ValueError(f"{matrix.abs().max():.4g} does not fit: 16 bits hold less than 3.2768")
    integers = (matrix.detach().double().cpu() * 1e4).round().numpy().astype("<i2")
    return [matrix.size(1), base64.b64encode(integers.tobytes()).decode()]
