"""Chapter 8: what its text claims beyond what its cells print."""

from typing import Any

import pytest
import torch
from torch import nn

from attnbook import EncoderLayer, FeedForward, MultiHeadAttention, device
from attnbook.notebook.cost import cost
from tests.support.chapters import Chapter

chapter = Chapter("08_transformer.ipynb")
SEEDS = range(4)


def difference(rows: torch.Tensor) -> torch.Tensor:
    return (rows - rows.mean(0)).norm() / rows.norm()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_norm_saves_the_gradient_and_not_the_differences(stacks, seed):
    for name, join in stacks["six"].items():
        rows, gradients = stacks["climb"](join, seed)
        if name.startswith("residual"):
            assert gradients[6] > 0.5
            assert difference(rows[12]) > 0.4
        else:
            assert difference(rows[2]) < 0.01
            assert (gradients[6] < 1e-6) == (name == "bare")
            assert (gradients[12] > 0.05) == (name != "bare")


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_attention_to_other_rows_that_makes_rows_alike(stacks, seed):
    def layer_that_sees_itself() -> list:
        attention = MultiHeadAttention(64, 4).double().to(device())
        feed_forward = FeedForward(64, 256).double().to(device())
        alone = torch.eye(5, dtype=torch.bool).to(device())
        return [lambda x: attention(x, mask=alone)[0], feed_forward]

    space = dict(stacks)
    exec(chapter.source("around-measure"), space | {"fresh_layer": layer_that_sees_itself}, space)
    rows, _ = space["climb"](stacks["six"]["bare, norm after"], seed)
    assert difference(rows[2]) > 0.5
    assert difference(rows[12]) > 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_residual_connection_around_attention_keeps_rows_different(stacks, seed):
    bare, residual = (stacks["six"][f"{kind}, norm after"] for kind in ("bare", "residual"))

    def around_attention(x, f):
        return (bare if isinstance(f, FeedForward) else residual)(x, f)

    def around_feed_forward(x, f):
        return (residual if isinstance(f, FeedForward) else bare)(x, f)

    assert difference(stacks["climb"](around_attention, seed)[0][10]) > 0.1
    assert difference(stacks["climb"](around_feed_forward, seed)[0][4]) < 1e-3


@pytest.fixture(scope="module")
def larger(stacks) -> dict[str, Any]:
    """The six stacks, with all matrices three times as large."""

    def larger_layer() -> list:
        attention, feed_forward = stacks["fresh_layer"]()
        for module in (attention.__closure__[0].cell_contents, feed_forward):
            for matrix in (p for p in module.parameters() if p.dim() == 2):
                matrix.data *= 3
        return [attention, feed_forward]

    space = dict(stacks)
    exec(chapter.source("around-measure"), space | {"fresh_layer": larger_layer}, space)
    return space


@pytest.mark.parametrize("seed", SEEDS)
def test_with_larger_matrices_residual_connections_help_only_with_a_norm_before(larger, seed):
    climbed = {name: larger["climb"](join, seed) for name, join in larger["six"].items()}
    slopes = {name: gradients[12] for name, (_, gradients) in climbed.items()}
    differ = {name: difference(rows[12]) for name, (rows, _) in climbed.items()}
    assert min(slopes["bare"], slopes["residual"]) > 1e8
    assert 15 < slopes["residual, norm before"] < 35
    assert differ["residual, norm before"] > 0.2
    assert differ["bare, norm before"] < 0.01


def test_a_projection_is_written_as_x_times_w():
    assert not any("\\top" in cell["source"] for cell in chapter.cells.values())


def test_the_chapter_promises_only_what_it_breaks():
    assert "without residual connections and norms" in chapter.source("opening")
    measured = Chapter("04_multi_head.ipynb").printed()
    assert "ReLU                  >0.8 >0.8 >0.8" in measured
    assert "the same, no ReLU     0.22 0.20 0.22" in measured


def test_pytorch_drops_attention_weights_too():
    theirs = nn.TransformerEncoderLayer(16, 4, 64, dropout=0.5, batch_first=True)
    assert theirs.self_attn.dropout == 0.5
    ours = EncoderLayer(16, 4, 64, dropout=0.5)
    rows = torch.ones(1, 5, 16)
    torch.testing.assert_close(*(ours.attention(rows)[1] for _ in range(2)))


@pytest.fixture(scope="module")
def orders() -> dict[str, Any]:
    return chapter.run("order-code")


def changed_orders(orders: dict[str, Any], old: str, new: str) -> Any:
    space = dict(orders)
    assert chapter.source("order-code").count(old) == 1
    exec(chapter.source("order-code").replace(old, new), space)
    return space["first_gradients"]


def test_rows_ten_times_as_large_shrink_the_gradients_of_pre_norm_only(orders):
    larger = changed_orders(orders, "x, sizes = torch", "x, sizes = 10 * torch")
    for norm_first in (True, False):
        usual = sum(orders["first_gradients"](norm_first, seed)[0] for seed in range(5))
        ratio = sum(larger(norm_first, seed)[0] for seed in range(5)) / usual
        assert (ratio < 0.6).all() if norm_first else ((ratio - 1).abs() < 0.1).all()
    *slopes, sizes = sum(larger(True, seed) for seed in range(5)) / 5
    assert all(kind.max() / kind.min() < 1.2 for kind in slopes)
    assert sizes.max() / sizes.min() < 1.1


def test_at_the_top_of_post_norm_queries_and_keys_have_smaller_gradients(orders):
    queries, keys = (
        changed_orders(orders, "layer.attention.w_v.", f"layer.attention.{name}.")
        for name in ("w_q", "w_k")
    )
    for first_gradients in (queries, keys):
        post, pre = (sum(first_gradients(order, s) for s in range(5))[1, 11] for order in (0, 1))
        assert post < pre


def test_where_rows_do_not_grow_the_gradient_does_not_fall(orders):
    """Gradients fall because the rows grow (8.10): with smaller sublayers, neither happens."""
    smaller = changed_orders(orders, "xavier_uniform_(matrix)", "xavier_uniform_(matrix, gain=0.3)")
    slopes, _, sizes = smaller(norm_first=True, seed=0)
    usual, _, usual_sizes = orders["first_gradients"](norm_first=True, seed=0)
    assert usual_sizes[-1] / usual_sizes[0] > 2
    assert usual[-1] / usual[0] < 0.6
    assert sizes[-1] / sizes[0] < 1.2
    assert (slopes[-1] / slopes[0]).item() == pytest.approx(1, abs=0.25)


def test_half_the_heads_saves_no_multiplications_and_half_the_width_does(critics):
    ids, mask, _ = (part[:32] for part in critics["all_of"](critics["review"]))

    def multiplications(d_model: int, n_heads: int) -> int:
        critic = critics["Critic"](d_model, n_heads).double().to(device())
        return cost(lambda: critic(ids, mask)).multiplications

    assert multiplications(32, 1) == multiplications(32, 2)
    assert multiplications(16, 2) < multiplications(32, 2) / 3


def test_the_text_says_what_the_claims_try():
    assert "an untrained model can hardly tell the words apart" in chapter.source(
        "around-control-seen"
    )
