"""Chapter 8: what its text claims beyond what its cells print."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook import FeedForward, MultiHeadAttention
from attnbook.cost import cost
from tests.support.chapters import Chapter

chapter = Chapter("08_transformer.ipynb")


def without_its_end(name: str, end: str) -> str:
    """The source of a cell up to the first line that begins so."""
    lines = chapter.source(name).splitlines()
    return "\n".join(lines[: next(i for i, line in enumerate(lines) if line.startswith(end))])


@pytest.fixture(scope="module")
def stacks() -> dict[str, Any]:
    short = {
        "around-run": without_its_end("around-run", "came_back"),
        "around-control": without_its_end("around-control", "print_stacks("),
        "layer-lost": without_its_end("layer-lost", "print("),
    }
    return chapter.run("around-code", "around-measure", *short, **short)


def test_it_is_the_attention_to_other_rows_that_makes_rows_alike(stacks):
    def layer_that_sees_itself() -> list:
        attention = MultiHeadAttention(64, 4).double()
        alone = torch.eye(10, dtype=torch.bool)
        return [lambda x: attention(x, mask=alone)[0], FeedForward(64, 256).double()]

    _, unlike, own = stacks["mean_of_starts"](stacks["rescaled"])
    _, unlike_alone, own_alone = stacks["mean_of_starts"](
        stacks["rescaled"], layer_that_sees_itself
    )
    assert unlike[10] < 0.01
    assert unlike_alone[10] > 0.1
    assert own[3] < 0.2
    assert own_alone[3] > 0.99


def test_it_is_the_feed_forward_network_on_top_that_makes_rows_short(stacks):
    """With one more norm on top of all, one layer read literally loses nothing (8.6)."""
    literally = stacks["readings"]["read literally"]
    space = dict(stacks)
    measured = chapter.source("around-measure").replace("(y * wanted)", "(top(y) * wanted)")
    exec(measured, space | {"top": lambda y: F.layer_norm(y, y.shape[-1:])}, space)
    back, *_ = space["sent_up"](literally, 0, stacks["fresh_layer"])
    assert back[1] > 0.9
    assert stacks["mean_of_starts"](literally)[0][1] < 0.3


@pytest.fixture(scope="module")
def orders() -> dict[str, Any]:
    return chapter.run("order-code")


def test_where_rows_do_not_grow_the_gradient_does_not_fall(orders):
    """The size of the rows is the cause (8.10), tried from the other side: smaller parts."""
    space = dict(orders)
    small = chapter.source("order-code").replace(
        "nn.init.xavier_uniform_(matrix)", "nn.init.xavier_uniform_(matrix, gain=0.3)"
    )
    exec(small, space)
    slopes, _, sizes = space["first_gradients"](norm_first=True, seed=0)
    usual, _, usual_sizes = orders["first_gradients"](norm_first=True, seed=0)
    assert usual_sizes[-1] / usual_sizes[0] > 2
    assert usual[-1] / usual[0] < 0.6
    assert sizes[-1] / sizes[0] < 1.2
    assert slopes[-1] / slopes[0] == pytest.approx(1, abs=0.25)


def test_sgd_is_thrown_to_where_gradients_are_large(monkeypatch):
    space = chapter.run("clip-mirror", "clip-practice", "clip-run")
    norms = []

    def note(parameters, limit):
        norms.append(math.sqrt(sum(p.grad.square().sum().item() for p in parameters)))

    monkeypatch.setattr(nn.utils, "clip_grad_norm_", note)
    space["ending"]("SGD", "one loss × 1000")
    assert max(norms[:50]) < 3
    assert min(norms[51:]) > 10


def test_half_the_heads_saves_no_multiplications_and_half_the_width_does():
    space = chapter.run("classify-texts", "classify-batch", "classify-model")
    ids, mask, _ = (part[:32] for part in space["all_of"](space["review"]))

    def multiplications(d_model: int, n_heads: int) -> int:
        critic = space["Critic"](d_model, n_heads).double()
        return cost(lambda: critic(ids, mask)).multiplications

    assert multiplications(32, 1) == multiplications(32, 2)
    assert multiplications(16, 2) < multiplications(32, 2) / 3
