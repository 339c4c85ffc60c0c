"""Which device the tests compute on, and how they share the cores.

ATTNBOOK_DEVICE is cpu, the default, or cuda. On CUDA each notebook has one test more, after its
last cell: that it did use the GPU. With ATTNBOOK_REHEARSAL=1 besides, the CPU plays the GPU. With
--again each section of a notebook runs once more, in the kernel that has run them all.

`make test` runs a worker for each core and one more (pytest-xdist), each with one thread. A file's
tests, and a notebook's cells, stay together.
"""

import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbval.kernel
import pytest
import torch
from jupyter_client.manager import KernelManager
from nbval.plugin import IPyNbCell, IPyNbFile

from tools.again import sections
from tools.common import ROOT

REHEARSAL = (
    f"import sys; sys.path.append({str(ROOT)!r}); "
    "from tests.support import rehearsal; rehearsal.start()"
)
ALLOCATED = "__import__('torch').cuda.memory_stats().get('allocation.all.allocated', 0)"
SECONDS = 120  # for a kernel to say something, on a machine that has other things to do

pytest.register_assert_rewrite("tests.support")  # before anything imports them
if "PYTEST_XDIST_WORKER" in os.environ:  # the other cores are busy with the other workers
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for kernels and other processes
    torch.set_num_threads(1)
os.environ["ATTNBOOK_DEVICE"] = os.environ.get("ATTNBOOK_DEVICE") or "cpu"
on_cpu = os.environ["ATTNBOOK_DEVICE"] == "cpu"
rehearsed = os.environ.get("ATTNBOOK_REHEARSAL") == "1"
if os.name != "nt":  # two kernels that start at the same time may get the same port, but no socket
    sockets = tempfile.TemporaryDirectory()
    nbval.kernel.KernelManager = functools.partial(
        KernelManager, transport="ipc", ip=f"{sockets.name}/kernel"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Whether to run each section of a notebook again: `make nbval` does."""
    parser.addoption("--again", action="store_true", help="with --nbval: each section once more")


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores, since some wait for a kernel or a browser."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Stop at once where there is no such device; else let notebooks and exercises use it."""
    config.addinivalue_line("markers", "on_cpu: it speaks of the CPU, and never runs on a GPU")
    if rehearsed:
        from tests.support import rehearsal

        rehearsal.start()
    import attnbook  # only now: the rehearsal changes PyTorch

    try:
        attnbook.device()
    except (ValueError, RuntimeError) as error:
        pytest.exit(f"{error} (PyTorch {torch.__version__})", returncode=1)


class Proof(pytest.Item):
    """After the cells of a notebook: its kernel did put tensors on the GPU."""

    def runtest(self) -> None:
        """Ask the kernel, which is still running."""
        used = ask(self.parent, ALLOCATED)
        assert used, f"{self.path.name} put no tensor on the GPU: it has to use device()"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Its name in a list of failures."""
        return self.path, 0, f"{self.path.name}: on the GPU"


def ask(notebook: IPyNbFile, expression: str, code: str = "") -> int:
    """Run a line in the kernel of a notebook, and return the value of an expression."""
    reply = notebook.kernel.kc.execute_interactive(
        code, silent=True, user_expressions={"it": expression}, timeout=SECONDS
    )
    answer = reply["content"]["user_expressions"]["it"]
    assert answer["status"] == "ok", answer
    return int(answer["data"]["text/plain"])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    """Expect of each picture the text that a kernel gives it, and add what follows the cells.

    In the file its description stands there: see `describe_pictures` in tools/run.py.
    """
    from attnbook.figures.canvas import PICTURE

    report = yield
    if isinstance(collector, IPyNbFile) and report.result:
        if collector.config.option.again:
            report.result += list(again(collector, report.result))
        for cell in report.result:
            cell.output_timeout = SECONDS
            for output in cell.cell.outputs:
                if "image/svg+xml" in output.get("data", {}):
                    output.data["text/plain"] = PICTURE
        if not on_cpu:
            report.result.append(Proof.from_parent(collector, name="on the GPU"))
    return report


def again(notebook: IPyNbFile, cells: list[IPyNbCell]) -> Iterator[IPyNbCell]:
    """Each section of a notebook once more, the last one first, with the outputs that it had.

    So a section finds what later ones have left behind: other values, another default type, other
    random numbers. Whether names alone would trouble another order is a rule of `make check`.
    """
    first = {id(item.cell): item for item in cells}
    for section in reversed(sections(notebook.nb.cells)[1:]):
        for cell in section.cells:
            item = first[id(cell)]
            same = {"cell_num": item.cell_num, "cell": cell, "options": item.options}
            name = f"{item.name}, again with section {section.number}"
            yield IPyNbCell.from_parent(notebook, name=name, **same)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item):
    """In a rehearsal, let a notebook's kernel play the GPU before its first cell."""
    result = yield
    notebook = item.parent
    if rehearsed and isinstance(notebook, IPyNbFile) and item.name == "Cell 0":
        ask(notebook, "1", REHEARSAL)
    return result


def pytest_report_header() -> str:
    """The device, by name."""
    if on_cpu:
        return "device: CPU"
    return f"device: {torch.cuda.get_device_name()}, torch {torch.__version__}"
