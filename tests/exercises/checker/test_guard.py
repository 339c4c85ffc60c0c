"""What an answer prints, changes or closes has no effect outside its card."""

import math
import os
import random
import re
import sys
import warnings
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from attnbook.exercises import check
from attnbook.exercises.exercise import Case
from tests.exercises.checker.example import TRY, card_of, compare


def test_output_and_warnings_of_an_answer_are_in_the_card(capsys):
    def loud(query, key):
        print("hello from inside")
        warnings.warn("take care", stacklevel=1)
        return compare(query, key)

    for function, column in (
        (loud, 9),
        (lambda q, k: loud(q, k) + 1, 9),
        (lambda q, k: loud(q, k) / None, 15),  # aligned with the text after "in your line"
    ):
        printed = f"{'printed':{column}}hello from inside"
        warning = f"{'':{column + 1}}UserWarning: take care"
        assert f"{printed}{warning}" in card_of(function)
    assert capsys.readouterr().out == ""


def test_an_answer_that_calls_check_gets_a_message(capsys):
    def checks_itself(query, key):
        check(checks_itself, "99.try")
        return compare(query, key)

    check(checks_itself, "99.try")
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert text.startswith("✗ 99.try A try Your function calls `check`")
    assert 'in your line check(checks_itself, "99.try")' in text
    assert text.count("✗") == 1
    assert card_of(compare).startswith("✓")


def test_an_answer_may_close_its_output(capsys):
    def closing(query, key):
        print("before")
        sys.stdout.close()
        return compare(query, key)

    assert "✓ 99.try" in card_of(closing)
    assert "printed  before" in card_of(closing)


def test_changes_by_an_answer_are_undone_and_do_not_change_the_result():
    def states():
        numpys = np.random.get_state()  # noqa: NPY002
        drawn = (torch.get_rng_state().tolist(), random.getstate(), numpys)
        settings = (torch.get_default_dtype(), torch.empty(0).device, torch.is_grad_enabled())
        settings += (torch.get_num_threads(), os.getcwd())
        printing = (repr(torch.tensor(math.pi)), repr(np.array(math.pi)))
        return str((drawn, settings, printing, torch.Tensor.exp, math.sqrt, torch.softmax))

    def changing(query, key):
        torch.manual_seed(7), random.seed(7), np.random.seed(7)  # noqa: NPY002
        torch.set_default_dtype(torch.float64), torch.set_grad_enabled(False)
        torch.set_default_device("meta")
        torch.set_printoptions(2), np.set_printoptions(2)
        torch.set_num_threads(torch.get_num_threads() + 1), os.chdir("/")
        answer = compare(query, key)
        torch.Tensor.exp = torch.Tensor.clone
        torch.softmax = math.sqrt = None
        return answer

    before = states()
    assert card_of(changing).startswith("✓ 99.try A try The numbers are right, but no gradient")
    text = card_of(lambda q, k: [changing(q, k), (q @ k.mT).exp()][1])
    assert text.startswith("✗ 99.try A try You")
    assert "raised" in card_of(lambda q, k: changing(q, k) / None)
    assert states() == before
    torch.set_default_device("meta")
    try:
        assert card_of(compare).startswith("✓")
        assert torch.empty(0).device == torch.device("meta")
    finally:
        torch.set_default_device(None)
        del torch._GLOBAL_DEVICE_CONTEXT.device_context  # PyTorch 2.6 cannot handle None here


def test_a_check_leaves_the_default_device_readable():
    assert card_of(compare).startswith("✓")
    assert torch.get_default_device() == torch.device("cpu")


def test_a_module_is_copied_and_must_not_be_changed():
    layer = nn.Linear(3, 3).requires_grad_(False)
    before = layer.weight.clone()
    use = replace(
        TRY,
        reference=lambda layer: layer(torch.ones(3)),
        cases=lambda generator: [Case((layer,), note="a layer")],
        mistakes=(),
        properties=(),
    )

    def write(layer):
        layer.weight *= 2
        return layer(torch.ones(3))

    def leave_a_hook(layer):
        layer.register_forward_hook(lambda module, inputs, output: output + 1)
        return layer(torch.ones(3))

    assert card_of(lambda layer: layer(torch.ones(3)), use).startswith("✓")
    for wrong in (write, leave_a_hook):
        assert "left a hook or other weights in what it was given (`layer`)" in card_of(wrong, use)
    assert torch.equal(layer.weight, before)
    assert not layer._forward_hooks
