"""The training loops take Adam's steps, are reproducible and silent, and can be resumed."""

import io
import os
import sys
from types import SimpleNamespace

import IPython
import pytest
import torch
from torch import nn

from attnbook.training import loop as training
from attnbook.training.loop import lr_scale, train, train_long

X = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TARGET = X @ torch.tensor([[1.0], [-2.0], [0.5]], dtype=torch.float64)


def fresh() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(3, 1, bias=False).double()


def loss(model: nn.Module) -> torch.Tensor:
    return nn.functional.mse_loss(model(X), TARGET)


def test_it_takes_the_steps_of_adam():
    ours, theirs, calls = fresh(), fresh(), []
    losses = train(ours, lambda model: calls.append(1) or loss(model), steps=7, lr=0.05)
    assert len(calls) == 7
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.05)
    expected = []
    for _ in range(7):
        optimizer.zero_grad()
        value = loss(theirs)
        expected.append(value.item())
        value.backward()
        optimizer.step()
    assert losses == expected
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=0, atol=0)


@pytest.mark.on_cpu  # a simulated GPU refuses to draw
@pytest.mark.parametrize("loop", [train, train_long])
def test_it_trains_in_training_mode_and_leaves_the_model_in_it(loop):
    model, modes = nn.Sequential(fresh(), nn.Dropout(0.5)).eval(), []

    def observed(model):
        modes.append([part.training for part in model.modules()])
        return loss(model)

    loop(model, observed, 2, 0.1)
    assert modes == [[True] * 3] * 2
    assert model.training


@pytest.mark.parametrize("loop", [train, train_long])
def test_it_is_silent(capsys, loop):
    loop(fresh(), loss, 2, 0.1)
    assert capsys.readouterr() == ("", "")


# --- the loop with checkpoints


def noisy(model: nn.Module, generator: torch.Generator) -> torch.Tensor:
    """A loss on rows that the generator chooses, with dropout (on the CPU in a rehearsal)."""
    rows = torch.randint(20, (5,), generator=generator)
    at = "cpu" if os.environ.get("ATTNBOOK_REHEARSAL") == "1" else X.device  # the device of dropout
    kept = nn.functional.dropout(X[rows].to(at), 0.3).to(X.device)
    return (model(kept) - TARGET[rows]).square().mean()


def long(model, steps=7, interrupt=None, file=None, **settings):
    """Train with a noisy loss; call number `interrupt` of the loss simulates Ctrl-C."""
    generator = torch.Generator().manual_seed(5)
    calls = []

    def asking(model):
        calls.append(1)
        if len(calls) == interrupt:
            raise KeyboardInterrupt
        return noisy(model, generator)

    return train_long(model, asking, steps, 0.05, generator=generator, file=file, **settings)


@pytest.fixture
def often(monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 3)


