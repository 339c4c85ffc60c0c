"""Maps of weights: who looks at whom."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from attnbook.widgets.element import check_shape, show_element

__all__ = ["follow_looks"]


def follow_looks(
    maps: Mapping[str, Tensor],
    queries: Sequence[str],
    keys: Sequence[str],
    start: int = 0,
    says: Mapping[str, Sequence[str]] | None = None,
    choose: str = "map",
    cut: Mapping[str, Sequence[str]] | None = None,
    outcome: str = "",
) -> None:
    """Let the reader pick a map and a query, and follow the lines to the keys it looks at.

    Shapes:  maps by name (Lq, Lk), weights; queries Lq, keys Lk; `start`: the query picked first
             says: by the map's name a sentence for each query, or "", to be told with it
             cut: what each query comes to, called `outcome`, or "": first with nothing switched
             off, then by the name of the map that is switched off
    Raises:  ValueError if a shape does not fit
    """
    says, cut = says or {}, cut or {}
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
            | ({"says": list(says[name])} if name in says else {})
            for name, weights in maps.items()
        ],
        "words": {
            "name": "Who looks at whom",
            "maps": choose,
            "queries": "queries",
            "keys": "keys",
            "said": "{query} looks most at {key}: weight {weight}.",
        },
    }
    head = [choose, "query", "looks most at", "weight"]
    rows = [
        [name, query, keys[row.argmax()], f"{row.max():.2f}"]
        for name, weights in maps.items()
        for query, row in zip(queries, weights.cpu(), strict=True)
    ]
    if cut:
        data["cut"] = [{"name": name, "outcomes": list(each)} for name, each in cut.items()]
        data["words"] |= {
            "cut": "switched off",
            "off": "{query} is told nothing from here.",
            "outcome": outcome,
            "comes": "It comes to: {now}.",
            "changed": "It comes to: {now}. With nothing switched off: {whole}.",
        }
        head += [outcome, "if switched off"]
        whole = next(iter(cut.values()))
        both = ([was, now] for name in maps for was, now in zip(whole, cut[name], strict=True))
        rows = [row + outcomes for row, outcomes in zip(rows, both, strict=True)]
    show_element("attn-look", data, head, rows)
