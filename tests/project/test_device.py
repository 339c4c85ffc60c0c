"""The switch to a GPU: refused at once where there is none, and proved where there is one.

What a rehearsal must refuse is tried in a process of its own, since it changes PyTorch for good.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.common import ROOT


def run(*command: str, device: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run this Python with a device asked for, on a machine that shows no GPU."""
    environment = {**os.environ, "ATTNBOOK_DEVICE": device, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("device", "says"),
    [("cuda", r"DEVICE=cuda, but PyTorch \S+ sees no CUDA"), ("tpu", "DEVICE=tpu: it must be cpu")],
)
def test_a_device_that_is_not_there_is_refused_in_one_line(device: str, says: str) -> None:
    nbval = ["-m", "pytest", "--nbval", "-p", "no:cacheprovider", "book"]
    for command in ["tools/device.py"], nbval:
        done = run(*command, device=device)
        assert done.returncode == 1
        (line,) = (done.stdout + done.stderr).strip().splitlines()
        assert re.search(says, line)


@pytest.mark.parametrize("device", ["cpu", "rehearsal"])
def test_a_device_that_is_there_is_not_spoken_of(device: str) -> None:
    done = run("tools/device.py", device=device)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A place under the project, so that its conftest.py is in force."""
    path = ROOT / "_build" / f"device-{os.getpid()}"
    path.mkdir(parents=True)
    yield path
    shutil.rmtree(path)


def validate(folder: Path, *cells: tuple[str, str], device: str) -> str:
    """Let nbval run a notebook of these cells, each with what it prints; its last words."""
    notebook = new_notebook()
    for count, (source, printed) in enumerate(cells, start=1):
        output = [new_output("stream", name="stdout", text=printed)] if printed else []
        notebook.cells.append(new_code_cell(source, execution_count=count, outputs=output))
    nbformat.write(notebook, folder / "small.ipynb")
    command = ["-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider", "-q"]
    return run(*command, str(folder), device=device).stdout


IMPORTS = "import torch\nfrom attnbook import device", ""
MOVES = "x = torch.ones(3).to(device())\nprint(x.sum().item(), x.device.type == device().type)"


def test_a_notebook_on_the_gpu_is_proved_to_use_it(folder: Path) -> None:
    said = validate(folder, IMPORTS, (MOVES, "3.0 True\n"), device="rehearsal")
    assert re.search(r"tensors on the GPU.*\n +[1-9]\d*  small.ipynb\n3 passed", said), said


def test_a_notebook_that_stays_on_the_cpu_is_found_out(folder: Path) -> None:
    said = validate(
        folder, IMPORTS, ("print(torch.ones(3).sum().item())", "3.0\n"), device="rehearsal"
    )
    assert "small.ipynb put no tensor on the GPU: it has to use device()" in said
    assert "1 failed, 2 passed" in said


def test_on_a_cpu_nothing_is_asked(folder: Path) -> None:
    said = validate(folder, IMPORTS, (MOVES, "3.0 True\n"), device="cpu")
    assert "2 passed" in said
    assert "GPU" not in said


REFUSED = {
    "two devices": ("gpu + torch.ones(3)", "RuntimeError: Expected all tensors to be on the same"),
    "the other way": (
        "torch.ones(3) * gpu",
        "RuntimeError: Expected all tensors to be on the same",
    ),
    "a layer left behind": ("torch.nn.Linear(3, 2)(gpu)", "RuntimeError: Expected all tensors"),
    "a mask left behind": ("gpu.masked_fill(torch.ones(3) > 0, 0)", "RuntimeError: Expected all"),
    "an index on the GPU": ("torch.ones(3)[gpu.long()]", "RuntimeError: Expected all tensors"),
    "NumPy": ("gpu.numpy()", "TypeError: can't convert cuda:0 device type tensor to numpy"),
    "NumPy by itself": ("numpy.asarray(gpu)", "TypeError: can't convert cuda:0 device type"),
    "drawn on the GPU": ("torch.randn(3, device=gpu.device)", "draws on the GPU: draw on the CPU"),
    "drawn in place": ("gpu.normal_()", "draws on the GPU: draw on the CPU"),
    "dropout": ("torch.nn.Dropout()(gpu)", "draws on the GPU: draw on the CPU"),
    "no fixed order": ("gpu.cumsum(0)", "does not have a deterministic implementation"),
    "a loss with classes in the middle": (
        "torch.nn.functional.cross_entropy(gpu.view(1, 3, 1), torch.tensor([[2]]).to('cuda'))",
        "does not have a deterministic implementation",
    ),
    "a median with its place": ("gpu.median(0)", "does not have a deterministic implementation"),
}
ALLOWED = {
    "a number of the CPU": ("gpu * torch.tensor(2.0)", ""),
    "an index of the CPU": ("gpu[torch.tensor([0, 2])]", ""),
    "a copy in place": ("gpu[:] = torch.ones(3)", ""),
    "whole numbers in any order": ("gpu.long().cumsum(0)", ""),
    "back to NumPy": ("gpu.cpu().numpy()", ""),
    "a layer moved": ("torch.nn.Linear(3, 2).to('cuda')(gpu).sum().backward()", ""),
}


@pytest.fixture(scope="module")
def rehearsed() -> dict[str, str]:
    """What each line of code gives in a rehearsal: the error's last line, or nothing."""
    script = "import sys; sys.path.append('tests'); import rehearsal; rehearsal.start()\n"
    script += "import numpy, torch\n"
    for name, (code, _) in {**REFUSED, **ALLOWED}.items():
        script += f"try:\n    gpu = torch.rand(3).to('cuda'); {code}; said = ''\n"
        script += "except Exception as error:\n    said = f'{type(error).__name__}: {error}'\n"
        script += f"print({name!r}, said, sep='|')\n"
    done = run("-c", script, device="cpu")
    assert done.returncode == 0, done.stderr
    return dict(line.split("|", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", REFUSED)
def test_a_rehearsal_refuses_what_a_gpu_refuses(name: str, rehearsed: dict[str, str]) -> None:
    assert REFUSED[name][1] in rehearsed[name]


@pytest.mark.parametrize("name", ALLOWED)
def test_a_rehearsal_allows_what_a_gpu_allows(name: str, rehearsed: dict[str, str]) -> None:
    assert rehearsed[name] == ""


def test_a_rehearsal_rounds_otherwise_and_means_the_same() -> None:
    script = """
import sys; sys.path.append('tests'); import rehearsal; rehearsal.start()
import torch
torch.manual_seed(0)
a, b = torch.randn(2, 40, 40)
c, d = a.to('cuda'), b.to('cuda')
for here, moved in (a @ b, c @ d), (a.sum(0), c.sum(0)), (a.softmax(-1), c.softmax(-1)):
    torch.testing.assert_close(moved.cpu(), here)
    print((moved.cpu() != here).any().item())
"""
    done = run("-c", script, device="cpu")
    assert done.stdout.split() == ["True"] * 3, done.stderr
