"""An examination leaves everything as it was, even if interrupted, and takes little time."""

import contextlib
import random
import re
import time
from collections import deque

import numpy as np
import pytest
import torch
from torch import nn

from attnbook import examine
from attnbook.examination import pace
from attnbook.examination.reach import reachable
from tests.examination.pieces import RIGHT
from tests.examination.pieces.layers import D, Four, Fused
from tests.examination.pieces.models import GPT, Cached, Seq2Seq
from tests.examination.pieces.piece import Piece

numpy_state, numpy_random = np.random.get_state, np.random.rand
PIECES = {piece.label: piece for piece in RIGHT}
# One piece of each kind, and how long its examination may take, in seconds.
KINDS = {
    "core": ("F.scaled_dot_product_attention", 1.0),
    "layer": ("four matrices, mask of real words", 1.0),
    "cross": ("cross-attention by PyTorch, widths not said", 1.0),
    "lm": ("a cache", 5.0),
    "seq2seq": ("nn.Transformer", 5.0),
    "table": ("a table in two loops", 1.0),
    "rotary": ("a function that rotates halves", 1.0),
    "loss": ("loss by hand", 1.0),
    "top_p": ("top-p", 1.0),
    "top_k": ("top-k", 1.0),
    "sampler": ("temperature, then top-p", 1.0),
}


def settings():
    """What the whole program shares."""
    return [
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.get_rng_state().tolist(),
        random.getstate(),
        numpy_state()[1].tolist(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
    ]


def state_of(thing):
    """All that can be reached from a thing: tensors with their numbers, and what holds them."""
    tensors, holders = [], []
    for x in reachable(thing):
        if isinstance(x, torch.Tensor):
            numbers = x.detach().clone()
            tensors.append((x, x.data_ptr(), x.dtype, x.requires_grad, x.grad, numbers))
        else:
            held = x if isinstance(x, (list, dict, set, deque)) else vars(x)
            held = held.items() if isinstance(held, dict) else held
            holders.append((x, [*map(str, map(id, (y for p in held for y in pairs(p))))]))
    return tensors, holders, settings()


def pairs(item):
    return item if isinstance(item, tuple) else (item,)


def assert_same(before, after):
    assert after[2] == before[2]
    assert len(after[0]) == len(before[0])
    for old, new in zip(before[0], after[0], strict=True):
        assert old[0] is new[0]
        assert old[1:4] == new[1:4]
        assert old[4] is new[4]
        assert torch.equal(old[5], new[5])
    assert [(id(x), held) for x, held in after[1]] == [(id(x), held) for x, held in before[1]]


class Interrupts:
    """A hook that changes what it can, and then raises an error in one of the calls."""

    def __init__(self, module, n_calls, error):
        self.module, self.n_calls, self.error = module, n_calls, error

    def __call__(self, *_):
        self.n_calls -= 1
        if self.n_calls < 0:
            for p in self.module.parameters():
                p.data.zero_()
                p.requires_grad_(False)
            self.module.register_buffer("more", torch.ones(2), persistent=False)
            self.module.register_forward_hook(print)
            self.module.train()
            torch.set_default_dtype(torch.float64)
            torch.set_grad_enabled(False)
            torch.rand(3), random.random(), numpy_random()
            raise self.error


def used(module, *inputs):
    """A module after a step of training: with gradients, in training mode, partly frozen."""
    module.train()
    module(*inputs).sum().backward()
    next(module.parameters()).requires_grad_(False)
    module.register_forward_hook(lambda *_: None)
    return module


MODULES = {
    "layer": lambda: (used(Four(), torch.randn(2, 3, D)), {"causal": False}),
    "lm": lambda: (used(GPT(), torch.ones(2, 3).long()), {}),
    "lm with a cache": lambda: (used(Cached(), torch.ones(2, 3).long()), {"step": "step"}),
    "seq2seq": lambda: (used(Seq2Seq(), *torch.ones(2, 2, 3).long()), {"pad": 0}),
}


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize(
    ("error", "n_calls"),
    [
        (None, 0),
        *((error, n) for error in (ValueError("no"), KeyboardInterrupt()) for n in (4, 30)),
        (SystemExit(1), 4),
    ],
)
def test_a_module_is_restored(kind, error, n_calls):
    module, facts = MODULES[kind]()
    if error:
        module.register_forward_pre_hook(Interrupts(module, n_calls, error))
    before = state_of(module)
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        report = examine(module, kind=kind.split()[0], **facts)
        assert report.tried or report.refusal
    assert_same(before, state_of(module))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [None, KeyboardInterrupt()])
