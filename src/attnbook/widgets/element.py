"""What a cell prints of an interactive figure: an element with its numbers, a table, the script.

The table stands in the figure's place until the script runs, or where none may. The script comes
along so that the figure works wherever the notebook is opened; the built page takes it out and
loads it once (press/extension/widgets.py).
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
    """The scores, one for each label, with as many digits as every machine agrees on.

    Five, and none beyond the fourth behind the point: of a small score fewer are sure, since it is
    a sum of larger terms.
    """
    row = scores.detach().cpu().numpy() if isinstance(scores, Tensor) else np.asarray(scores)
    check_shape("scores", row, (len(labels),))
    return [round(float(f"{score:.5g}"), 4) for score in row]


def check_shape(name: str, array: Tensor | np.ndarray, shape: tuple[int, ...]) -> None:
    """Refuse numbers that do not fit the labels they are shown with."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {tuple(array.shape)}: it must be {shape}")


def show_element(
    name: str, data: dict[str, Any], head: Sequence[str], rows: list[list[str]]
) -> None:
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
