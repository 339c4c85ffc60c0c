"""Chapter 8: what its text claims beyond what its cells print, tried in other experiments."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attnbook import (
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    SinusoidalPositions,
    causal_mask,
    device,
)
from attnbook.training.loop import train
from tests.support.chapters import Chapter

chapter = Chapter("08_transformer.ipynb")


class Reversing(nn.Module):
    """A stack of 8.3 between the ends of the model of 8.12."""

    def __init__(self, join: Callable[..., Tensor], n_layers: int, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding, self.positions = nn.Embedding(12, 64), SinusoidalPositions(64)
        self.attentions = nn.ModuleList(MultiHeadAttention(64, 4) for _ in range(n_layers))
        self.networks = nn.ModuleList(FeedForward(64, 256) for _ in range(n_layers))
        self.output, self.join = nn.Linear(64, 12), join
        self.double().to(device())

    def forward(self, numbers: Tensor) -> Tensor:
        rows = self.positions(self.embedding(numbers))
        for attention, network in zip(self.attentions, self.networks, strict=True):
            rows = self.join(rows, lambda x, attention=attention: attention(x)[0])
            rows = self.join(rows, network)
        return self.output(rows)


@pytest.mark.parametrize(
    ("name", "n_layers", "seed", "steps", "learns"),
    [
        *(("bare, norm before", 2, seed, 600, True) for seed in range(2)),
        *(("bare, norm before", 3, seed, 600, False) for seed in range(2)),
        *((f"residual, norm {place}", 3, 0, 300, True) for place in ("before", "after")),
    ],
)
def test_training_makes_rows_differ_in_two_bare_layers_but_not_in_three(
    stacks, name, n_layers, seed, steps, learns
):
    practice, model = (
        chapter.run("clip-practice")["practice"],
        Reversing(stacks["six"][name], n_layers, seed),
    )
    loss = practice(model, torch.optim.Adam, 0.003, steps, low=(100, 1))
    assert loss < 0.2 if learns else loss > 1


class Hours(nn.Module):
    """Two causal layers for the exam of 6.13, with norms over this shape."""

    def __init__(self, normalized: tuple[int, ...]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.positions = nn.Embedding(12, 32), SinusoidalPositions(32)
        self.layers = nn.ModuleList(EncoderLayer(32, 4, 128) for _ in range(2))
        for layer in self.layers:
            layer.norm1, layer.norm2 = nn.LayerNorm(normalized), nn.LayerNorm(normalized)
        self.output = nn.Linear(32, 12)
        self.to(device())

    def forward(self, walk: Tensor, mask: Tensor) -> Tensor:
        rows = self.positions(self.embedding(walk))
        for layer in self.layers:
            rows, _ = layer(rows, mask.to(rows.device))
        return self.output(rows)


def test_a_norm_over_the_whole_sentence_leaks_in_the_exam_of_6_13():
    exam = Chapter("06_masked_attention.ipynb").run("walks", "teacher")["exam"]

    def loss(normalized: tuple[int, ...]) -> float:
        losses = train(Hours(normalized), lambda m: exam(m, causal_mask), 200, lr=0.005)
        return sum(losses[-10:]) / 10

    assert loss((8, 32)) < 0.4
    assert loss((32,)) > 0.65


def broken_training(space: dict[str, Any], method: str) -> float:
    make, rate = {"SGD": (torch.optim.SGD, 0.3), "Adam": (torch.optim.Adam, 0.003)}[method]
    model = space["Mirror"](0, 1, norm_first=True)
    return space["practice"](model, make, rate, 100, broken=50)


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


@pytest.mark.parametrize("seed", range(4))
def test_at_the_same_factor_a_wide_head_learns_more_slowly_than_four_narrow_ones(seed):
    space = chapter.run("clip-mirror", "clip-practice", "scale-run")

    def loss(n_heads: int) -> float:
        sizes = {"d_model": 64, "norm_first": True, "attend": space["times"](8)}
        model = space["Mirror"](seed, 2, n_heads, **sizes)
        return space["practice"](model, torch.optim.Adam, 0.003, 80)

    assert loss(1) > 1.2 * loss(4)


def test_a_relu_layer_is_enough_for_one_clause_and_not_for_but(critics):
    def with_relu(d_model: int, n_heads: int) -> nn.Module:
        critic = critics["Critic"](d_model, n_heads)
        critic.judge = nn.Sequential(
            nn.Linear(d_model, 2 * d_model), nn.ReLU(), nn.Linear(2 * d_model, 2)
        )
        return critic

    space = critics | {"Critic": with_relu}
    exec(chapter.source("classify-train"), space)
    for write, learns in ((space["clause"], True), (space["review"], False)):
        texts = space["all_of"](write)
        for seed in range(3):
            _, accuracy = space["trained"](texts, 32, 0, seed)
            assert accuracy > 0.99 if learns else accuracy < 0.7


def test_one_head_is_enough_if_the_first_clause_is_neutral(critics):
    def served_first(dice):
        (then, happy), (first, _) = critics["clause"](dice), critics["clause"](dice)
        more = ["very"] * (len(first) - 4)  # the clause is just as long as one with a quality
        return (*first[:3], *more, "served", "but", *then), happy

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
