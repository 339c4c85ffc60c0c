"""Say in one line if the tests cannot run on the device that was asked for: make test DEVICE=...

cpu        where they run unless told otherwise
cuda       an NVIDIA GPU
rehearsal  a GPU played by the CPU: tests/support/rehearsal.py

In the environment that is ATTNBOOK_DEVICE=cpu or cuda, as `attnbook.device()` reads it, and for a
rehearsal ATTNBOOK_REHEARSAL=1 besides cuda.
"""

import os
import sys

import torch


def requested() -> str:
    """The device that the tests are to compute on: "cpu" unless another was asked for."""
    return os.environ.get("ATTNBOOK_DEVICE") or "cpu"


def rehearsing() -> bool:
    """Whether the CPU plays the GPU."""
    return requested() == "cuda" and os.environ.get("ATTNBOOK_REHEARSAL") == "1"


def problem() -> str | None:
    """Why the tests cannot run there, or None if they can."""
    if requested() not in ("cpu", "cuda"):
        return f"DEVICE={requested()}: it must be cpu, cuda or rehearsal"
    if requested() == "cuda" and not rehearsing() and not torch.cuda.is_available():
        build = "" if torch.version.cuda else ", and is a build without CUDA"
        return f"DEVICE=cuda, but PyTorch {torch.__version__} sees no CUDA device here{build}"
    return None


if __name__ == "__main__":
    sys.exit((line := problem()) and f"attention book: {line}")
