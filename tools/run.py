"""Run the book's notebooks and write their outputs, with the same bytes every time.

Each notebook runs under every setting that may change the last digit: with one and two threads,
and with and without AVX2 instructions. The outputs of the first run are written. Under the other
settings, nbval compares them, and if it finds a difference, the file is restored. So no output
depends on the rounding of one machine.

    make run                              every notebook
    make run NB=book/03_single_head.ipynb
    .venv/bin/python -m tools.run --quick book/03_single_head.ipynb
    .venv/bin/python -m tools.run --form book/03_single_head.ipynb

`--quick` is for writing a chapter: it runs the notebook under one setting only. `--form` is for
changed text: it runs nothing and brings the file into its normal form.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

from nbformat import NotebookNode

from attnbook.pretrained.minilm import minilm_archive
from manuscript.common import ROOT, UserError, run_tool
from manuscript.minutes import keep_run_time
from manuscript.normal_form import (
    normalize_file,
    normalized,
    read,
    text_of,
    write_minutes,
    write_whole,
)
from manuscript.rerun_sections import minilm_cells

# On Windows, zmq warns about the event loop and then works around it.
warnings.filterwarnings("ignore", "Proactor event loop does not implement", RuntimeWarning)

CELL_TIMEOUT = 600  # seconds, as in `make nbval`


def settings() -> dict[str, dict[str, str]]:
    """The environments to run under, by name; the outputs of the first are the ones written."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")  # elsewhere PyTorch warns about avx2
    return {
        f"{n} threads, {level}": {
            "OMP_NUM_THREADS": n,
            "MKL_NUM_THREADS": n,
            "ATEN_CPU_CAPABILITY": level,
            "ATTNBOOK_LANGUAGE": "en",
        }
        for n in ("2", "1")
        for level in (["avx2", "default"] if x86 else ["default"])
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the given notebooks, or all; return 1 if one has failed or still has to be run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all in book/")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quick", action="store_true", help="run under one setting only")
    group.add_argument("--form", action="store_true", help="write the normal form, run nothing")
    options = parser.parse_args(arguments)
    paths = options.notebooks or sorted((ROOT / "book").glob("*.ipynb"))
    environments = dict([*settings().items()][: 1 if options.quick else None])
    complaints = 0
    for path in paths:
        start = time.monotonic()
        try:
            if options.form:
                changed, to_run = normalize_file(path)
            else:
                changed, to_run = update(path, environments), []
        except (UserError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            complaints += 1
            continue
        state = "written" if changed else "unchanged"
        print(f"{path}: {state} ({time.monotonic() - start:.0f} s)", flush=True)
        if to_run:
            lines = [*to_run, f"run it: .venv/bin/python -m tools.run --quick {path}"]
            print(*(f"{path}: {line}" for line in lines), sep="\n", file=sys.stderr)
            complaints += 1
    return 1 if complaints else 0


def update(path: Path, environments: dict[str, dict[str, str]]) -> bool:
    """Run a notebook in the first environment, and compare its outputs in the others.

    Return whether the file has changed.
    """
    before, notebook = path.read_bytes(), read(path)
    if minilm_cells(notebook.cells) and not minilm_archive():
        raise UserError("a section reads the model MiniLM, which is not installed: run make model")
    first, *others = environments
    after = text_of(run(path, notebook, environments[first])).encode()
    if after != before:
        write_whole(path, after)
    try:
        for name in others:
            compare(path, environments[name], f"with {name} as with {first}")
    except BaseException:  # including an interruption
        write_whole(path, before)
        raise
    return after != before


def compare(path: Path, environment: Mapping[str, str], where: str) -> None:
    """Let nbval run a notebook and compare its outputs.

    Raises:  UserError with nbval's report if an output differs
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
            f"does not give the same output {where}: print fewer digits, or round before plotting. "
            f"The file is unchanged.\n{done.stdout}"
        )


def run(path: Path, notebook: NotebookNode, environment: Mapping[str, str]) -> NotebookNode:
    """Run every cell in a fresh kernel of this Python, in the notebook's own folder."""
    # Imported here because the import takes a second, and `--form` runs nothing.
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    # The book shows what is printed on a CPU, unless the user asks for a GPU.
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
    before = children_seconds()
    try:
        client.execute(env=variables)
    except CellExecutionError as error:
        raise UserError(f"a cell failed, so the file is unchanged\n{error}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise UserError(f"did not finish, so the file is unchanged: {error}") from None
    seconds = children_seconds() - before
    if seconds and path.resolve().parent == ROOT / "book":  # Windows reports none
        keep_run_time(path.stem, seconds)
    notebook = normalized(notebook)
    write_minutes(path, notebook)
    return notebook


def children_seconds() -> float:
    """The processor time of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    run_tool(main)
