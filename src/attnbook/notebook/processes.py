"""Run a function in several processes of this machine, connected by torch.distributed."""

import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import start_processes

# On Linux, one process imports PyTorch, and the others are copies of it. No thread runs in it.
START = "forkserver" if sys.platform == "linux" else "spawn"


class Run(NamedTuple):
    """What a process returned, and how many bytes of tensors it sent to others."""

    result: Any
    sent: int


def in_processes(function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Run]:
    """Call `function(*arguments[rank])` in one new process for each rank.

    The processes form the default group of torch.distributed, with the backend gloo. They find each
    other through a file in a temporary folder, which also holds their arguments and results, and
    they end with the call. Each computes on the CPU with one thread. Python starts new processes by
    importing, so the function has to be in a module, not in a notebook.

    Returns: what each process returned, and the bytes that it sent by `dist.batch_isend_irecv`
    Raises:  an error of torch.multiprocessing that contains the traceback, if a process fails
    """
    with tempfile.TemporaryDirectory() as folder:
        torch.save([tuple(each) for each in arguments], Path(folder, "arguments.pt"))
        multiprocessing.set_forkserver_preload(["torch"])
        start_processes(
            _run, (function, folder, len(arguments)), len(arguments), start_method=START
        )
        files = (Path(folder, f"{rank}.pt") for rank in range(len(arguments)))
        return [Run(*torch.load(file, weights_only=False)) for file in files]


def _run(rank: int, function: Callable[..., Any], folder: str, size: int) -> None:
    """Join the group, call the function, and write its result and the bytes sent."""
    torch.set_num_threads(1)
    sent, start = [0], dist.batch_isend_irecv

    def counted(operations: list[dist.P2POp]) -> list[dist.Work]:
        sent[0] += sum(each.tensor.nbytes for each in operations if each.op is dist.isend)
        return start(operations)

    dist.batch_isend_irecv = counted  # type: ignore[assignment]
    meeting = Path(folder, "meeting").as_uri()
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    try:
        own = torch.load(Path(folder, "arguments.pt"), weights_only=False)[rank]
        torch.save((function(*own), sent[0]), Path(folder, f"{rank}.pt"))
        dist.barrier()  # nobody leaves while another still waits for a message
    finally:
        dist.destroy_process_group()
