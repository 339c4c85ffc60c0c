"""Maps of weights: who looks at whom."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from attnbook.colours import ROLES
from attnbook.widgets.element import show_element

__all__ = ["follow_looks"]


def follow_looks(
    maps: Mapping[str, Tensor],
    queries: Sequence[str],
    keys: Sequence[str],
    start: int = 0,
    says: Mapping[str, Sequence[str]] | None = None,
    choose: str = "map",
) -> None:
    """Let the reader pick a map and a query, and follow the lines to the keys it looks at.

    Shapes:  maps by name (Lq, Lk), weights; queries Lq, keys Lk; `start`: the query picked first
             says: by the map's name a sentence for each query, or "", to be told with it
    Raises:  ValueError if a shape does not fit
    """
    says = says or {}
    for name, weights in maps.items():
        if weights.shape != (len(queries), len(keys)):
            shape = tuple(weights.shape)
            raise ValueError(f"{name} has shape {shape}: it must be {len(queries), len(keys)}")
    data = {
        "queries": list(queries),
        "keys": list(keys),
        "start": start,
        "maps": [
            {"name": name, "rows": [[round(w, 2) for w in row] for row in weights.tolist()]}
            | ({"says": list(says[name])} if name in says else {})
            for name, weights in maps.items()
        ],
        "colour": ROLES["weights"].fill,
        "words": {
            "name": "Who looks at whom",
            "maps": choose,
            "queries": "queries",
            "keys": "keys",
            "said": "{query} looks most at {key}: weight {weight}.",
        },
    }
    rows = [
        [name, query, keys[row.argmax()], f"{row.max():.2f}"]
        for name, weights in maps.items()
        for query, row in zip(queries, weights.cpu(), strict=True)
    ]
    show_element("attn-look", data, [choose, "query", "looks most at", "weight"], rows)
