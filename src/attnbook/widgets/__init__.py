"""Interactive figures: each is an element with its numbers, and works on a page without a kernel.

A figure is a script, `scripts/attn-NAME.js`, and a function here. What a cell prints holds the
numbers, a table that stands in the figure's place until the script runs or where none may, and the
script, so that it works wherever the notebook is opened. The built page takes the script out and
loads it once (press/extension/widgets.py).
"""

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from IPython.display import display
from torch import Tensor

from attnbook.colours import ROLES, SIGNED
from attnbook.positions import sinusoidal_encoding

Numbers = Tensor | np.ndarray | Sequence[float]
SAID = (
    "{label}: weight {weight}. If its score rises by a little, its weight rises {slope} times as "
    "much. The choice is as even as one among {as_many} equals."
)


def explore_temperature(
    scores: Numbers, labels: Sequence[str], multipliers: Sequence[float], start: float = 1
) -> None:
    """Let the reader multiply a row of scores before the softmax, and read weights and slopes.

    Shapes:  scores (Lk,), labels Lk, multipliers in rising order, `start` among them
    Raises:  ValueError if there are more or fewer labels than scores, or `start` is not offered
    """
    row = _row(scores, labels)
    if start not in multipliers:
        raise ValueError(f"start={start} is none of the multipliers {list(multipliers)}")
    factors = [{"name": f"× {times:.3g}", "times": times} for times in multipliers]
    words = {"name": "The same scores, times a number", "factors": "scores times"}
    _softmax([("scores", 1, row)], labels, factors, list(multipliers).index(start), words)


def explore_scaling(
    scores: Mapping[str, Numbers] | Mapping[int, Numbers], labels: Sequence[str], d_k: int = 0
) -> None:
    """Let the reader choose a row of scores, and divide it by nothing, by √d_k, or by d_k.

    Shapes:  scores: by name one row (Lk,) each, undivided; labels Lk
             d_k: the width of them all; without it each name is the width of its row
    Raises:  ValueError if there are more or fewer labels than scores
    """
    sets = [(str(name), d_k or int(name), _row(row, labels)) for name, row in scores.items()]
    factors = [
        {"name": name, "power": power}
        for name, power in (("undivided", 0), ("÷ √d_k", 0.5), ("÷ d_k", 1))
    ]
    words = {"name": "A row of scores, divided", "factors": "scores"}
    words["sets"] = "query" if d_k else "width d_k"
    _softmax(sets, labels, factors, 0, words)


def paint_mask(scores: Tensor, words: Sequence[str], masks: Mapping[str, Tensor]) -> None:
    """Let the reader paint a mask, and see the weights that it leaves and what leaks the future.

    Shapes:  scores (L, L), words L, masks by name (L, L), boolean, True = may look; the first is
             what the figure begins with
    Raises:  ValueError if a shape does not fit
    """
    length = len(words)
    for name, square in {"scores": scores, **masks}.items():
        if square.shape != (length, length):
            shape = tuple(square.shape)
            raise ValueError(f"{name} has shape {shape}: it must be {(length, length)}")
    data = {
        "labels": list(words),
        "scores": [_row(row, words) for row in scores],
        "masks": [
            {"name": name, "rows": ["".join("01"[cell] for cell in row) for row in mask.tolist()]}
            for name, mask in masks.items()
        ],
        "colour": ROLES["weights"].fill,
        "words": {
            "name": "A mask to paint: rows are queries, columns are keys",
            "start": "start from",
            "polarity": "written down as",
            "may": "True = may look",
            "may_not": "True = may not",
            "cell": "{query} looks at {key}: {written}, weight {weight}",
            "cell_hidden": "{query} does not look at {key}: {written}",
            "look": "{query} looks at {key} with weight {weight}.",
            "leak": "{query} looks at {key}, which comes later, with weight {weight}.",
            "closed": "{query} may not look at {key}.",
            "nothing": "{query} may look at nothing: its weights are 0.",
            "leaks": "Cells that leak the future: {leaks}.",
            "no_leak": "Nothing leaks the future.",
        },
    }
    first = next(iter(masks.values()))
    rows = [
        [word, *("may look" if cell else "–" for cell in row)]
        for word, row in zip(words, first.tolist(), strict=True)
    ]
    _print("attn-mask", data, ["", *words], rows)


