"""Chapter 1: what its text claims beyond what its cells print."""

import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.support.chapters import Chapter

chapter = Chapter("01_library.ipynb")


@pytest.fixture(scope="module")
def names() -> dict:
    """The chapter's names where the look-ups end."""
    return chapter.run(*chapter.until("slide"))


@pytest.mark.parametrize(
    "question", ["", "?!", "AI", "ai, Ai; AI", "AI " * 2000, "人工智能的伦理", "can't we cook?"]
)
def test_the_readers_cell_survives_any_question(question, names):
    code = re.sub(
        r'question = ".*"', lambda _: f"question = {question!r}", chapter.source("your-question")
    )
    assert repr(question) in code
    space = dict(names)
    exec(code, space)
    for name in ("your-report", "ask-library"):
        exec(chapter.source(name), space)
    assert space["your_weights"].sum() == pytest.approx(1)
    assert space["your_report"].sum() == pytest.approx(100)
    asked = len(re.findall(r"\bai\b", question.lower()))
    assert space["your_query"].tolist() == [0, asked, 0, 0, 0, 0, 0, 0]


def test_hard_look_up_answers_the_slide_with_one_jump(names):
    query, cooking, keys = names["query"], names["cooking"], names["keys"]
    parts = np.linspace(0, 1, 1001)[:, None]
    scores = ((1 - parts) * query + parts * cooking) @ keys.T
    soft = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) @ names["recipes"]
    hard = names["recipes"][scores.argmax(axis=1)]
    assert (np.diff(hard) != 0).sum() == 1
    assert set(hard) == {0, 50}  # "by fifty pages", says the text
    assert (np.diff(soft) > 0).all()


def newton_rounds(net: nn.LSTM, x: torch.Tensor) -> int:
    """How many guesses of all states, each with the slopes of its steps, until all are right."""
    wanted = net(x[None])[0][0]

    def step(states: torch.Tensor) -> torch.Tensor:  # L sequences of one step
        _, (hidden, cell) = net(x[:, None], tuple(part[None] for part in states.tensor_split(2, 1)))
        return torch.cat([hidden[0], cell[0]], dim=1)

    states = torch.zeros(len(x), 2 * wanted.size(1), dtype=x.dtype)
    for n in range(1, len(x) + 1):
        before = F.pad(states, (0, 0, 1, -1))
        slopes = torch.autograd.functional.jacobian(lambda s: step(s).sum(0), before)
        level = step(before) - torch.einsum("olj,lj->lo", slopes, before)
        state, chain = torch.zeros_like(states[0]), []
        for t in range(len(x)):  # linear: its sums could be regrouped
            state = slopes[:, t] @ state + level[t]
            chain.append(state)
        states = torch.stack(chain)
        if (states[:, : wanted.size(1)] - wanted).abs().max() < 1e-7:
            return n
    return len(x) + 1


def test_the_open_gate_is_right_after_few_rounds_with_slopes():
    space = chapter.run("rnn-loop", "networks")
    torch.manual_seed(0)
    net, x = space["recurrent"]("gate open").requires_grad_(False).cpu(), space["normal"](64, 32)
    assert newton_rounds(net, x.cpu()) <= 16  # of 64 without slopes


def test_the_best_width_of_the_kernel_is_the_middle_one_for_most_days():
    space = chapter.run("kernel-data", "kernel")
    best = []
    for seed in range(200, 220):
        (hours, degrees), (asked, right) = (space["measurements"](s) for s in (seed, seed + 100))
        missed = {
            sigma: (space["kernel_weights"](asked, hours, sigma) @ degrees - right).square().mean()
            for sigma in (0.1, 1, 5)
        }
        best.append(min(missed, key=missed.__getitem__))
    assert best.count(1) >= 15
