"""Run the book's notebooks again and write their outputs, the same bytes every time.

Each notebook runs under every setting that may move a last digit: one and two threads, plain and
AVX2 instructions. The outputs of the first run are written, and under the others nbval compares
them; where it finds a difference, the file is put back as it was. So no output depends on how the
machine at hand rounds.

    make run                              every notebook
    make run NB=book/03_single_head.ipynb
    .venv/bin/python -m tools.run --quick book/03_single_head.ipynb

`--quick` is for writing a chapter: one setting.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tools import markers
from tools.cells import exercises_of, write_exercises
from tools.common import ROOT, UserError
from tools.minutes import time_line

# What zmq says of the event loop on Windows, where it helps itself.
warnings.filterwarnings("ignore", "Proactor event loop does not implement", RuntimeWarning)

CELL_TIMEOUT = 600  # seconds, as in `make nbval`

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
# The first code cell of every notebook, which pages do not show. It imports nothing of ours, and
# names the folder above as a package of this name, so that pip installs no other one lying there.
INSTALL = """\
# Where the book's package is missing, as on Colab, install it. Published copies name its address.
import importlib.util, pathlib, subprocess, sys
from IPython.core.error import UsageError
SOURCE = "attnbook @ " + pathlib.Path("..").resolve().as_uri()
if importlib.util.find_spec("attnbook") is None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", SOURCE]
    if subprocess.run(pip, capture_output=True).returncode:
        raise UsageError(f"pip could not install {SOURCE!r}: see 'How to use this book'")"""
INSTALL_ID = "install"

KEPT_METADATA = ("mystnb",)  # what an author may set for a notebook
KEPT_CELL_METADATA = ("mystnb", "tags")  # and for a cell; editors leave the rest


def settings() -> dict[str, dict[str, str]]:
    """The environments to run under, by name; the outputs of the first are the ones written."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")  # elsewhere PyTorch warns about avx2
    return {
        f"{n} threads, {level}": {
            "OMP_NUM_THREADS": n,
            "MKL_NUM_THREADS": n,
            "ATEN_CPU_CAPABILITY": level,
        }
        for n in ("2", "1")
        for level in (["avx2", "default"] if x86 else ["default"])
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the notebooks named on the command line, or all; 1 if one failed or was refused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all in book/")
    parser.add_argument("--quick", action="store_true", help="one setting only")
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted((ROOT / "book").glob("*.ipynb"))
    environments = dict([*settings().items()][: 1 if options.quick else None])
    failed = 0
    for path in paths:
        start = time.monotonic()
        try:
            changed = update(path, environments)
        except (UserError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            failed += 1
            continue
        word = "written" if changed else "unchanged"
        print(f"{path}: {word} ({time.monotonic() - start:.0f} s)", flush=True)
    return 1 if failed else 0


def update(path: Path, environments: dict[str, dict[str, str]]) -> bool:
    """Run a notebook in the first environment, compare in the others; True if its bytes changed."""
    before = path.read_bytes()
    first, *others = environments
    after = text_of(run(path, read(path), environments[first])).encode()
    if after != before:
        path.write_bytes(after)
    try:
        for name in others:
            compare(path, environments[name], f"with {name} as with {first}")
    except BaseException:  # an interruption, too
        path.write_bytes(before)
        raise
    return after != before


def compare(path: Path, environment: Mapping[str, str], where: str) -> None:
    """Let nbval run a notebook and compare.

    Raises:  UserError, with what nbval says, if an output is another one
    """
    nbval = [sys.executable, "-m", "pytest", "--quiet", "--no-header", "--nbval"]
    done = subprocess.run(
        [*nbval, str(path.resolve())],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise UserError(
            f"does not give the same {where}: print fewer digits, or round before plotting. "
            f"Nothing was written.\n{done.stdout}"
        )


def read(path: Path) -> NotebookNode:
    """Read a notebook in its normal form, with the library's text in the cells of its exercises.

    Raises:  UserError if it is no notebook, or has no place for exercises
    """
    try:
        notebook = normalized(nbformat.v4.reads_json(path.read_text("utf-8")))
    except (ValueError, KeyError, AttributeError) as error:
        raise UserError(f"is not a notebook that can be read ({error})") from None
    write_exercises(notebook, exercises_of(path))
    write_minutes(notebook, path)
    return notebook


def normalized(notebook: NotebookNode) -> NotebookNode:
    """The notebook with fixed metadata, an id for every cell, and the cell that installs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nbformat.warnings.MissingIDFieldWarning)
        warnings.simplefilter("ignore", nbformat.warnings.DuplicateCellId)
        _, notebook = nbformat.validator.normalize(notebook)
    kept = {key: notebook.metadata[key] for key in KEPT_METADATA if key in notebook.metadata}
    notebook.metadata = nbformat.from_dict({**METADATA, **kept})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in KEPT_CELL_METADATA if cell.metadata.get(key)}
        )
    write_install_cell(notebook)
    describe_pictures(notebook)
    return notebook


def write_install_cell(notebook: NotebookNode) -> None:
    """Put the cell that installs the package above the code that imports it."""
    cells = notebook.cells
    if not any(cell.id == INSTALL_ID for cell in cells):
        uses = (i for i, c in enumerate(cells) if c.cell_type == "code" and "attnbook" in c.source)
        if (first := next(uses, None)) is None:
            return
        cells.insert(first, nbformat.v4.new_code_cell(id=INSTALL_ID))
    install = next(cell for cell in cells if cell.id == INSTALL_ID)
    install.source, install.metadata = INSTALL, nbformat.from_dict({"tags": ["remove-cell"]})


def write_minutes(notebook: NotebookNode, path: Path) -> None:
    """Say in the opening how long the page takes, if it has a line for that."""
    line = time_line(notebook, [exercise.minutes for exercise in exercises_of(path)])
    for cell in notebook.cells[:1]:
        cell.source = re.sub(rf"(?<=\*\*{markers.TIME}:\*\* ).*", line, cell.source, count=1)


def describe_pictures(notebook: NotebookNode) -> None:
    """Let each picture's description be its text form, for programs that show no picture."""
    for cell in notebook.cells:
        about = cell.metadata.get("mystnb", {}).get("image", {})
        for output in cell.get("outputs", []):
            if "alt" in about and {"image/svg+xml", "text/plain"} <= set(output.get("data", {})):
                output.data["text/plain"] = about["alt"]


def text_of(notebook: NotebookNode) -> str:
    """The notebook as it stands in its file."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def run(path: Path, notebook: NotebookNode, environment: Mapping[str, str]) -> NotebookNode:
    """Run every cell in a fresh kernel of this Python, in the notebook's own folder."""
    # What is printed on a CPU is what the book shows, unless the reader asks for a GPU.
    variables = {"ATTNBOOK_DEVICE": "cpu", **os.environ, **environment}
    client = NotebookClient(
        notebook,
        extra_arguments=["--log-level=ERROR"],
        timeout=CELL_TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(path.resolve().parent)}},
    )
    try:
        client.execute(env=variables)
    except CellExecutionError as error:
        raise UserError(f"a cell failed, so the file is left as it was\n{error}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise UserError(f"was not run to its end and is left as it was: {error}") from None
    notebook = normalized(notebook)
    write_minutes(notebook, path)
    return notebook


if __name__ == "__main__":
    sys.exit(main())
