"""Chapter 8: what its text claims beyond what its cells print."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from attnbook import FeedForward, MultiHeadAttention, device
from attnbook.notebook.cost import cost
from tests.support.chapters import Chapter

chapter = Chapter("08_transformer.ipynb")
SEEDS = range(4)


@pytest.fixture(scope="module")
def stacks() -> dict[str, Any]:
    """The six stacks of 8.3, without the figure."""
    lines = chapter.source("depth-explore").splitlines()
    six = "\n".join(line for line in lines if not line.startswith(("at_top", "explore_depth")))
    return chapter.run("around-code", "around-measure", "depth-explore", **{"depth-explore": six})


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
def test_with_larger_matrices_the_gradient_explodes_with_and_without_residuals(stacks, seed):
    def larger_layer() -> list:
        attention, feed_forward = stacks["fresh_layer"]()
        for module in (attention.__closure__[0].cell_contents, feed_forward):
            for matrix in (p for p in module.parameters() if p.dim() == 2):
                matrix.data *= 3
        return [attention, feed_forward]

    space = dict(stacks)
    exec(chapter.source("around-measure"), space | {"fresh_layer": larger_layer}, space)
    for name in ("bare", "residual"):
        assert space["climb"](stacks["six"][name], seed)[1][12] > 1e8


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


def test_where_rows_do_not_grow_the_gradient_does_not_fall(orders):
    """Gradients fall because the rows grow (8.10): with smaller sublayers, neither happens."""
    smaller = changed_orders(orders, "xavier_uniform_(matrix)", "xavier_uniform_(matrix, gain=0.3)")
    slopes, _, sizes = smaller(norm_first=True, seed=0)
    usual, _, usual_sizes = orders["first_gradients"](norm_first=True, seed=0)
    assert usual_sizes[-1] / usual_sizes[0] > 2
    assert usual[-1] / usual[0] < 0.6
    assert sizes[-1] / sizes[0] < 1.2
    assert (slopes[-1] / slopes[0]).item() == pytest.approx(1, abs=0.25)


def broken_training(space: dict[str, Any], method: str, practice: Any = None) -> float:
    make, rate = {"SGD": (torch.optim.SGD, 0.3), "Adam": (torch.optim.Adam, 0.003)}[method]
    model = space["Mirror"](0, 1, norm_first=True)
    return (practice or space["practice"])(model, make, rate, 100, broken=50)


def test_sgd_is_thrown_to_where_gradients_are_large(monkeypatch):
    space = chapter.run("clip-mirror", "clip-practice")
    norms = []

    def note(parameters, limit):
        norms.append(math.sqrt(sum(p.grad.square().sum().item() for p in parameters)))

    monkeypatch.setattr(nn.utils, "clip_grad_norm_", note)
    broken_training(space, "SGD")
    assert max(norms[:50]) < 3
    assert min(norms[51:]) > 10


def test_adam_goes_on_if_it_forgets_its_averages_after_the_accident():
    space = chapter.run("clip-mirror", "clip-practice")

    def forget(step: int, optimizer: torch.optim.Optimizer, *names: str) -> None:
        for state in optimizer.state.values() if step == 51 else ():
            for name in names:
                state[name].zero_()

    def ending(*names: str) -> float:
        place = "        optimizer.zero_grad()\n"
        call = f"        forget(step, optimizer, *{names})\n"
        changed = space | {"forget": forget}
        exec(chapter.source("clip-practice").replace(place, call + place), changed)
        return broken_training(changed, "Adam")

    assert ending() > 1.7
    assert ending("exp_avg") > 1.7
    assert ending("exp_avg", "exp_avg_sq") < 1


def test_undivided_a_wide_head_learns_in_smaller_and_more_steps():
    space = chapter.run("clip-mirror", "clip-practice", "scale-run")
    sizes = {"n_heads": 1, "d_model": 64, "norm_first": True, "attend": space["times"](8)}
    loss = space["practice"](space["Mirror"](0, 2, **sizes), torch.optim.Adam, 0.001, 200)
    assert loss < 0.4


@pytest.fixture(scope="module")
def critics() -> dict[str, Any]:
    names = ("classify-texts", "classify-batch", "classify-model", "classify-train")
    return chapter.run(*names)


def test_one_head_is_enough_if_the_first_clause_is_neutral(critics):
    def served_first(dice):
        then, happy = critics["clause"](dice)
        noun = dice.choice(critics["NOUNS"])
        return ("the", noun, "was", "served", "but", *then), happy

    texts = critics["all_of"](served_first)
    accuracies = sorted(critics["trained"](texts, 32, 1, seed)[1] for seed in range(3))
    assert accuracies[0] > 0.9
    assert accuracies[1] > 0.99


def test_one_head_learns_both_clauses_in_twice_the_steps(critics):
    space = dict(critics)
    exec(chapter.source("classify-train").replace("steps=200", "steps=400"), space)
    texts = space["all_of"](space["review"])
    assert min(space["trained"](texts, 32, 1, seed)[1] for seed in range(2)) > 0.99


def test_one_head_is_needed_for_a_not_and_the_other_without(critics):
    space = critics | {"with_but": critics["all_of"](critics["review"])}
    exec(chapter.source("critic-heads-votes"), space)
    ids, mask, labels = (part[len(part) * 4 // 5 :] for part in space["with_but"])
    is_not, is_but = (ids == space["known"].index(word) for word in ("not", "but"))
    denied = (is_not & (is_but.cumsum(-1) > 0)).any(-1)

    def accuracy(off: int | None) -> tuple[float, float]:
        rows, _ = space["votes"](ids, mask, off)
        mean = (rows * mask[:, 0]).sum(-1) / mask[:, 0].sum(-1)
        right = ((mean > 0).long() == labels).double()
        return right[denied].mean().item(), right[~denied].mean().item()

    assert min(accuracy(None)) > 0.99
    with_not, others = accuracy(0)
    assert with_not < 0.6 < 0.99 < others
    with_not, others = accuracy(1)
    assert others < 0.4 < 0.99 < with_not


def test_half_the_heads_saves_no_multiplications_and_half_the_width_does(critics):
    ids, mask, _ = (part[:32] for part in critics["all_of"](critics["review"]))

    def multiplications(d_model: int, n_heads: int) -> int:
        critic = critics["Critic"](d_model, n_heads).double().to(device())
        return cost(lambda: critic(ids, mask)).multiplications

    assert multiplications(32, 1) == multiplications(32, 2)
    assert multiplications(16, 2) < multiplications(32, 2) / 3
