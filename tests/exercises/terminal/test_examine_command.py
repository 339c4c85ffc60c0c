"""`python -m attnbook examine`: what it builds, what it prints, and its exit status."""

import builtins
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest

from attnbook.__main__ import main as attnbook_main
from attnbook.examination.facts import CHOICES, Facts, meanings
from attnbook.exercises.cards import as_text
from attnbook.exercises.terminal import examine_command
from attnbook.exercises.terminal.commands import main, parser
from attnbook.exercises.terminal.examine_process import examined
from tests.exercises.terminal.example import starts_a_process

LAYERS = """
import math
from torch import nn

class Layer(nn.Module):
    def __init__(self, d_model=16, n_heads=4, size=None):
        super().__init__()
        self.n_heads, self.size = n_heads, size or d_model // n_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
                   for f in (self.q, self.k, self.v))
        scores = q @ k.mT / math.sqrt(self.size)
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class Needy(Layer):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)

class Broken(Layer):
    def forward(self, x):
        return self.q(x) @ x

def make():
    return Layer(16, 4, 16)

ready = Layer(32, 2)
if __name__ == "__main__":
    raise SystemExit("this is a program, too")
"""


@pytest.fixture
def layers(tmp_path, monkeypatch):
    """A file with layers, and what an examination in this process changes undone."""
    for name in ("argv", "path", "dont_write_bytecode"):
        value = getattr(sys, name)
        monkeypatch.setattr(sys, name, list(value) if isinstance(value, list) else value)
    monkeypatch.setattr(sys, "modules", {**sys.modules})
    path = tmp_path / "layers.py"
    path.write_text(LAYERS)
    return path


def text_of(renderable):
    text = as_text.render(as_text.Console(**as_text.SETTINGS, width=100), renderable)
    return " ".join(text.split())


def test_each_fact_is_an_option_and_is_explained():
    assert list(meanings()) == [field.name for field in fields(Facts)]
    line = "examine f.py:x --causal --no-positions --mask keep --mask-shape BL --pad 0 --scale own"
    options = vars(parser().parse_args([*line.split(), "--step", "step"]))
    said = {name: options[name] for name in meanings() if name in options}
    assert said == {
        **{"causal": True, "positions": False, "mask": "keep", "mask_shape": "BL", "pad": 0},
        **{"scale": "own", "step": "step"},
    }
    assert vars(parser().parse_args(["examine", "f.py:x", "--scale", "0.5"]))["scale"] == 0.5


@pytest.mark.parametrize("name", CHOICES)
def test_a_value_that_a_fact_cannot_have_is_refused(name, typed):
    _out, err, code = typed(f"examine f.py:x --{name.replace('_', '-')} no")
    assert code == 2
    assert "invalid choice" in err


@pytest.mark.parametrize(
    ("expression", "code", "message"),
    [
        ("Layer(16, 4)", 0, "Silence proves nothing."),
        ("Layer", 0, "Silence proves nothing."),
        ("ready", 0, "2 heads"),
        ("make", 1, "✗ The scores are divided by √16."),
        ("Layer(16, 4, size=16)", 1, "→ section 3.8, exercise 03.experiment"),
        ("Needy", 2, "Needy(d_model, n_heads)"),
        ("Layr(16, 4)", 2, "layers.py defines no `Layr`. Did you mean `Layer`?"),
        ("Q", 2, "It defines `Layer`, `Needy`, `Broken`, `make`, `ready`."),
        ("Layer(16,", 2, "`Layer(16,` is neither a name nor a call"),
        ("Layer(16, 0)", 2, "self.n_heads, self.size = n_heads, size or d_model // n_heads"),
        ("Broken(16, 4)", 2, "return self.q(x) @ x"),
        ("math.pi", 2, "float cannot be called"),
    ],
)
def test_what_an_expression_names_is_built_and_examined(expression, code, message, layers):
    found, output = examined(layers, expression, "layer", {"causal": False})
    assert message in text_of(output)
    assert found == code


