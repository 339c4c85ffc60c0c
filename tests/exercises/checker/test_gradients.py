"""Gradients that are lost, nan or wrong."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from attnbook.exercises.exercise import Case, draw
from tests.exercises.checker.example import TRY, card_of, compare


class Cut(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * torch.nan


def with_numpy(query, key):
    return torch.from_numpy(np.exp((query @ key.mT).cpu().numpy())).to(query.device)


def undone(query, key):
    query *= 2
    query /= 2
    return compare(query, key)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda q, k: compare(q, k).detach(), "but no gradient flows back"),
        (lambda q, k: torch.tensor(compare(q, k).tolist()).to(q), "no gradient flows back"),
        (lambda q, k: compare(q.detach(), k), "but no gradient reaches `query`"),
        (lambda q, k: compare(q, k.detach()), "but no gradient reaches `key`"),
        (lambda q, k: compare(0.5 * (q + q.detach()), k), "but the gradient of `query` is wrong"),
        (lambda q, k: compare(0.95 * q + 0.05 * q.detach(), k), "gradient of `query` is wrong"),
        (with_numpy, "NumPy computes no gradients, and raises an error if they are needed"),
    ],
)
def test_lost_gradients_are_reported_and_fail_only_if_the_card_mentions_them(wrong, message):
    passes = "The card does not ask for gradients, so this passes."
    card = card_of(wrong)
    assert card.startswith("✓ 99.try A try The numbers are right, ")
    assert message in card
    assert card.index(message) < card.index(passes) < card.index("Well compared.")
    card = card_of(wrong, replace(TRY, asks_for_gradients=True))
    assert card.startswith("✗ 99.try A try The numbers are right, ")
    assert message in card
    assert passes not in card
    assert card_of(wrong, replace(TRY, gradients=False)).startswith("✓ 99.try A try Well compared.")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda q, k: compare(q, Cut.apply(k)), "numbers in the gradient of `key` are nan"),
        (lambda q, k: compare(q.detach(), Cut.apply(k)), "in the gradient of `key` are nan"),
        (undone, "forbidden if gradients are needed"),
    ],
)
def test_gradients_that_are_nan_or_raise_fail(wrong, message):
    assert "✗ 99.try A try The numbers are right" in card_of(wrong)
    assert message in card_of(wrong)
    assert card_of(wrong, replace(TRY, gradients=False)).startswith("✓")


def test_gradients_are_compared_even_if_the_reader_has_turned_them_off():
    with torch.no_grad():
        assert "but no gradient flows back" in card_of(lambda q, k: compare(q, k).detach())
        assert "gradient" not in card_of(compare)
        assert not torch.is_grad_enabled()


def test_empty_tensors_need_no_gradient():
    joined = replace(
        TRY,
        reference=lambda old, new: torch.cat((old, new)).exp(),
        cases=lambda generator: [Case((draw(generator, 0, 5), draw(generator, 3, 5)))],
    )
    assert "gradient" not in card_of(lambda old, new: new.exp(), joined)
    assert "but no gradient flows back" in card_of(lambda old, new: new.exp().detach(), joined)


def test_a_gradient_of_zeros_may_be_missing():
    def softened(query, key):
        return compare(query, key) if len(query) == 5 else (0 * compare(query, key)).softmax(-1)

    def without(query, key):
        even = torch.full_like(query @ key.mT, 1 / len(key)).detach()
        return compare(query, key) if len(query) == 5 else even

    flat = replace(TRY, reference=softened)
    assert "gradient" not in card_of(without, flat)
    with_nan = lambda q, k: softened(q, k) if len(q) == 5 else softened(q, Cut.apply(k))  # noqa: E731
    assert "in the gradient of `key` are nan" in card_of(with_nan, flat)


@pytest.mark.on_cpu
def test_a_first_check_does_not_wait_for_sympy():
    code = (
        "import sys; from attnbook.exercises.catalog import ALL;"
        "from attnbook.exercises.checker.diagnose import diagnose;"
        "print(diagnose(ALL['03.scores'], ALL['03.scores'].reference).kind, 'sympy' in sys.modules)"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert printed.split() == ["passed", "False"]
