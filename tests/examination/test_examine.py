"""`examine` names the fault of faulty code first, and is silent about right code."""

import json
import re

import pytest
import torch
from torch import nn

import attnbook
from attnbook import examine
from attnbook.examination.faults import FAULTS
from attnbook.examination.report import AttentionFault
from attnbook.exercises.catalog import ALL
from manuscript.common import ROOT
from tests.examination.pieces import FAULTY, RIGHT

# A finding of level △ about right code: what it says is true.
ALLOWED = {
    "PyTorch's layer, with a mask of padding": {"empty_row"},
    "PyTorch's encoder layer, pre-norm, with padding": {"empty_row"},
    "True is hidden, one head": {"half"},
}


@pytest.mark.parametrize("piece", FAULTY, ids=lambda piece: piece.label)
def test_a_fault_is_named_first(piece):
    report = examine(piece.make(), **piece.facts)
    assert [found.fault for found in report.findings][:1] == [piece.fault], str(report)


@pytest.mark.parametrize("piece", RIGHT, ids=lambda piece: piece.label)
def test_right_code_is_not_called_wrong(piece):
    report = examine(piece.make(), **piece.facts)
    assert not report.refusal, report.refusal
    assert {found.fault for found in report.findings} <= ALLOWED.get(piece.label, set()), report


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: attnbook.MultiHeadAttention(16, 4), {"kind": "layer", "causal": False}),
        (lambda: attnbook.MultiHeadAttention(16, 4, d_context=10), {"kind": "cross"}),
        (lambda: attnbook.GroupedQueryAttention(16, 4, 2), {"kind": "layer", "causal": False}),
        (lambda: attnbook.EncoderLayer(16, 4, 32), {"kind": "layer", "causal": False}),
        (lambda: attnbook.scaled_dot_product_attention, {"kind": "core"}),
        (lambda: attnbook.fused_attention, {"kind": "core"}),
        (lambda: attnbook.LanguageModel(23, 16, 4, 2, 2, 32), {"kind": "lm", "positions": True}),
        (lambda: attnbook.Transformer(23, 23, 16, 4, 2, 32), {"kind": "seq2seq"}),
        (lambda: attnbook.sinusoidal_encoding, {"kind": "table"}),
        (lambda: attnbook.keep_top_p, {"kind": "top_p"}),
        (lambda: attnbook.keep_top_k, {"kind": "top_k"}),
    ],
)
def test_the_library_is_not_called_wrong(make, facts):
    report = examine(make(), **facts)
    assert not report.refusal, report.refusal
    assert not report.is_faulty, report


def test_every_fault_names_a_section_and_an_exercise_of_the_book():
    headings = {
        number
        for path in (ROOT / "book").glob("*.ipynb")
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for number in re.findall(r"(?m)^## (\d+\.\d+) ", "".join(cell["source"]))
    }
    for name, fault in FAULTS.items():
        assert fault.section in headings, name
        assert not fault.exercise or fault.exercise in ALL, name


def state_of(module):
    """Everything that an examination must leave as it was."""
    return (
        {name: p.data_ptr() for name, p in module.named_parameters()},
        {name: (p.clone(), p.dtype) for name, p in module.state_dict().items()},
        {name: p.grad for name, p in module.named_parameters()},
        [m.training for m in module.modules()],
        [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules()],
    )


class Layer(nn.Module):
    """A layer that fails, or is interrupted, in one of its calls."""

    def __init__(self, n_calls=0, error=None):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.n_calls, self.error = n_calls, error
        self.seen = []

    def forward(self, x):
        self.seen.append(len(x))
        if self.error and len(self.seen) > self.n_calls:
            raise self.error
        return self.attention(x, x, x, need_weights=False)[0]


@pytest.mark.parametrize("n_calls", [0, 3, 20])
@pytest.mark.parametrize("error", [None, ValueError("no"), KeyboardInterrupt()])
def test_everything_is_restored(n_calls, error):
    layer = Layer(n_calls, error)
    layer(torch.randn(2, 3, 16)).sum().backward() if n_calls else None
    layer.seen.clear()
    before, random_state = state_of(layer), torch.get_rng_state()
    try:
        examine(layer, kind="layer", causal=False)
    except KeyboardInterrupt:
        assert isinstance(error, KeyboardInterrupt)
    after = state_of(layer)
    assert after[0] == before[0]
    for name, (numbers, dtype) in before[1].items():
        assert torch.equal(after[1][name][0], numbers), name
        assert after[1][name][1] == dtype, name
    assert all(after[2][name] is gradient for name, gradient in before[2].items())
    assert after[3:] == before[3:]
    assert layer.seen == []
    assert torch.equal(torch.get_rng_state(), random_state)


def test_a_report_serves_as_a_test():
    faulty = next(piece for piece in FAULTY if piece.fault == "scale")
    with pytest.raises(AttentionFault, match=r"section 3\.8"):
        examine(faulty.make(), **faulty.facts).raise_if_faulty()
    with pytest.raises(AttentionFault, match="class"):
        examine(nn.MultiheadAttention).raise_if_faulty()
    examine(nn.MultiheadAttention(16, 4, batch_first=True), kind="layer").raise_if_faulty()


def test_intentions_that_were_not_said_are_told_first():
    layer = nn.MultiheadAttention(16, 4, batch_first=True)
    assert any("causal=True" in sentence for sentence in examine(layer, kind="layer").seen)


def test_a_fact_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="there is no fact causla"):
        examine(len, kind="core", causla=True)
    with pytest.raises(ValueError, match="'keep'"):
        examine(len, kind="core", mask="inverted")
