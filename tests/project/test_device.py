"""The switch to a GPU: refused at once without a GPU, and verified with one.

Each case needs a process of its own, since a rehearsal changes PyTorch for good.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import validate
from tools.common import ROOT


def run(*command: str, device: str, rehearsal: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python with a device, as on a machine without a visible GPU."""
    variables = {"ATTNBOOK_DEVICE": device, "ATTNBOOK_REHEARSAL": rehearsal}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **variables, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )


def test_a_gpu_that_is_not_there_is_refused_in_one_line() -> None:
    done = run("-m", "pytest", "-p", "no:cacheprovider", "book", device="cuda")
    assert done.returncode == 1
    (line,) = (done.stdout + done.stderr).strip().splitlines()
    assert re.search(r"='cuda', but PyTorch finds no CUDA device \(PyTorch \d", line)


def write(path: Path, code: str, printed: str) -> None:
    """Write a notebook of two cells, the second with its output."""
    imports = new_code_cell("import torch\nfrom attnbook import device", execution_count=1)
    output = new_output("stream", name="stdout", text=printed)
    cell = new_code_cell(code, execution_count=2, outputs=[output])
    nbformat.write(new_notebook(cells=[imports, cell]), path)


def test_each_notebook_has_to_use_the_gpu_and_is_counted(folder: Path) -> None:
    write(folder / "moves.ipynb", "print(torch.ones(3).to(device()).sum().item())", "3.0\n")
    write(folder / "stays.ipynb", "print(torch.ones(3).sum().item())", "3.0\n")
    skipped = "@__import__('pytest').mark.skip\ndef test_elsewhere(): pass\n"
    (folder / "test_small.py").write_text(f"def test_it(): pass\n{skipped}")
    report = folder / "report.xml"
    command = [*validate.PYTEST[1:], "-p", "no:cacheprovider", f"--junitxml={report}"]
    printed = run(*command, str(folder), device="cuda", rehearsal="1").stdout
    assert "stays.ipynb put no tensor on the GPU: it has to use device()" in printed
    assert "1 failed, 6 passed, 1 skipped" in printed
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

SCRIPT = """
import sys
from tests.support import rehearsal
rehearsal.start()
import numpy, torch, torch.nn.functional as F
for line in sys.argv[1:]:
    gpu = torch.rand(3).to("cuda")
    try:
        exec(line)
        print()
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0])
torch.manual_seed(0)
a, b = torch.randn(2, 40, 40)
for line in ROUNDED:
    here, moved = eval(line), eval(line, {"a": a.to("cuda"), "b": b.to("cuda")}).cpu()
    torch.testing.assert_close(moved, here)
    print(torch.equal(moved, here))
"""


def test_a_rehearsal_raises_the_errors_of_a_gpu_and_rounds_differently() -> None:
    script = SCRIPT.replace("ROUNDED", repr(ROUNDED))
    done = run("-c", script, *REFUSED, *ALLOWED, device="cpu")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    refused, rest = dict(zip(REFUSED, lines, strict=False)), lines[len(REFUSED) :]
    assert {line: said for line, said in refused.items() if REFUSED[line] not in said} == {}
    allowed = dict(zip(ALLOWED, rest, strict=False))
    assert {line: said for line, said in allowed.items() if said} == {}
    assert rest[len(ALLOWED) :] == ["False"] * len(ROUNDED)