def test_the_learning_rate_rises_to_its_maximum_and_falls_toward_0():
    shares = [lr_scale(step, 10, 4) for step in range(10)]
    assert shares[:4] == [0.25, 0.5, 0.75, 1.0]
    assert shares[4:] == pytest.approx([1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert lr_scale(0, 10, 0) == 1.0


def test_the_long_loop_takes_the_steps_of_adam_at_these_rates_with_clipped_gradients():
    ours, theirs = fresh(), fresh()
    losses = train_long(ours, loss, 7, 0.05, warm_up=3, clip=0.1)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.05, betas=(0.9, 0.98))
    for step, before in enumerate(losses):
        optimizer.param_groups[0]["lr"] = 0.05 * lr_scale(step, 7, 3)
        optimizer.zero_grad()
        value = loss(theirs)
        assert value.item() == pytest.approx(before, abs=1e-6)
        value.backward()
        gradient = theirs.weight.grad
        assert gradient.norm() > 0.1
        gradient *= 0.1 / gradient.norm()
        optimizer.step()
    torch.testing.assert_close(ours.weight, theirs.weight, rtol=0, atol=1e-6)
    unclipped = fresh()
    train_long(unclipped, loss, 7, 0.05, warm_up=3)
    assert not torch.allclose(ours.weight, unclipped.weight, atol=1e-4)


def test_rounded_parameters_stay_equal_although_the_last_digits_differ():
    settings = {"steps": 40, "lr": 0.05, "warm_up": 4}
    loose, exact = [], []
    for round_to, weights in ((0.0, loose), (2.0**-16, exact)):
        for nudge in (0.0, 1e-15):
            model = fresh()
            with torch.no_grad():
                model.weight += nudge
            train_long(model, loss, round_to=round_to, **settings)
            weights.append(model.weight)
    assert not loose[0].equal(loose[1])
    assert exact[0].equal(exact[1])
    assert (exact[0] * 2**16).frac().eq(0).all()
    torch.testing.assert_close(exact[0], loose[0], rtol=0, atol=1e-3)


@pytest.mark.parametrize("interrupt", [1, 3, 4, 6, 7])
def test_after_ctrl_c_the_same_call_resumes_to_the_same_bits(tmp_path, often, capsys, interrupt):
    torch.manual_seed(9)
    whole = fresh()
    losses = long(whole, warm_up=2)
    broken, file = fresh(), tmp_path / "model.pt"
    with pytest.raises(KeyboardInterrupt):
        long(broken, interrupt=interrupt, file=file, warm_up=2)
    kept = (interrupt - 1) // 3 * 3
    message = f"Stopped in step {interrupt} of 7. {file} holds {kept} of them"
    assert message in capsys.readouterr().out
    torch.manual_seed(1234)
    another = nn.Linear(3, 1, bias=False).double()
    torch.randn(3)
    assert long(another, file=file, warm_up=2) == losses
    assert another.weight.equal(whole.weight)
    assert long(fresh(), file=file, warm_up=2) == losses  # a finished run is only loaded


def test_without_a_file_ctrl_c_says_that_nothing_is_saved(capsys):
    with pytest.raises(KeyboardInterrupt):
        long(fresh(), interrupt=2)
    assert "Stopped in step 2 of 7. Nothing is saved" in capsys.readouterr().out


def test_an_interrupted_write_keeps_the_old_checkpoint(tmp_path, often, monkeypatch):
    whole, file = fresh(), tmp_path / "model.pt"
    losses = long(whole, file=tmp_path / "other.pt")
    save, written = torch.save, []

    def full(state, path):
        written.append(path)
        if len(written) == 3:  # the disk is full at the checkpoint of step 6
            path.write_bytes(b"half")
            raise OSError("no space left on device")
        save(state, path)

    with monkeypatch.context() as patched:
        patched.setattr(torch, "save", full)
        with pytest.raises(OSError, match="no space"):
            long(fresh(), file=file)
    assert len(torch.load(file)["losses"]) == 3
    resumed = fresh()
    assert long(resumed, file=file) == losses
    assert resumed.weight.equal(whole.weight)


def test_a_file_that_cannot_be_written_is_noticed_before_the_first_step(tmp_path):
    with pytest.raises((OSError, RuntimeError)):
        long(fresh(), interrupt=1, file=tmp_path / "missing" / "model.pt")


OTHERS = {
    "weight is torch.float64 (1, 3), here torch.float64 (1, 4)": {
        "model": nn.Linear(4, 1, bias=False).double()
    },
    "weight is torch.float64 (1, 3), here torch.float32 (1, 3)": {
        "model": nn.Linear(3, 1, bias=False)
    },
    "bias is None, here torch.float64 (1,)": {"model": nn.Linear(3, 1).double()},
    "warm_up is 0, here 2": {"warm_up": 2},
    "steps is 7, here 8": {"steps": 8},
}


@pytest.mark.parametrize("message", OTHERS)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, message):
    file = tmp_path / "model.pt"
    long(fresh(), file=file)
    kept = file.read_bytes()
    with pytest.raises(ValueError, match="belongs to another training") as error:
        long(**{"model": fresh(), "file": file} | OTHERS[message])
    assert message in str(error.value)
    assert file.read_bytes() == kept


@pytest.mark.parametrize("content", [b"", b"half a zip", None])
def test_a_file_that_is_not_a_checkpoint_is_named(tmp_path, content):
    file = tmp_path / "model.pt"
    if content is None:
        torch.save({"model": fresh().state_dict()}, file)
    else:
        file.write_bytes(content)
    with pytest.raises(ValueError, match="damaged, or not a checkpoint"):
        long(fresh(), file=file)


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_in_a_terminal_a_progress_bar_moves_and_disappears(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Screen())
    long(fresh())
    *bars, last = sys.stderr.getvalue().split("\r\033[K")
    assert bars[-1].endswith("step 6 of 7")
    assert last == ""


@pytest.mark.parametrize("answered", [True, False])
def test_in_an_interactive_notebook_a_progress_bar_is_shown_and_removed(monkeypatch, answered):
    shown = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    kernel = SimpleNamespace(_allow_stdin=answered)
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=kernel))
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: handle)
    long(fresh())
    assert (len(shown) > 5) == answered
    assert shown[-1:] == [""] * answered


BAD = [
    (lambda: train_long(fresh(), loss, 2, 0.1, warm_up=-1), "warm_up=-1: it must"),
    (lambda: train_long(fresh(), loss, 0, 0.1), "steps=0: it must be"),
    (lambda: train_long(fresh(), lambda m: m(X), 1, 0.1), r"shape \(20, 1\): it must"),
    (lambda: train(fresh(), loss, steps=0), "steps=0: it must be at least 1"),
    (lambda: train(fresh(), lambda m: m(X), steps=1), r"shape \(20, 1\): it must be"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
