"""What attention costs on this machine: `make bench` prints tables of ratios; it asserts nothing.

Times depend on the machine, so no test checks them. Functions that are compared take turns, so that
a busy machine slows all of them equally. A ratio compares the medians; the one in parentheses
compares the fastest runs. Memory and multiplications are counted, and are the same everywhere.

When weights are returned, much of the time is spent allocating memory for them page by page. To see
this, set THP_MEM_ALLOC_ENABLE=1, which makes PyTorch ask Linux for large pages.
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
