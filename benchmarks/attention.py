"""How much slower is the book's attention than PyTorch's? `make bench` prints a table.

Each row is the ratio of two medians: our `scaled_dot_product_attention`, which also returns the
weights, against `F.scaled_dot_product_attention`, which never writes them down. The two take turns,
so that a busy machine slows both. Nothing is asserted: times belong to a machine, not to a test.
"""

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from attnbook import causal_mask, device, scaled_dot_product_attention

SHAPES = (  # batch, heads, length, width of a head
    (1, 1, 6, 24),
    (8, 8, 64, 64),
    (4, 8, 256, 64),
    (1, 8, 1024, 64),
    (1, 8, 2048, 64),
)
SECONDS = 0.5  # for each row and direction


def main() -> None:
    """Print the table."""
    where = device()
    torch.manual_seed(0)
    print(f"{where.type}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}")
    print("time of ours / time of PyTorch's, medians; ms is PyTorch's forward\n")
    print("  B  H     L   D  mask        ms  forward  with backward")
    for shape in SHAPES:
        for masked in (False, True):
            query, key, value = (torch.randn(shape).to(where).requires_grad_() for _ in range(3))
            mask = causal_mask(shape[2]).to(where) if masked else None

            def ours(q=query, k=key, v=value, m=mask) -> torch.Tensor:
                return scaled_dot_product_attention(q, k, v, m)[0]

            def theirs(q=query, k=key, v=value, m=mask) -> torch.Tensor:
                return F.scaled_dot_product_attention(q, k, v, m)

            forward = medians(ours, theirs)
            backward = medians(lambda: ours().sum().backward(), lambda: theirs().sum().backward())
            b, h, length, d = shape
            print(
                f"{b:3d} {h:2d} {length:5d} {d:3d}  {'causal' if masked else 'none':6s} "
                f"{1e3 * forward[1]:7.2f} {ratio(forward):8.2f} {ratio(backward):14.2f}"
            )


def medians(one: Callable[[], object], two: Callable[[], object]) -> tuple[float, float]:
    """The median seconds of two functions that take turns, after a warm-up."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times[0]) < 5:
        for function, found in zip((one, two), times, strict=True):
            synchronise()
            start = time.perf_counter()
            function()
            synchronise()
            found.append(time.perf_counter() - start)
    return statistics.median(times[0][1:]), statistics.median(times[1][1:])


def synchronise() -> None:
    """Wait for the GPU where there is one: its work goes on after a call returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def ratio(seconds: tuple[float, float]) -> float:
    """How many times longer the first took."""
    return seconds[0] / seconds[1]


if __name__ == "__main__":
    main()
