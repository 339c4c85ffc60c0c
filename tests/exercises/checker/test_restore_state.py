"""Every setting and every function that an answer changes is restored."""

import builtins
import math
import os
import random
import sys

import numpy as np
import pytest
import torch
from torch import nn

from attnbook.exercises.checker.restore_state import PATCHABLE, SETTINGS, preserved_state
from tests.exercises.checker.example import card_of, compare

CHANGES = {  # for each setting, a function that observes it and one that changes it
    "dtype": (torch.get_default_dtype, lambda: torch.set_default_dtype(torch.float64)),
    "device": (lambda: torch.empty(0).device, lambda: torch.set_default_device("meta")),
    "gradients": (torch.is_grad_enabled, lambda: torch.set_grad_enabled(False)),
    "torch draws": (lambda: torch.get_rng_state().tolist(), lambda: torch.rand(1)),
    "random draws": (random.getstate, random.random),
    "numpy draws": (lambda: str(np.random.get_state()), np.random.rand),  # noqa: NPY002
    "torch prints": (lambda: repr(torch.tensor(math.pi)), lambda: torch.set_printoptions(2)),
    "numpy prints": (lambda: repr(np.array(math.pi)), lambda: np.set_printoptions(2)),
    "numpy errors": (np.geterr, lambda: np.seterr(under="raise")),
    "recursion": (sys.getrecursionlimit, lambda: sys.setrecursionlimit(4321)),
    "threads": (torch.get_num_threads, lambda: torch.set_num_threads(1 + torch.get_num_threads())),
    "folder": (os.getcwd, lambda: os.chdir("/")),
}
PATCHES = [
    (torch.Tensor, "norm"),
    (torch, "softmax"),
    (nn.functional, "relu"),
    (torch.linalg, "norm"),
    (nn, "Linear"),
    (math, "sqrt"),
    (np, "exp"),
    (random, "random"),
    (builtins, "sorted"),
]


@pytest.mark.parametrize("name", CHANGES)
def test_a_setting_that_an_answer_changes_is_restored(name):
    observe, change = CHANGES[name]
    before, seen = observe(), []

    def changing(query, key):
        answer = compare(query, key)
        change()
        seen.append(observe())
        return answer

    card_of(changing)
    assert observe() == before
    assert seen[0] != before
    with preserved_state():
        change()
    assert observe() == before


@pytest.mark.parametrize(("owner", "name"), PATCHES)
def test_a_function_that_an_answer_replaces_or_removes_is_restored(owner, name):
    before = getattr(owner, name)

    def replacing(query, key):
        setattr(owner, name, lambda *given, **more: before(*given, **more))
        return compare(query, key)

    def removing(query, key):
        answer = compare(query, key)
        delattr(owner, name)
        return answer

    for patching in (replacing, removing):
        assert card_of(patching).startswith("✓")
        assert getattr(owner, name) is before


def test_each_setting_and_each_owner_of_functions_is_tried():
    assert len(CHANGES) == len(SETTINGS)
    assert [owner for owner, _ in PATCHES] == list(PATCHABLE)


def test_a_method_that_an_answer_adds_is_removed():
    def adding(query, key):
        torch.Tensor.twice = lambda x: 2 * x
        return compare(query, key)

    assert card_of(adding).startswith("✓")
    assert not hasattr(torch.Tensor, "twice")
