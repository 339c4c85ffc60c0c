"""Run functions in turn, and measure their times."""

import statistics
import time
from collections.abc import Callable, Mapping

import torch


def turns(
    functions: Mapping[str, Callable[[], object]], seconds: float = 6.0, least: int = 7
) -> dict[str, list[float]]:
    """Let functions take turns; return each run's time in seconds, without the warm-up run."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < least or time.perf_counter() < end:
        for name, function in functions.items():
            synchronize()
            start = time.perf_counter()
            function()
            synchronize()
            found[name].append(time.perf_counter() - start)
        rounds += 1
    return {name: runs[1:] for name, runs in found.items()}


def synchronize() -> None:
    """Wait for the GPU if there is one, because its work continues after a call returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def ratio(runs: list[float], floor: list[float]) -> str:
    """The runs' time relative to the floor's: the ratio of the medians (and of the minima)."""
    middle = statistics.median(runs) / statistics.median(floor)
    return f"{middle:5.2f} ({min(runs) / min(floor):4.2f})"
