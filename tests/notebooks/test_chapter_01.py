"""Chapter 1: what its text claims beyond what its cells print."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attnbook import SelfAttention, causal_mask, scaled_dot_product_attention
from tests.support.chapters import Chapter

chapter = Chapter("01_library.ipynb")


@pytest.fixture(scope="module")
def names() -> dict:
    """The names that the chapter has defined by the end of its look-ups."""
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
    assert set(hard) == {0, 50}  # the text says "by fifty pages"
    assert (np.diff(soft) > 0).all()


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


def test_a_point_is_a_factor_between_two_books_and_not_of_a_books_own_weight(names):
    """Section 1.2."""
    scores, raised = names["scores"], names["scores"].copy()
    winner, soups = 1, 6
    raised[winner] += 1
    before, after = names["softmax"](scores), names["softmax"](raised)
    assert after[winner] / after[soups] == pytest.approx(np.e * before[winner] / before[soups])
    assert before[winner] / before[0] == pytest.approx(np.e)
    assert after[winner] / before[winner] < 1.5
    assert "One more point always" not in chapter.source("softmax-seen")


def test_books_that_tie_share_the_weight_however_large_the_scores(names):
    """Section 1.4: at 100 % cooking, three books score 2."""
    weights = names["softmax"](100 * (names["keys"] @ names["cooking"]))
    assert sorted(weights.round(6))[-3:] == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert "if one book leads" in chapter.source("temperature-seen")


def test_attention_computes_as_many_outputs_as_an_rnn_has_states_and_the_scores_on_top():
    """Section 1.6: L vectors of D numbers in both, and L² scores, which soon are nearly all."""
    for length, width in ((5, 8), (9, 8), (200, 8)):
        x = torch.randn(1, length, width)
        states, _ = nn.RNN(width, width, batch_first=True)(x)
        output, weights = scaled_dot_product_attention(x, x, x)
        assert states.numel() == output.numel() == length * width
        assert weights.numel() == length**2
    assert weights.numel() > 0.95 * (weights.numel() + output.numel())
    text = chapter.source("against-rnn-more")
    assert "| L · D, a state of D numbers per word | L · D for the outputs, and L² scores |" in text
    assert "smaller of the two numbers" not in text


def test_a_network_with_a_state_need_not_choose_what_to_keep_if_the_query_comes_first():
    """Sections 1.6 and 1.8: a state of two numbers answers, however long the text is."""
    torch.manual_seed(0)
    for length in (10, 1000):
        cards, contents = torch.randperm(length).tolist(), torch.randn(length).tolist()
        for asked in cards[:5]:
            state = (asked, 0.0)  # the query, and what has been found so far
            for card, content in zip(cards, contents, strict=True):
                state = (asked, content if card == state[0] else state[1])
            assert state[1] == contents[cards.index(asked)]
    assert "If the query comes after the text" in chapter.source("against-rnn-more")
    assert "reads before the question comes" in chapter.source("bottleneck")
    assert "if the query comes last" in chapter.source("summary")


@pytest.fixture(scope="module")
def networks() -> dict:
    """The names of sections 1.7 and 1.8 that build networks and measure their gradients."""
    return chapter.run("rnn-loop", "networks", "read", "gradients")


@pytest.mark.on_cpu  # its matrices are drawn at random, which a simulated GPU refuses
def test_a_plain_rnn_mostly_makes_a_gradient_vanish_or_explode(networks):
    """Section 1.8: the part of the gradient in the farther half, by the matrix W_h.

    A matrix that keeps every length keeps the gradient, too, as long as tanh is nearly linear.
    """

    def level(net: nn.Module) -> None:
        nn.init.orthogonal_(net.weight_hh_l0)
        for small in (net.weight_ih_l0, net.bias_ih_l0, net.bias_hh_l0):
            small.mul_(0.01)

    def far(change: Callable[[nn.Module], object]) -> float:
        def reader(name: str, length: int) -> Callable[[Tensor], Tensor]:
            net = networks["recurrent"]("RNN")
            with torch.no_grad():
                change(net)
            return lambda x: net(x)[0]

        space = networks | {"reader": reader}
        exec(chapter.source("gradients"), space)
        return space["gradient_shares"]("RNN").median(0).values[32:].sum().item()

    assert far(lambda net: None) < 1e-6
    assert far(lambda net: net.weight_hh_l0.mul_(5)) > 0.9
    assert 0.4 < far(level) < 0.6
    assert "mostly shrinks or grows" in chapter.source("reach")


def test_one_layer_of_attention_is_level_and_a_causal_stack_favors_the_first_inputs(networks):
    """Section 1.8: the gradient of the first input, divided by that of the last but one."""

    def stacked(n: int):
        def reader(name: str, length: int):
            width = networks["width"]
            heads = [SelfAttention(width, width, width).double() for _ in range(n)]
            heads = nn.Sequential(*heads).to(networks["device"]())
            mask = causal_mask(length).to(networks["device"]())

            def read(x: Tensor) -> Tensor:
                for head in heads:
                    x = x + head(x, mask)[0] if n > 2 else head(x, mask)[0]
                return x

            return read

        return reader

    favored = {}
    for n in (1, 2, 8):  # with eight layers, each adds its result to its input
        space = networks | {"reader": stacked(n)}
        exec(chapter.source("gradients"), space)
        shares = space["gradient_shares"]("attention").median(0).values
        favored[n] = (shares[63] / shares[1]).item()
    assert favored[1] == pytest.approx(1, abs=0.3)
    assert favored[2] > 10
    assert favored[8] > 5


def test_an_rnn_takes_few_rounds_if_small_differences_fade_quickly():
    """Section 1.9: rounds of Newton's method until all 64 states are right.

    With a gain of 2, differences fade slowly and it takes many rounds; with one of 1.3 and small
    inputs, they grow, and few rounds are enough all the same.
    """

    def rounds(gain: float, size: float = 1) -> int:
        length, width = 64, 16
        torch.manual_seed(1)
        w = gain * torch.randn(width, width).double() / width**0.5
        inputs = size * torch.randn(length, width).double()
        right, state = [], torch.zeros(width).double()
        for x in inputs:
            state = torch.tanh(x + state @ w)
            right.append(state)
        right, guess = torch.stack(right), torch.zeros(length, width).double()
        for n in range(1, length + 1):
            before = torch.cat([torch.zeros(1, width).double(), guess[:-1]])
            new = torch.tanh(inputs + before @ w)
            slopes = (1 - new**2)[:, None, :] * w  # (L, D, D): from the state before
            moved, better = torch.zeros(width).double(), []
            for t in range(length):
                moved = new[t] + (moved - before[t]) @ slopes[t]
                better.append(moved)
            guess = torch.stack(better).nan_to_num().clamp(-1, 1)
            if (guess - right).abs().max() < 1e-6:
                return n
        return length

    assert rounds(0.5) <= 6
    assert rounds(2.0) > 15
    assert rounds(3.0) > 25
    assert rounds(1.3, size=0.01) <= 12
    assert "if small differences between its states fade quickly" in chapter.source("steps")
