"""The switch to a GPU: refused at once if there is none, and verified if there is one.

A rehearsal changes PyTorch for good, so it needs a process of its own.
"""

import os
import re
import subprocess
from pathlib import Path

import nbformat
import numpy
import pytest
import torch
import torch.nn.functional as F
from nbformat.v4 import new_code_cell, new_notebook, new_output

from manuscript.common import ROOT
from tools import validate


def test_a_gpu_that_is_not_there_stops_pytest_with_one_line(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cuda")
    settings = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    monkeypatch.setattr(settings, "rehearsed", False)
    with pytest.raises(pytest.exit.Exception) as stopped:
        settings.pytest_configure(request.config)
    assert re.fullmatch(
        r".*='cuda', but PyTorch finds no CUDA device \(PyTorch \d\S+\)", stopped.value.msg
    )
    assert stopped.value.returncode == 1


def write(path: Path, code: str, printed: str) -> None:
    """Write a notebook of two cells, the second with its output."""
    imports = new_code_cell("import torch\nfrom attnbook import device", execution_count=1)
    output = new_output("stream", name="stdout", text=printed)
    cell = new_code_cell(code, execution_count=2, outputs=[output])
    nbformat.write(new_notebook(cells=[imports, cell]), path)


REHEARSAL = {"ATTNBOOK_DEVICE": "cuda", "ATTNBOOK_REHEARSAL": "1", "CUDA_VISIBLE_DEVICES": ""}
SMALL = """\
import pytest
from tests.project.test_device import follow_the_rules_of_a_gpu as test_rules

@pytest.mark.skip
def test_elsewhere(): pass
"""


def test_a_rehearsal_follows_the_rules_and_each_notebook_has_to_use_the_gpu(folder: Path) -> None:
    write(folder / "moves.ipynb", "print(torch.ones(3).to(device()).sum().item())", "3.0\n")
    write(folder / "stays.ipynb", "print(torch.ones(3).sum().item())", "3.0\n")
    (folder / "test_small.py").write_text(SMALL)
    report = folder / "report.xml"
    one = ["-n", "0", "-p", "no:cacheprovider"]  # no workers, each of which would import PyTorch
    done = subprocess.run(
        [*validate.PYTEST, *one, f"--junitxml={report}", str(folder)],
        cwd=ROOT,
        env={**os.environ, **REHEARSAL},
        capture_output=True,
        text=True,
    )
    assert "stays.ipynb put no tensor on the GPU: it has to use device()" in done.stdout
    assert "1 failed, 6 passed, 1 skipped" in done.stdout, done.stdout
    assert validate.passed_and_all(report) == [(1, 1), (5, 6)]


REFUSED = {
    "gpu + torch.ones(3)": "RuntimeError: Expected all tensors to be on the same device",
    "torch.ones(3) * gpu": "RuntimeError: Expected all tensors to be on the same device",
    "torch.nn.Linear(3, 2)(gpu)": "RuntimeError: Expected all tensors to be on the same device",
    "gpu.masked_fill(torch.ones(3) > 0, 0)": "RuntimeError: Expected all tensors to be on the same",
    "torch.ones(3)[gpu.long()]": "RuntimeError: Expected all tensors to be on the same device",
    "gpu.numpy()": "TypeError: can't convert cuda:0 device type tensor to numpy",
    "numpy.asarray(gpu)": "TypeError: can't convert cuda:0 device type tensor to numpy",
    "torch.randn(3, device=gpu.device)": "draws on the GPU: draw on the CPU",
    "gpu.normal_()": "draws on the GPU: draw on the CPU",
    "torch.nn.Dropout()(gpu)": "draws on the GPU: draw on the CPU",
    "gpu.cumsum(0)": "does not have a deterministic implementation",
    "gpu.median(0)": "does not have a deterministic implementation",
    "F.cross_entropy(gpu.view(1, 3, 1), torch.tensor([[2]]).to('cuda'))": (
        "does not have a deterministic implementation"
    ),
}
ALLOWED = [
    "gpu * torch.tensor(2.0)",
    "gpu[torch.tensor([0, 2])]",
    "gpu[:] = torch.ones(3)",
    "gpu.long().cumsum(0)",
    "gpu.cpu().numpy()",
    "torch.nn.Linear(3, 2).to('cuda')(gpu).sum().backward()",
]
ROUNDED = ["a @ b", "a.sum(0)", "a.softmax(-1)"]  # close to the CPU's result, but not equal


def outcome(line: str) -> str:
    """Run a line of code with a tensor on the GPU; return the error that it raises."""
    names = {"gpu": torch.rand(3).to("cuda"), "torch": torch, "F": F, "numpy": numpy}
    try:
        exec(line, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def follow_the_rules_of_a_gpu() -> None:
    """Check that the simulated GPU raises a GPU's errors, and rounds differently from the CPU."""
    said = {line: outcome(line) for line in [*REFUSED, *ALLOWED]}
    assert {line: said[line] for line in REFUSED if REFUSED[line] not in said[line]} == {}
    assert {line: said[line] for line in ALLOWED if said[line]} == {}
    a, b = torch.randn(2, 40, 40, generator=torch.Generator().manual_seed(0))
    for line in ROUNDED:
        here = eval(line, {"a": a, "b": b})
        moved = eval(line, {"a": a.to("cuda"), "b": b.to("cuda")}).cpu()
        torch.testing.assert_close(moved, here)
        assert not torch.equal(moved, here), line
