"""What a cell prints for an interactive figure: its data, the colors and the script.

Inside the element is a table, which is shown until the script runs, or where scripts are not
allowed. The colors and the script are printed too, so that the figure works wherever the notebook
is opened, even before it is run. After a change to them, the normal form of a notebook gets the new
ones without a run (manuscript/normal_form.py). The built page removes them: its style sheet has the
colors, and it loads each script once (press/extension/widgets.py).
"""

import html
import json
import textwrap
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from IPython.display import display
from torch import Tensor

from attnbook.colors import variables
from attnbook.language import _, named

Numbers = Tensor | np.ndarray | Sequence[float]
SCRIPTS = files(__package__) / "scripts"


def play() -> dict[str, str]:
    """The words on the buttons of a figure with steps."""
    return {"play": _("▶ play"), "stop": _("■ stop")}


def one_row(scores: Numbers, labels: Sequence[str]) -> list[float]:
    """The scores, one for each label, rounded to digits that are the same on every machine.

    They keep five significant digits and at most four decimals: a small score has fewer exact
    digits, because it is a sum of larger terms.
    """
    row = scores.detach().cpu().numpy() if isinstance(scores, Tensor) else np.asarray(scores)
    check_shape("scores", row, (len(labels),))
    return [round(float(f"{score:.5g}"), 4) for score in row]


def check_shape(name: str, array: Tensor | np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise ValueError if an array does not have this shape."""
    if array.shape != shape:
        raise ValueError(f"{name} has shape {tuple(array.shape)}: it must be {shape}")


def show_element(
    name: str, data: dict[str, Any], head: Sequence[str], rows: list[list[str]], note: str = ""
) -> None:
    """Display an element as HTML and as plain text, with a table in case no script can run.

    note: for an element that works only in the book's pages, a sentence that says so; it is shown
    below the table, and no script is printed
    """
    packed = html.escape(json.dumps(named(data), ensure_ascii=False, separators=(",", ":")))
    cells = "".join(
        "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for tag, row in [("th", head), *(("td", row) for row in rows)]
    )
    text = "\n".join("  ".join(row) for row in [head, *rows])
    if note:
        page = f'<{name} data="{packed}"><table>{cells}</table><p>{html.escape(note)}</p></{name}>'
        display({"text/html": page, "text/plain": f"{text}\n{textwrap.fill(note, 76)}"}, raw=True)
        return
    page = f'<{name} data="{packed}"><table>{cells}</table></{name}>{colors_and_script(name)}'
    display({"text/html": page, "text/plain": text}, raw=True)


def colors_and_script(name: str) -> str:
    """The lines that follow an element wherever it is printed.

    Raises:  FileNotFoundError if no script has this name
    """
    script = "".join((SCRIPTS / f"{part}.js").read_text("utf-8") for part in ("base", name))
    return f"\n<style>{variables()}</style>\n<script>\n{script}</script>"
