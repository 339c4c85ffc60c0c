"""What a computation costs: counted, which is the same on every machine, or timed on this one."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm"}
FUSED = "_scaled_dot_product"  # PyTorch's kernels begin with this, one for each sort of machine


class Cost(NamedTuple):
    """What was counted."""

    multiplications: int  # in matrix products
    megabytes: float  # of the tensors that were made, at the moment when most were there


def cost(compute: Callable[[], object]) -> Cost:
    """Run it, and count the multiplications of its matrix products and the memory it needs.

    Memory is that of every tensor made on the way, results and what is kept for a backward pass
    included; tensors that were there before are not counted, nor what a kernel uses inside.

    Returns: multiplications, and millions of bytes at the highest moment
    """
    with _Counter() as counter:
        compute()
    return Cost(counter.multiplications, counter.highest / 1e6)


def seconds(compute: Callable[[], object], runs: int = 3) -> float:
    """The time of the fastest of some runs on this machine. No two machines agree on it."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        compute()
        if torch.cuda.is_available():
            torch.cuda.synchronize()  # a GPU goes on working after the call returns
        found.append(time.perf_counter() - start)
    return min(found)


class _Counter(TorchDispatchMode):
    """Sees every operation on tensors, also those of a backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.multiplications = self.highest = 0
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        given = [x for x in tree_leaves(args) if isinstance(x, Tensor)]
        self._note(given, ours=False)
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in PRODUCTS:
            left, right = given[-2:]
            self.multiplications += left.numel() * right.size(-1)
        elif name.startswith(FUSED) and not name.endswith("backward"):
            query, key, value = given[:3]
            pairs = query.numel() // query.size(-1) * key.size(-2)
            self.multiplications += pairs * (query.size(-1) + value.size(-1))
        self._note([x for x in tree_leaves(out) if isinstance(x, Tensor)], ours=True)
        return out

    def _note(self, tensors: list[Tensor], *, ours: bool) -> None:
        """Forget what is gone, and add what is new."""
        self.alive = {k: held for k, held in self.alive.items() if not held[0].expired()}
        for x in tensors:
            storage = x.untyped_storage()
            size = storage.nbytes() if ours else 0
            self.alive.setdefault(storage._cdata, (StorageWeakRef(storage), size))
        self.highest = max(self.highest, sum(size for _, size in self.alive.values()))
