"""What attention costs in time. `make bench` prints two tables of ratios.

The first has the median of our `scaled_dot_product_attention`, which also returns the weights,
against that of `F.scaled_dot_product_attention`, which never writes them down. The second has
layers of many heads against a layer of one: their parameters and matrix products are the same, and
their time is not; with the two products alone, and with scale and softmax. What is compared takes
turns, so that a busy machine slows all. Nothing is asserted: times belong to a machine, not to a
test.
"""

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook import MultiHeadAttention, causal_mask, device, scaled_dot_product_attention

SHAPES = (  # batch, heads, length, width of a head
    (1, 1, 6, 24),
    (8, 8, 64, 64),
    (4, 8, 256, 64),
    (1, 8, 1024, 64),
    (1, 8, 2048, 64),
)
HEADS = (1, 2, 4, 8, 16)
SIZES = ((64, 128), (64, 512), (512, 512))  # width of the model, length
SECONDS = 0.5  # for each comparison


def main() -> None:
    """Print the tables."""
    where = device()
    torch.manual_seed(0)
    print(f"{where.type}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}")
    print("time of ours / time of PyTorch's, medians; ms is PyTorch's forward\n")
    print("  B  H     L   D  mask        ms  forward  with backward")
    for shape in SHAPES:
        for masked in (False, True):
            query, key, value = (torch.randn(shape).to(where).requires_grad_() for _ in range(3))
            mask = causal_mask(shape[2]).to(where) if masked else None

            def ours(q=query, k=key, v=value, m=mask) -> Tensor:
                return scaled_dot_product_attention(q, k, v, m)[0]

            def theirs(q=query, k=key, v=value, m=mask) -> Tensor:
                return F.scaled_dot_product_attention(q, k, v, m)

            forward = medians(theirs, ours)
            backward = medians(lambda: theirs().sum().backward(), lambda: ours().sum().backward())
            b, h, length, d = shape
            print(
                f"{b:3d} {h:2d} {length:5d} {d:3d}  {'causal' if masked else 'none':6s} "
                f"{1e3 * forward[0]:7.2f} {ratios(forward):>8s} {ratios(backward):>14s}"
            )
    print("\ntime of a layer's forward / its time with one head, for", *HEADS, "heads\n")
    for d_model, length in SIZES:
        x = torch.randn(1, length, d_model).to(where)
        for name, attend in (("whole", scaled_dot_product_attention), ("products", products)):
            layers = [MultiHeadAttention(d_model, h, attend=attend).to(where) for h in HEADS]
            with torch.no_grad():
                times = medians(*(lambda layer=layer, x=x: layer(x) for layer in layers))
            print(f"D {d_model:3d}  L {length:3d}  {name:8s}  1.00 {ratios(times)}")


def products(
    query: Tensor, key: Tensor, value: Tensor, mask: None, bias: None
) -> tuple[Tensor, Tensor]:
    """The two matrix products of attention and nothing else."""
    scores = query @ key.mT
    return scores @ value, scores


def medians(*functions: Callable[[], object]) -> list[float]:
    """The median seconds of some functions that take turns, after a warm-up."""
    times: list[list[float]] = [[] for _ in functions]
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times[0]) < 5:
        for function, found in zip(functions, times, strict=True):
            synchronise()
            start = time.perf_counter()
            function()
            synchronise()
            found.append(time.perf_counter() - start)
    return [statistics.median(found[1:]) for found in times]


def synchronise() -> None:
    """Wait for the GPU where there is one: its work goes on after a call returns."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def ratios(seconds: list[float]) -> str:
    """How many times longer than the first the others took."""
    return " ".join(f"{second / seconds[0]:5.2f}" for second in seconds[1:])


if __name__ == "__main__":
    main()
