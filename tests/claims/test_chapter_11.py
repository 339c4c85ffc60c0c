"""Chapter 11: what its text claims beyond what its cells print, tried in other experiments."""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    apply_rotary,
    causal_mask,
    scaled_dot_product_attention,
)
from attnbook.notebook.cost import seconds
from tests.support.chapters import Chapter

chapter = Chapter("11_modern_attention.ipynb")


def slowed(*divisors: float) -> Callable[..., tuple[Tensor, Tensor]]:
    """Attention that divides the positions of each pair of columns by the pair's own divisor."""

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, bias: Tensor | None):
        at = torch.arange(query.size(-2))

        def slower(rows: Tensor) -> Tensor:
            pairs = zip(rows.split(2, dim=-1), divisors, strict=True)
            moved = [apply_rotary(x, (at / by - at) / 10**k) for k, (x, by) in enumerate(pairs)]
            return torch.cat(moved, dim=-1)

        return scaled_dot_product_attention(slower(query), slower(key), value, mask, bias)

    return attend


def test_two_back_needs_the_fastest_rotation_as_in_training():
    space = chapter.run("longer-reader", "longer-tasks-code", "longer-train")
    model = space["trained"](space["two_back"], "rotary", 0)
    found = []
    for divisors in (4, 1, 1, 1), (1, 4, 4, 4):
        for layer in model.layers:
            layer.attend = slowed(*divisors)
        found.append(space["right"](model, space["two_back"], "rotary", 64))
    assert found[0] < 0.1
    assert found[1] > 0.9


class LearnedNobody(nn.Module):
    """Attention in which nobody's score is learned, as in gpt-oss."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, bias: None
    ) -> tuple[Tensor, Tensor]:
        nobody = self.score.expand(*query.shape[:-2], query.size(-2), 1)
        scores = (query @ key.mT / query.size(-1) ** 0.5).masked_fill(~mask, -torch.inf)
        weights = torch.cat((scores, nobody), -1).softmax(-1)[..., :-1]
        return weights @ value, weights


class Gated(nn.Module):
    """Attention whose output is multiplied by a gate that is computed from the layer's input."""

    def __init__(self, layer: GroupedQueryAttention) -> None:
        super().__init__()
        self.gate = nn.Linear(32, 32, dtype=torch.float64)
        layer.register_forward_pre_hook(lambda module, inputs: vars(self).update(x=inputs[0]))

    def forward(self, *arguments: Any) -> tuple[Tensor, Tensor]:
        output, weights = scaled_dot_product_attention(*arguments)
        return output * self.gate(self.x).sigmoid().unsqueeze(-3), weights


def test_a_learned_score_leaves_a_smaller_sink_and_a_gate_leaves_the_weight_without_the_harm():
    where = chapter.source("sinks-where").partition("\n")[2].replace("in spellers", "in []")
    cells = "longer-reader", "sinks-texts", "sinks-train", "sinks-where", "sinks-window"
    window = chapter.source("sinks-window").partition("for name")[0]
    space = chapter.run(*cells, **{"sinks-where": where, "sinks-window": window})
    span, late, texts = space["SPAN"], space["late"], space["new_texts"]
    printed = chapter.cells["sinks-where"]["outputs"][0]["text"]
    plain = [float(number) for number in re.findall(r"0\.\d+", "".join(printed))]
    for seed in (1, 2):
        found = {}
        for name in ("score", "gate"):
            torch.manual_seed(seed)
            model = space["Reader"](28, 1, 1, "rotary").double()
            layer = model.layers[0]
            layer.attend = LearnedNobody() if name == "score" else Gated(layer)

            def loss(model: nn.Module) -> Tensor:
                return space["losses"](model, space["spelled"](16), causal_mask(span))[0].mean()

            space["train"](model, loss, steps=300, lr=0.02)
            with torch.no_grad():
                _, weights = space["losses"](model, texts, causal_mask(span))
                harm = [
                    space["late_loss"](model, space["masks"][mask])
                    for mask in ("window of 4", "all")
                ]
            found[name] = weights[late][:, 0].mean().item(), harm[0] - harm[1]
        assert 0.1 < found["score"][0] < plain[seed] - 0.1
        assert found["gate"][0] > plain[seed] / 2
        assert found["gate"][1] < 0.03


# --- time, which no test of `make test` measures -----------------------------------------------


def test_in_time_a_cache_saves_less_because_single_rows_are_slow():
    layer, n, width = GroupedQueryAttention(64, 8, 8), 200, 64
    text, matrix = torch.randn(n, width), torch.randn(width, width)

    def steps() -> None:
        cache = KVCache()
        for row in text.split(1):
            layer(row, cache=cache)

    with torch.no_grad():
        quick = seconds(steps)
        slow = sum(seconds(lambda t=t: layer(text[:t], causal_mask(t))) for t in range(5, n, 10))
    counted = sum(4 * t * width**2 + 2 * t * t * width for t in range(1, n + 1))
    counted /= sum(4 * width**2 + 2 * t * width for t in range(1, n + 1))
    assert 10 * slow / quick < counted / 1.5
    one, all_rows = (seconds(lambda x=x: x @ matrix) for x in (text[:1], text))
    assert all_rows / n < one / 3
