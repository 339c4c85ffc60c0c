"""Print an interactive figure: an HTML element with its data, a table, and the script.

The table is shown until the script runs, and where scripts are not allowed. The script is part of
the output so that the figure works wherever the notebook is opened; the built page removes it and
loads it once, as a file (press/extension/widgets.py).
"""

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from IPython.display import display
from torch import Tensor

Numbers = Tensor | np.ndarray | Sequence[float]


def one_row(scores: Numbers, labels: Sequence[str]) -> list[float]:
    """The scores, one for each label, rounded to digits that are the same on every machine.

    These are five digits, and at most four decimals: a small score has fewer exact digits, because
    it is a sum of larger terms.
    """
    row = scores.detach().cpu().numpy() if isinstance(scores, Tensor) else np.asarray(scores)
    check_shape("scores", row, (len(labels),))
    return [round(float(f"{score:.5g}"), 4) for score in row]


def check_shape(name: str, array: Tensor | np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise ValueError if an array does not have this shape."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {tuple(array.shape)}: it must be {shape}")


def show_element(
    name: str, data: dict[str, Any], head: Sequence[str], rows: list[list[str]]
) -> None:
    """Display an element as HTML and as plain text, with a table for where no script runs."""
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
