"""How much longer do many heads take than one? `make bench` prints a table.

Parameters and matrix products are the same for any number of heads. Each row is the time of a
layer's forward pass for 1, 2, 4, 8, 16 heads, in times of one head: with the book's attention, and
with the two products alone, without scale and softmax. Nothing is asserted: times belong to a
machine.
"""

import statistics
import time

import torch
from attention import synchronise
from torch import Tensor

from attnbook import MultiHeadAttention, device, scaled_dot_product_attention

HEADS = (1, 2, 4, 8, 16)
SIZES = ((64, 128), (64, 512), (512, 512))  # width, length
SECONDS = 3.0  # for each row


def products(
    query: Tensor, key: Tensor, value: Tensor, mask: None = None, bias: None = None
) -> tuple[Tensor, Tensor]:
    """The two matrix products of attention and nothing else."""
    scores = query @ key.mT
    return scores @ value, scores


def main() -> None:
    """Print the table."""
    where = device()
    torch.manual_seed(0)
    print(f"{where.type}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}")
    print("time of a layer / its time with one head, medians, for", *HEADS, "heads\n")
    for d_model, length in SIZES:
        x = torch.randn(1, length, d_model).to(where)
        for name, attend in (("whole", scaled_dot_product_attention), ("products", products)):
            layers = [MultiHeadAttention(d_model, h, attend=attend).to(where) for h in HEADS]
            times = medians(layers, x)
            ratios = "".join(f"{seconds / times[0]:6.1f}" for seconds in times)
            print(f"D {d_model:3d}  L {length:3d}  {name:8s} {ratios}")


@torch.no_grad()
def medians(layers: list[MultiHeadAttention], x: Tensor) -> list[float]:
    """The median seconds of each layer; they take turns, so that a busy machine slows all."""
    times: list[list[float]] = [[] for _ in layers]
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times[0]) < 5:
        for layer, found in zip(layers, times, strict=True):
            synchronise()
            start = time.perf_counter()
            layer(x)
            synchronise()
            found.append(time.perf_counter() - start)
    return [statistics.median(found[1:]) for found in times]


if __name__ == "__main__":
    main()
