"""Chapter 1: what its text claims beyond what its cells print."""

import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook import SelfAttention, causal_mask, scaled_dot_product_attention
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


def test_with_a_thousand_values_a_narrow_kernel_is_nearly_as_good():
    space = chapter.run("kernel-data", "kernel")
    missed = {0.1: [], 1: []}
    for seed in range(0, 100, 20):  # a thousand values are twenty days of fifty
        given, new = (
            [torch.cat(parts) for parts in zip(*map(space["measurements"], days), strict=True)]
            for days in (range(seed, seed + 20), range(seed + 200, seed + 220))
        )
        for sigma, errors in missed.items():
            guess = space["kernel_weights"](new[0], given[0], sigma) @ given[1]
            errors.append((guess - new[1]).square().mean().sqrt().item())
    for narrow, wide in zip(*missed.values(), strict=True):
        assert narrow == pytest.approx(wide, rel=0.05)


def test_a_longer_query_narrows_the_kernel_only_where_all_keys_have_one_norm():
    space = chapter.run("kernel-data", "kernel")
    hours, degrees = space["measurements"](0)
    asked = torch.linspace(0, 12, 25, dtype=torch.float64)
    line = asked[:, None], hours[:, None], degrees[:, None]
    _, twice = scaled_dot_product_attention(2 * line[0], *line[1:], bias=-hours.square() / 2)
    torch.testing.assert_close(twice, space["kernel_weights"](2 * asked, hours, 1))

    def on_circle(hour: torch.Tensor) -> torch.Tensor:
        angle = hour * torch.pi / 12
        return torch.stack([angle.cos(), angle.sin()], dim=-1)

    query, key = on_circle(asked), on_circle(hours)
    for sigma in (0.3, 1):
        distances = torch.cdist(query, key)
        expected = (-distances.square() / (2 * sigma**2)).softmax(-1)
        _, weights = scaled_dot_product_attention(query * 2**0.5 / sigma**2, key, degrees[:, None])
        torch.testing.assert_close(weights, expected)


def test_a_card_that_claims_everything_wins_by_cosine_if_asked_for_everything():
    space = chapter.run(*chapter.until("spam"))
    cosines = space["spammed"] / space["card_lengths"] @ np.ones(8)
    assert cosines.argmax() == 10


def test_without_a_mask_a_word_gets_the_same_mixture_in_any_order():
    torch.manual_seed(0)
    head, dog_bites_man = SelfAttention(8, 6, 4), torch.randn(3, 8)
    man_bites_dog = dog_bites_man.flip(0)
    for mask, same in (None, True), (causal_mask(3), False):
        last, first = head(dog_bites_man, mask)[0][2], head(man_bites_dog, mask)[0][0]
        assert torch.allclose(last, first, atol=1e-6) == same


def test_without_feedback_the_cell_keeps_what_its_gates_leave_and_the_output_less():
    space = chapter.run("rnn-loop", "networks")
    left = []
    for seed in range(5):
        torch.manual_seed(seed)
        net = space["recurrent"]("gate open, feedback cut").requires_grad_(False).cpu()
        x = torch.randn(8, 64, 32, dtype=torch.float64)
        other = x.clone()
        other[:, 0] = torch.randn(8, 32)
        ends = [net(x[:, :n])[1] for n in (1, 64)]
        apart = [
            [(a - b).norm(dim=-1) for a, b in zip(end, net(other[:, :n])[1], strict=True)]
            for n, end in zip((1, 64), ends, strict=True)
        ]
        left.append(torch.stack([last / first for first, last in zip(*apart, strict=True)]))
    output, cell = torch.cat(left, dim=-1).flatten(1).median(dim=1).values.tolist()
    assert output == pytest.approx(0.12, abs=0.02)
    assert cell == pytest.approx(0.26, abs=0.02)
