"""The cost of a computation: its multiplications, its memory, and its time on this machine."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm"}
FUSED = "_scaled_dot_product"  # the names of PyTorch's fused attention kernels begin with this


class Cost(NamedTuple):
    """The multiplications and the peak memory of a computation."""

    multiplications: int  # in matrix products
    megabytes: float  # of new tensors, at the peak


def cost(compute: Callable[[], object]) -> Cost:
    """Call `compute()`, count the multiplications of its matrix products, and find its peak memory.

    Memory includes every tensor that the call creates, among them its results and what is saved for
    a backward pass, but neither earlier tensors nor what a kernel allocates internally. A fused
    kernel counts in full, even if it skips what a causal mask hides.

    Returns: multiplications, and the peak memory in millions of bytes
    """
    with _Counter() as counter:
        compute()
    return Cost(counter.multiplications, counter.peak / 1e6)


def seconds(compute: Callable[[], object]) -> float:
    """The time of the fastest of three runs, in seconds; it differs from machine to machine."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        compute()
        if torch.cuda.is_available():
            torch.cuda.synchronize()  # a GPU keeps working after the call returns
        times.append(time.perf_counter() - start)
    return min(times)


class _Counter(TorchDispatchMode):
    """Counts multiplications in matrix products and tracks memory, also in a backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.multiplications = self.peak = 0
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        inputs = [x for x in tree_leaves(args) if isinstance(x, Tensor)]
        self._track(inputs, new=False)
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in PRODUCTS:
            left, right = inputs[-2:]
            self.multiplications += left.numel() * right.size(-1)
        elif name.startswith(FUSED) and not name.endswith("backward"):
            query, key, value = inputs[:3]
            pairs = query.numel() // query.size(-1) * key.size(-2)
            self.multiplications += pairs * (query.size(-1) + value.size(-1))
        self._track([x for x in tree_leaves(out) if isinstance(x, Tensor)], new=True)
        return out

    def _track(self, tensors: list[Tensor], *, new: bool) -> None:
        """Drop freed storages, and add these tensors' storages; old tensors count as 0 bytes."""
        self.alive = {k: entry for k, entry in self.alive.items() if not entry[0].expired()}
        for x in tensors:
            storage = x.untyped_storage()
            size = storage.nbytes() if new else 0
            self.alive.setdefault(storage._cdata, (StorageWeakRef(storage), size))
        self.peak = max(self.peak, sum(size for _, size in self.alive.values()))