def test_each_kind_is_left_as_it_was(kind, error):
    piece = PIECES[KINDS[kind][0]]
    assert piece.facts.get("kind", "lm") == kind
    thing = piece.make()
    calls = []

    def interrupted(*arguments, **named):
        calls.append(len(arguments))
        if error and len(calls) > 2:
            raise error
        return thing(*arguments, **named)

    before, n_before = state_of(interrupted), len(calls)
    facts = {"d_model": 16, "d_context": 10} if kind in ("layer", "cross") else {}
    if kind in ("lm", "seq2seq"):
        facts = {"vocabulary": 23, "step": thing.step if kind == "lm" else None}
    with contextlib.suppress(KeyboardInterrupt):
        examine(interrupted, **{**piece.facts, **facts})
    assert len(calls) == n_before
    assert_same(before, state_of(interrupted))


class Remembers(Fused):
    """A layer with a list, a dictionary, an object and a plain tensor that its calls change."""

    class Store:
        def __init__(self):
            self.rows, self.n = [], 0

    def __init__(self):
        super().__init__()
        self.seen, self.by_size = deque(maxlen=3), {"sizes": [1]}
        self.store, self.last = Remembers.Store(), torch.zeros(3)

    def forward(self, x):
        self.seen.append(len(x))
        self.by_size["sizes"].append(x.shape)
        self.by_size[len(x)] = x
        self.store.rows.append(x)
        self.store.n += 1
        self.last += 1
        return super().forward(x)


def test_what_a_layer_remembers_is_restored():
    layer = Remembers()
    before = state_of(layer)
    assert not examine(layer, kind="layer").refusal
    assert (list(layer.seen), layer.by_size, vars(layer.store)) == (
        [],
        {"sizes": [1]},
        {"rows": [], "n": 0},
    )
    assert torch.equal(layer.last, torch.zeros(3))
    assert_same(before, state_of(layer))


@pytest.mark.parametrize(
    "context",
    [
        lambda: torch.inference_mode(),
        lambda: torch.no_grad(),
        lambda: torch.autocast("cpu", torch.bfloat16),
    ],
    ids=["inference_mode", "no_grad", "autocast"],
)
def test_an_examination_works_in_other_modes_and_leaves_them_on(context):
    layer = Fused()
    with context():
        before = state_of(layer)
        report = examine(layer, kind="layer")
        assert_same(before, state_of(layer))
    assert not report.findings, report
    assert not report.refusal, report


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_takes_little_time(kind):
    label, seconds = KINDS[kind]
    piece: Piece = PIECES[label]
    thing = piece.make()
    begin = time.process_time()
    examine(thing, **piece.facts)
    assert time.process_time() - begin < 5 * seconds  # other machines are slower


class Slow(Fused):
    """A layer that takes its time."""

    def forward(self, x):
        time.sleep(0.02)
        return super().forward(x)


def test_a_long_examination_is_announced_and_ends(capsys, monkeypatch):
    monkeypatch.setattr(pace, "PATIENCE", 1.0)
    examine(Slow(), kind="layer")
    assert re.match("A call takes 0.0 s, so this takes about [12] s", capsys.readouterr().out)
    monkeypatch.setattr(pace, "SECONDS", 0.05)
    monkeypatch.setattr(pace, "LONG", 0.05)
    report = examine(Slow(), kind="layer")
    assert "The experiments were stopped after 0 seconds" in str(report)


def test_a_call_that_waited_once_announces_nothing(capsys):
    """As when another program needs the processor."""
    first = iter([0.5])

    class Waiting(Fused):
        def forward(self, x):
            time.sleep(next(first, 0))
            return super().forward(x)

    examine(Waiting(), kind="layer")
    assert capsys.readouterr().out == ""


def test_a_short_examination_says_nothing(capsys):
    examine(Fused(), kind="layer")
    assert capsys.readouterr().out == ""


def test_a_report_of_a_module_does_not_keep_it_in_training_mode():
    layer = nn.MultiheadAttention(16, 4, batch_first=True).train()
    examine(layer, kind="layer")
    assert layer.training
