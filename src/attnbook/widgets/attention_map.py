"""Attention maps: lines from a query to the keys it attends to."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from attnbook.language import _
from attnbook.widgets.element import check_shape, show_element

__all__ = ["explore_attention"]


def explore_attention(
    maps: Mapping[str, Tensor],
    queries: Sequence[str],
    keys: Sequence[str],
    start: int = 0,
    notes: Mapping[str, Sequence[str]] | None = None,
    choose: str = "",
    cut: Mapping[str, Sequence[str]] | None = None,
    outcome: str = "",
) -> None:
    """Let the reader pick an attention map and a query, and see which keys the query attends to.

    start: the query that is selected initially; choose: the label of the list of maps (“map”)
    notes: for each map, the sentences to show with its queries ("" for none)
    cut: the result for each query ("" for none), labeled `outcome` in the figure. The first entry
         has the results with nothing switched off; each other entry is named after the map that is
         switched off

    Shapes:  each map (Lq, Lk), weights; queries Lq, keys Lk
    Raises:  ValueError if a shape does not fit
    """
    notes, cut, choose = notes or {}, cut or {}, choose or _("map")
    for name, weights in maps.items():
        check_shape(name, weights, (len(queries), len(keys)))
    for name, outcomes in cut.items():
        if len(outcomes) != len(queries):
            raise ValueError(f"cut[{name!r}] has {len(outcomes)} outcomes, not {len(queries)}")
    data: dict[str, Any] = {
        "queries": list(queries),
        "keys": list(keys),
        "start": start,
        "maps": [
            {"name": name, "rows": [[round(w, 2) for w in row] for row in weights.tolist()]}
            | ({"says": list(notes[name])} if name in notes else {})
            for name, weights in maps.items()
        ],
        "words": {
            "name": _("Attention map: which query attends to which key"),
            "try": _("Pick a query on the left: the lines show which keys it attends to."),
            "maps": choose,
            "queries": _("queries"),
            "keys": _("keys"),
            "said": _("{query} attends most to {key}: weight {weight}."),
        },
    }
    head = [choose, _("query"), _("attends most to"), _("weight")]
    rows = [
        [name, query, keys[row.argmax()], f"{row.max():.2f}"]
        for name, weights in maps.items()
        for query, row in zip(queries, weights.cpu(), strict=True)
    ]
    if cut:
        data["cut"] = [{"name": name, "outcomes": list(outcomes)} for name, outcomes in cut.items()]
        data["words"] |= {
            "cut": _("switched off"),
            "off": _("{query} receives nothing from this head."),
            "outcome": outcome,
            "comes": _("Result: {now}."),
            "changed": _("Result: {now}. With nothing switched off: {whole}."),
        }
        head += [outcome, _("if switched off")]
        whole = next(iter(cut.values()))
        pairs = ([was, now] for name in maps for was, now in zip(whole, cut[name], strict=True))
        rows = [row + outcomes for row, outcomes in zip(rows, pairs, strict=True)]
    show_element("attn-look", data, head, rows)
