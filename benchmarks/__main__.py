"""What attention costs here: `make bench` prints tables of ratios, and asserts nothing.

Times belong to a machine, not to a test. What is compared takes turns, so that a busy machine slows
all; a ratio is that of the medians, behind it in brackets that of the fastest runs. What is
counted, memory and multiplications, is the same everywhere.

With weights, a large share of the time is fresh memory for them, page by page: compare the same
with THP_MEM_ALLOC_ENABLE=1 before it, which lets PyTorch ask Linux for large pages.
"""

import torch

from attnbook import device
from benchmarks import layers, long


def main() -> None:
    where = device()
    torch.manual_seed(0)
    print(f"{where.type}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}")
    layers.against_pytorch(where)
    layers.many_heads(where)
    long.chunks(where)
    long.growth(where)
    long.decoding(where)
    long.shared_heads(where)


if __name__ == "__main__":
    main()
