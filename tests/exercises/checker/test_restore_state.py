"""Every setting and every function that an answer changes is restored."""

import builtins
import math
import os
import random
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import attnbook
from attnbook.attention import heads
from attnbook.attention.multi_head import MultiHeadAttention
from attnbook.exercises.checker.restore_state import PATCHABLE, SETTINGS, preserved_state
from attnbook.exercises.exercise import Mistake
from attnbook.models.language_model import LanguageModel
from tests.exercises.checker.example import TRY, card_of, compare

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
    "deterministic": (
        torch.are_deterministic_algorithms_enabled,
        lambda: torch.use_deterministic_algorithms(
            not torch.are_deterministic_algorithms_enabled()
        ),
    ),
    "anomalies": (torch.is_anomaly_enabled, lambda: torch.autograd.set_detect_anomaly(True)),
    "products": (
        torch.get_float32_matmul_precision,
        lambda: torch.set_float32_matmul_precision("medium"),
    ),
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


CLASSES = [
    (nn.Linear, "forward"),
    (nn.Module, "__call__"),
    (nn.LayerNorm, "forward"),
    (MultiHeadAttention, "forward"),
    (LanguageModel, "forward"),
    (attnbook, "split_heads"),
    (heads, "merge_heads"),
]


@pytest.mark.parametrize(("owner", "name"), CLASSES)
def test_a_method_of_a_layer_and_a_function_of_the_library_are_restored(owner, name):
    before = getattr(owner, name)

    def replacing(query, key):
        setattr(owner, name, lambda *given, **more: None)
        return compare(query, key)

    assert card_of(replacing).startswith("✓")
    assert getattr(owner, name) is before


def scores_by_a_layer(query, key):
    layer = nn.Linear(key.size(1), key.size(0), bias=False)
    layer.weight = nn.Parameter(key)
    return layer(query)


def test_a_method_that_an_answer_replaces_does_not_change_what_it_is_told():
    """Known mistakes run after the answer, and need the methods as they were."""

    def replacing(query, key):
        nn.Linear.forward = lambda layer, x: 0 * x
        return query @ key.mT

    wrong = replace(TRY, mistakes=(Mistake(scores_by_a_layer, "No exp."),))
    assert "A try No exp." in card_of(replacing, wrong)


def test_a_method_that_an_answer_adds_is_removed():
    def adding(query, key):
        torch.Tensor.twice = lambda x: 2 * x
        return compare(query, key)

    assert card_of(adding).startswith("✓")
    assert not hasattr(torch.Tensor, "twice")
