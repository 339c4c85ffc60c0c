"""Helpers for the notebooks: print tensors, show the library's source, choose the device."""

import inspect
import os
import textwrap
import unicodedata
from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.checks.tensors import check_tensor


def device() -> torch.device:
    """The device that the notebooks compute on: a GPU if there is one, else the CPU.

    The environment variable ATTNBOOK_DEVICE ("cpu" or "cuda") overrides the choice. A GPU is set
    up to reproduce the results of a CPU as closely as possible: see `_make_reproducible`.

    Raises:  ValueError if the variable has another value; RuntimeError if it is "cuda" and PyTorch
             finds no GPU
    """
    name = os.environ.get("ATTNBOOK_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise ValueError(f"ATTNBOOK_DEVICE={name!r}: it must be 'cpu' or 'cuda'")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("ATTNBOOK_DEVICE='cuda', but PyTorch finds no CUDA device")
    if name == "cuda":
        _make_reproducible()
    return torch.device(name)


def _make_reproducible() -> None:
    """Make a GPU compute float32 products deterministically and in full precision.

    TF32, a shorter float format of GPUs, keeps only about three decimal digits. Without
    deterministic algorithms, the last digits of a sum change from run to run, and so do trained
    parameters. The environment variable below is read when the first product is computed.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.use_deterministic_algorithms(True)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def show(
    tensor: Tensor,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    digits: int = 4,
) -> None:
    """Print a tensor's shape and its numbers, one matrix row per line, without its device.

    Shapes:  tensor (), (N,), or (..., N, M); rows and columns label a vector or a matrix
    Raises:  TypeError if the argument is not a tensor; ValueError if the number of labels is wrong
    """
    check_tensor("tensor", tensor)
    x = tensor.detach().cpu()
    _check_labels("rows", rows, x, -2)
    _check_labels("columns", columns, x, -1)
    print(f"shape {tuple(x.shape)}")
    if x.dim() > 2:
        for index, matrix in enumerate(x):
            print(f"[{index}] ", end="")
            show(matrix, rows, columns, digits)
        return
    texts = [[_number(v, digits) for v in line] for line in x.reshape(-1, _last(x)).tolist()]
    width = max((_cells(t) for line in [*texts, columns or ()] for t in line), default=0)
    margin = max((_cells(r) for r in rows or ()), default=0)
    if columns is not None:
        print(_pad("", margin), *(_pad(c, width) for c in columns))
    for label, line in zip(rows or [""] * len(texts), texts, strict=True):
        print(_pad(label, margin), *(_pad(t, width) for t in line))


def show_source(thing: object) -> "Source":
    """Show the source of a function or class of the library, so that no notebook copies it.

    Raises:  TypeError if `thing` has no Python source
    """
    return Source(textwrap.dedent(inspect.getsource(thing)))  # type: ignore[arg-type]


class Source:
    """Python source that a notebook renders as a highlighted block."""

    def __init__(self, code: str) -> None:
        self.code = code.rstrip()

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"


def _last(x: Tensor) -> int:
    return x.size(-1) if x.dim() else 1


def _check_labels(name: str, labels: Sequence[str] | None, x: Tensor, dim: int) -> None:
    if labels is None:
        return
    count = x.size(dim) if x.dim() >= -dim else 1
    if len(labels) != count:
        raise ValueError(
            f"{name} has {len(labels)} labels but the tensor of shape {tuple(x.shape)} "
            f"has {count} {name}"
        )


def _number(value: float | int | bool, digits: int) -> str:
    if isinstance(value, float):
        text = f"{value:.{digits}f}"
        return text.removeprefix("-") if float(text) == 0 else text
    return str(value)


def _cells(text: str) -> int:
    """The width of a text in a terminal, where a Chinese character takes two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int) -> str:
    return " " * (width - _cells(text)) + text
