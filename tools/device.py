"""Say in one line if the tests cannot run on the device that ATTNBOOK_DEVICE names.

cpu        where they run unless told otherwise
cuda       an NVIDIA GPU
rehearsal  a GPU played by the CPU: tests/support/rehearsal.py
"""

import os
import sys

import torch

DEVICES = ("cpu", "cuda", "rehearsal")


def asked() -> str:
    """The device that was asked for; the CPU if none was."""
    return os.environ.get("ATTNBOOK_DEVICE") or "cpu"


def trouble() -> str | None:
    """What is wrong with the device that was asked for, if anything."""
    if asked() not in DEVICES:
        return f"DEVICE={asked()}: it must be cpu, cuda or rehearsal"
    if asked() == "cuda" and not torch.cuda.is_available():
        build = "" if torch.version.cuda else ", and is a build without CUDA"
        return f"DEVICE=cuda, but PyTorch {torch.__version__} sees no CUDA device here{build}"
    return None


if __name__ == "__main__":
    sys.exit(trouble() and f"attention book: {trouble()}")