def turn_clocks(length: int, d_model: int, start: int, step: int, reach: int = 20) -> None:
    """Let the reader move a position and a second one, `step` away from it, and compare the two.

    d_model: how many numbers a position has, two for each clock; reach: the largest step
    """
    data = {
        "length": length,
        "width": d_model,
        "t": start,
        "step": step,
        "reach": reach,
        "colours": [SIGNED[0], SIGNED[-1]],
        "words": {
            "name": "Two positions as clock hands",
            "position": "position t",
            "step": "step φ",
            "hand": "pair {k}",
            "axis": "dot product over the step",
            "said": "From {t} to {to}: pair 0 turns by {degrees}°. p({t}) · p({to}) = {product}.",
        },
    }
    here, there = sinusoidal_encoding(max(start, start + step) + 1, d_model)[[start, start + step]]
    rows = [
        [f"pair {k}", *(f"({s:.2f}, {c:.2f})" for s, c in pair)]
        for k, pair in enumerate(zip(here.view(-1, 2), there.view(-1, 2), strict=True))
    ]
    rows += [["dot product", f"{here @ there:.4f}", ""]]
    _print("attn-dial", data, ["", f"t = {start}", f"t = {start + step}"], rows)


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
            "row": "{query} looks most at {key}, {weight}",
            "said": "{query} looks most at {key}: weight {weight}.",
        },
    }
    rows = [
        [name, query, keys[row.argmax()], f"{row.max():.2f}"]
        for name, weights in maps.items()
        for query, row in zip(queries, weights.cpu(), strict=True)
    ]
    _print("attn-look", data, [choose, "query", "looks most at", "weight"], rows)


def _softmax(
    sets: list[tuple[str, int, list[float]]],
    labels: Sequence[str],
    factors: list[dict[str, Any]],
    factor: int,
    words: dict[str, str],
) -> None:
    """Print an attn-softmax; its table has the weights that it begins with."""
    _, width, row = sets[0]
    times = factors[factor].get("times", width ** -factors[factor].get("power", 0))
    scaled = np.array(row) * times
    weights = np.exp(scaled - scaled.max())
    weights /= weights.sum()
    words |= {"score": "score", "weight": "weight", "rows": "rows", "said": SAID}
    words["row"] = "{label}: score {score}, weight {weight}"
    data = {
        "labels": list(labels),
        "sets": [{"name": name, "width": width, "scores": row} for name, width, row in sets],
        "factors": factors,
        "set": 0,
        "factor": factor,
        "colour": ROLES["weights"].fill,
        "words": words,
    }
    rows = [
        [label, f"{score:.2f}", f"{weight:.3f}"]
        for label, score, weight in zip(labels, scaled, weights, strict=True)
    ]
    _print("attn-softmax", data, ["", "score", "weight"], rows)


def _row(scores: Numbers, labels: Sequence[str]) -> list[float]:
    """The scores, one for each label, with as many digits as every machine agrees on."""
    row = scores.detach().cpu().numpy() if isinstance(scores, Tensor) else np.asarray(scores)
    if row.shape != (len(labels),):
        raise ValueError(
            f"scores has shape {row.shape}: {len(labels)} labels need ({len(labels)},)"
        )
    return [float(f"{score:.5g}") for score in row]


def _print(name: str, data: dict[str, Any], head: Sequence[str], rows: list[list[str]]) -> None:
    """Display an element, with a table for where no script runs, as HTML and as plain text."""
    packed = html.escape(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    cells = "".join(
        "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for tag, row in [("th", head), *(("td", row) for row in rows)]
    )
    scripts = (files(__package__) / "scripts" / f"{part}.js" for part in ("base", name))
    script = "".join(path.read_text("utf-8") for path in scripts)
    text = "\n".join("  ".join(row) for row in [head, *rows])
    element = f'<{name} data="{packed}"><table>{cells}</table></{name}>'
    display({"text/html": f"{element}\n<script>\n{script}</script>", "text/plain": text}, raw=True)
