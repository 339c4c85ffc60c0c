"""Which device the tests run on, and how they share the cores.

ATTNBOOK_DEVICE is cpu (the default) or cuda. On CUDA, each notebook gets one more test after its
last cell, which checks that the notebook used the GPU. With ATTNBOOK_REHEARSAL=1 as well, the CPU
simulates the GPU. Where the model MiniLM is not installed, the sections that read it are skipped.
With --rerun-sections, each section of a notebook runs a second time, in the kernel that has already
run the whole notebook. With --skip-unchanged, notebooks are skipped that `make validate` compared
with the same versions, if nothing that they depend on has changed: see tools/unchanged.py.

`make test` starts one pytest-xdist worker per core and one more, each with one thread. The tests of
a file run on the same worker, and so do the cells of a notebook.
"""

import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

os.environ["ATTNBOOK_LANGUAGE"] = "en"  # also in kernels; set before anything reads it
import nbval.kernel
import pytest
import torch
from jupyter_client.manager import KernelManager
from nbval.plugin import IPyNbCell, IPyNbFile

from manuscript.common import ROOT
from manuscript.rerun_sections import minilm_cells, sections
from tools.unchanged import unchanged_notebooks

REHEARSAL = (
    f"import sys; sys.path.append({str(ROOT)!r}); "
    "from tests.support import rehearsal; rehearsal.start()"
)
ALLOCATED = "__import__('torch').cuda.memory_stats().get('allocation.all.allocated', 0)"
SECONDS = 120  # a kernel has to answer within this time, even on a busy machine

pytest.register_assert_rewrite("tests.support")  # before anything imports its modules
if "PYTEST_XDIST_WORKER" in os.environ:  # the other workers use the other cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for kernels and other processes
    torch.set_num_threads(1)
os.environ["ATTNBOOK_DEVICE"] = os.environ.get("ATTNBOOK_DEVICE") or "cpu"
on_cpu = os.environ["ATTNBOOK_DEVICE"] == "cpu"
rehearsed = os.environ.get("ATTNBOOK_REHEARSAL") == "1"
if os.name != "nt":  # two kernels that start at once may get the same port, but not the same socket
    sockets = tempfile.TemporaryDirectory()
    nbval.kernel.KernelManager = functools.partial(
        KernelManager, transport="ipc", ip=f"{sockets.name}/kernel"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that `make nbval` and `make test` use."""
    for name, what in (
        ("--rerun-sections", "run each section a second time"),
        ("--skip-unchanged", "skip notebooks that are what make validate compared"),
    ):
        parser.addoption(name, action="store_true", help=f"with --nbval: {what}")


@functools.cache
def unchanged() -> tuple[str, set[Path]]:
    """Return the commit that was validated with these versions, and what has not changed since."""
    return unchanged_notebooks()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip unchanged notebooks, with the option."""
    if not config.option.skip_unchanged or collection_path.suffix != ".ipynb":
        return None
    return collection_path in unchanged()[1] or None


def pytest_xdist_auto_num_workers() -> int:
    """Start one more worker than there are cores, because some wait for a kernel or a browser."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, start any rehearsal, and stop at once if the device is missing."""
    config.addinivalue_line("markers", "on_cpu: the test is about the CPU and never runs on a GPU")
    config.addinivalue_line("markers", "claim: the test tries statements of a summary")
    if rehearsed:
        from tests.support import rehearsal

        rehearsal.start()
    import attnbook  # only now, because the rehearsal changes PyTorch

    try:
        attnbook.device()
    except (ValueError, RuntimeError) as error:
        pytest.exit(f"{error} (PyTorch {torch.__version__})", returncode=1)


class GpuWasUsed(pytest.Item):
    """Check, after the cells of a notebook, that its kernel has put tensors on the GPU."""

    def runtest(self) -> None:
        """Ask the kernel, which is still running."""
        used = evaluate(self.parent, ALLOCATED)
        assert used, f"{self.path.name} put no tensor on the GPU: it has to use device()"

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the name to show in a list of failures."""
        return self.path, 0, f"{self.path.name}: on the GPU"


def evaluate(notebook: IPyNbFile, expression: str, code: str = "") -> int:
    """Run code in the kernel of a notebook, then return the value of an expression."""
    reply = notebook.kernel.kc.execute_interactive(
        code, silent=True, user_expressions={"it": expression}, timeout=SECONDS
    )
    answer = reply["content"]["user_expressions"]["it"]
    assert answer["status"] == "ok", answer
    return int(answer["data"]["text/plain"])


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    """For each picture, expect the text that a kernel prints; add more tests after the cells.

    The notebook's file has the picture's description in place of that text: see `describe_pictures`
    in manuscript/normal_form.py.
    """
    from attnbook.figures.canvas import PICTURE
    from attnbook.pretrained.minilm import minilm_archive
    from tests.support.minilm import NO_MINILM

    report = yield
    if isinstance(collector, IPyNbFile) and report.result:
        if collector.config.option.rerun_sections:
            report.result += list(second_runs(collector, report.result))
        skipped = [] if minilm_archive() else minilm_cells(collector.nb.cells)
        for cell in report.result:
            if any(cell.cell is each for each in skipped):
                cell.add_marker(pytest.mark.skip(reason=NO_MINILM))
            cell.output_timeout = SECONDS
            for output in cell.cell.outputs:
                if "image/svg+xml" in output.get("data", {}):
                    output.data["text/plain"] = PICTURE
        if not on_cpu:
            report.result.append(GpuWasUsed.from_parent(collector, name="on the GPU"))
    return report


def second_runs(notebook: IPyNbFile, cells: list[IPyNbCell]) -> Iterator[IPyNbCell]:
    """Yield the cells of each section a second time, the last section first.

    They have to print what they printed the first time, although later sections have run since and
    may have changed a value, the default dtype or the state of the random number generator.
    A rule of `make check` finds names that could have a wrong value if the order is different.
    """
    first_runs = {id(item.cell): item for item in cells}
    for section in reversed(sections(notebook.nb.cells)[1:]):
        for cell in section.cells:
            item = first_runs[id(cell)]
            same = {"cell_num": item.cell_num, "cell": cell, "options": item.options}
            name = f"{item.name}, again with section {section.number}"
            yield IPyNbCell.from_parent(notebook, name=name, **same)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item):
    """In a rehearsal, make a notebook's kernel simulate the GPU before its first cell."""
    result = yield
    notebook = item.parent
    if rehearsed and isinstance(notebook, IPyNbFile) and item.name == "Cell 0":
        evaluate(notebook, "1", REHEARSAL)
    return result


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the device, and the notebooks that are skipped."""
    gpu = "" if on_cpu else f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    lines = [f"device: {gpu or 'CPU'}"]
    if config.option.skip_unchanged:
        commit, skipped = unchanged()
        names = ", ".join(sorted(path.stem for path in skipped))
        listed = f"{names} (commit {commit})" if names else "none"
        lines.append(f"notebooks unchanged since they were validated: {listed}")
    return lines
