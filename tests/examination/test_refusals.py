"""Modules of other forms are examined or refused with a sentence, and crashes are told."""

import copy
import os
import sys

import pytest
import torch
from torch import nn

from attnbook import examine
from tests.examination.pieces.layers import D, Four, Fused

REHEARSED = os.environ.get("ATTNBOOK_REHEARSAL") == "1"  # a simulated GPU, for notebooks only


class Plain(Four):
    """A right layer without a mask."""

    def forward(self, x):
        return super().forward(x)


def scripted():
    return torch.jit.script(nn.Linear(D, D))


def traced():
    return torch.jit.trace(nn.Linear(D, D), torch.randn(2, 3, D))


def quantized():
    return torch.ao.quantization.quantize_dynamic(Plain(), {nn.Linear}, torch.qint8)


def with_integers():
    layer = Plain()
    layer.keys.weight = nn.Parameter(layer.keys.weight.data.char(), requires_grad=False)
    return layer


def lazy():
    layer = Plain()
    layer.unify = nn.LazyLinear(D)
    return layer


def huge():
    layer = Plain()
    layer.more = nn.Parameter(torch.zeros(1).expand(2**30 + 1))
    return layer


def part_scripted():
    layer = Plain()
    layer.unify = torch.jit.script(layer.unify)
    return layer


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (scripted, "A scripted or traced module has no hooks"),
        (traced, "A scripted or traced module has no hooks"),
        (part_scripted, "A scripted or traced module has no hooks"),
        (quantized, "It is quantized"),
        (with_integers, "It is quantized"),
        (lambda: Plain().to("meta"), "on the meta device"),
        (lazy, "call it once on an example first"),
        (huge, "more than a billion parameters"),
        (lambda: Plain, "Plain is a class: pass an object"),
        (lambda: 3, "int cannot be called"),
    ],
)
def test_what_cannot_be_examined_is_refused_with_a_sentence(make, sentence):
    report = examine(make(), kind="layer")
    assert sentence in report.refusal
    assert not report.findings
    assert not report.tried


@pytest.mark.filterwarnings("ignore:DTensor random operators")  # PyTorch 2.6 on a CPU
def test_a_sharded_module_is_refused():
    distributed = pytest.importorskip("torch.distributed")
    if not distributed.is_available():
        pytest.skip("PyTorch was built without it")
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore

    distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        layer = Plain()
        mesh = init_device_mesh("cpu", (2,))
        layer.keys.weight = nn.Parameter(distribute_tensor(layer.keys.weight.data, mesh))
        assert "sharded" in examine(layer, kind="layer").refusal
    finally:
        distributed.destroy_process_group()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_dtypes_are_examined_and_kept(dtype):
    layer = Plain().to(dtype)
    report = examine(layer, kind="layer", causal=False)
    assert not report.refusal
    assert not report.findings
    assert {p.dtype for p in layer.parameters()} == {dtype}
    half = dtype.itemsize < 4
    assert any("I examine a copy of them in float32" in text for text in report.seen) == half


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, of what it imports
def test_a_compiled_module_is_examined_as_it_was_written():
    """Nothing is compiled, which would take minutes."""
    torch._dynamo.reset()

    def refuse(graph, inputs):
        raise AssertionError("it was compiled")

    layer = Plain()
    for thing in (
        torch.compile(layer, backend=refuse),
        torch.compile(layer.forward, backend=refuse),
    ):
        report = examine(thing, kind="layer", causal=False)
        assert not report.refusal, report
        assert not report.findings, report
    inside = copy.deepcopy(layer)
    inside.keys = torch.compile(inside.keys, backend=refuse)
    in_place = copy.deepcopy(layer)
    in_place.compile(backend=refuse)
    for module in (inside, in_place):
        report = examine(module, kind="layer", causal=False)
        assert not report.refusal, report
        assert not report.findings, report


@pytest.mark.filterwarnings("ignore")
def test_a_scripted_function_is_examined():
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.matmul(q, k.transpose(-2, -1)), -1) @ v

    found = examine(torch.jit.script(attend), kind="core").findings
    assert [f.fault for f in found] == ["scale"]


@pytest.mark.skipif(REHEARSED, reason="PyTorch counts the GPUs, and there is none")
def test_data_parallel_is_examined():
    report = examine(nn.DataParallel(Fused()), kind="layer")
    assert not report.refusal
    assert not report.findings


@pytest.mark.skipif(REHEARSED or not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_module_on_a_gpu_is_examined_there_and_stays(dtype):
    layer = Fused().to("cuda", dtype)
    state = torch.cuda.get_rng_state()
    report = examine(layer, kind="layer")
    assert not report.refusal, report
    assert not report.findings, report
    assert {p.device.type for p in layer.parameters()} == {"cuda"}
    assert torch.equal(torch.cuda.get_rng_state(), state)


class Broken(Fused):
    """A layer whose code raises an error."""

    def mix(self, q, k, v):
        scores = q @ k
        return scores.softmax(-1) @ v


class Raises(Fused):
    """A layer that raises an error of its own from a helper."""

    def mix(self, q, k, v):
        raise NotImplementedError


def test_a_crash_is_told_with_its_line_and_the_shapes_that_met():
    refusal = examine(Broken(), kind="layer").refusal
    assert "of test_refusals.py: `scores = q @ k`, q (2, 4, 3, 4), k (2, 4, 3, 4)" in refusal
    assert "RuntimeError" in refusal
    refusal = examine(Raises(), kind="layer").refusal
    assert "NotImplementedError" in refusal
    assert "`raise NotImplementedError`" in refusal


def test_a_crash_in_a_cell_has_no_file():
    source = "def attend(q, k, v):\n    return q @ k\n"
    namespace = {}
    exec(compile(source, "<cell>", "exec"), namespace)
    sys.modules.pop("<cell>", None)
    refusal = examine(namespace["attend"], kind="core").refusal
    assert "(line 2" in refusal
    assert "cell" not in refusal


def test_the_error_inside_the_code_is_told_and_not_that_of_another_way_to_call_it():
    def attend(q, k, v, mask):
        return q[mask]

    refusal = examine(attend, kind="core", mask="keep").refusal
    assert "`return q[mask]`" in refusal
    assert "positional argument" not in refusal