def test_a_file_in_a_package_imports_its_neighbors(layers):
    (layers.parent / "__init__.py").write_text("")
    other = layers.parent / "other.py"
    other.write_text("from .layers import make\n")
    assert examined(other, "make", "layer", {"causal": False})[0] == 1
    assert not list(layers.parent.glob("__pycache__"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = (", "layers.py is not valid Python yet"),
        ("import nothing_of_this_name", "line 1 import nothing_of_this_name"),
        ("raise SystemExit(0)", 'under `if __name__ == "__main__":`'),
        ("import sys; sys.exit(3)", "layers.py ended Python (exit code 3)"),
        ("raise MemoryError", "layers.py needs more memory than it may use"),
    ],
)
def test_a_file_that_cannot_be_imported_is_not_examined(source, message, layers):
    layers.write_text(source)
    code, output = examined(layers, "Layer", "layer", {})
    assert message in text_of(output)
    assert code == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("examine nowhere.py:Layer", "nowhere.py: No such file"),
        ("examine layers.py", "name a file and what to examine in it"),
        ("examine layers.py:Layer --kind head", "invalid choice: 'head'"),
        ("examine layers.py:Layer --causal true", "attnbook examine -h lists the options"),
    ],
)
def test_an_error_in_the_command_is_one_line(line, message, typed):
    out, err, code = typed(line)
    assert (out, code) == ("", 2)
    assert message in err
    assert err.count("\n") == 1


@starts_a_process
def test_the_file_runs_in_a_process_of_its_own(layers, capfd):
    assert main(["examine", f"{layers}:make", "--kind", "layer"]) == 1
    output = capfd.readouterr()
    assert "✗ The scores are divided by √16." in re.sub(r"\n +", " ", output.out)
    assert "I take it that every row may see every row" in output.out
    assert output.err == ""
    assert not Path(layers.parent, "__pycache__").exists()


@starts_a_process
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import os; os._exit(0)", "layers.py ended Python (exit code 0)"),
        ("while True: pass", "line 1   while True: pass"),
    ],
)
def test_a_file_that_crashes_or_never_ends_is_not_examined(
    source, message, layers, capfd, monkeypatch
):
    monkeypatch.setattr(examine_command, "SECONDS", 1.0)
    layers.write_text(source)
    assert main(["examine", f"{layers}:Layer"]) == 2
    output = capfd.readouterr()
    assert message in output.out
    assert output.err == ""


@starts_a_process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_a_file_that_fills_the_memory_is_not_examined(layers, capfd, monkeypatch):
    monkeypatch.setattr(examine_command, "GIGABYTES", 0.5)
    layers.write_text("import torch\nx = torch.ones(2**28)\n")
    assert main(["examine", f"{layers}:x"]) == 2
    assert "layers.py needs more memory than it may use" in capfd.readouterr().out


@starts_a_process
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C sends no signal there")
def test_ctrl_c_ends_the_command_and_all_that_the_file_started(layers):
    pids = layers.with_name("pids")
    layers.write_text(
        "import os, subprocess, time\n"
        "started = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pids) + '.part'!r}, 'w').write(f'{{os.getpid()}} {{started.pid}}')\n"
        f"os.replace({str(pids) + '.part'!r}, {str(pids)!r})\n"
        "time.sleep(600)\n"
    )
    command = subprocess.Popen(
        [sys.executable, "-m", "attnbook", "examine", f"{layers}:Layer"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # a shell that runs the tests in the background would make it ignore Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while not pids.exists():
            assert command.poll() is None
            time.sleep(0.05)
        command.send_signal(signal.SIGINT)
        assert command.wait(120) == 130
        for pid in map(int, pids.read_text().split()):
            assert not is_alive(pid)
    finally:
        command.kill()
        for pid in map(int, pids.read_text().split() if pids.exists() else ()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert command.communicate()[0] == b""


def is_alive(pid):
    """Whether a process runs; one that has ended may still wait to be asked for its status."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or ") Z" not in status.read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_ctrl_c_while_the_commands_are_loading_prints_no_traceback(monkeypatch):
    def interrupted(name, *arguments):
        if name.startswith("attnbook"):
            raise KeyboardInterrupt
        return usual(name, *arguments)

    usual = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert attnbook_main() == 130
