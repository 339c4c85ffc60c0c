"""Chapter 4: its experiment at another width and from other starts than its cells show."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook import MultiHeadAttention, apply_rotary
from attnbook.training import train
from tests.support.chapters import Chapter

chapter = Chapter("04_multi_head.ipynb")
WIDTH, SEEDS = 24, (5, 6, 7)


@pytest.fixture(scope="module")
def game():
    """The chapter's names, with rows of another width, and before it trains."""
    other = {
        "reporter-code": chapter.source("reporter-code").replace("WIDTH = 16", f"WIDTH = {WIDTH}"),
        "run-all": chapter.source("run-all").partition("two = ")[0],
        "shared-run": chapter.source("shared-run").partition("two_blocks = ")[0],
    }
    cells = ["lexicon", "sentence-code", "encode-code", "due-code", "reporter-code", "loss-code"]
    cells += ["exam-code", "examine-code", "run", "run-all", "shared-code", "shared-run"]
    made = chapter.run(*cells, **other)
    assert made["WIDTH"] == WIDTH
    return made


def both_right(game, make):
    return [game["grow"](make, seed).after.both for seed in SEEDS]


def test_it_takes_two_looks_and_two_contents(game):
    """One cause at a time: the number of maps, of blocks of W_O, and the bend behind the head."""
    assert min(both_right(game, game["reporter"](2, game["linear"]))) > 0.95
    assert min(both_right(game, game["sharing"](2))) > 0.8
    assert max(both_right(game, game["sharing"](1))) < 0.6
    assert max(both_right(game, game["reporter"](1, game["linear"]))) < 0.6
    assert min(both_right(game, game["reporter"](1, game["relu"]))) > 0.7


def test_heads_that_exchange_contents_exchange_the_reports_of_the_nouns(game):
    """What 4.11 concludes from five starts at width 16."""
    exec(chapter.source("exchange"), game)
    for seed in SEEDS[:2]:
        model = game["exchanged"](game["grow"](game["reporter"](2, game["linear"]), seed).model)
        said = model(game["exam_ids"], game["exam_digits"])[0].argmax(dim=-1)
        own, other = said == game["exam_due"], said == game["exam_due"].flip(-1)
        nouns = game["each"], game["noun"]
        assert own[nouns].double().mean() < 0.3 < 0.6 < other[nouns].double().mean()
        assert own[game["each"], game["quality"], 0].double().mean() > 0.9


def test_a_gelu_helps_as_a_relu_does(game):
    def bent():
        return nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, 20))

    assert min(both_right(game, game["reporter"](1, bent))) > 0.7


def test_other_widths_need_other_steps(game, monkeypatch):
    """What 4.11 says in brackets: of half the width, and of twice the width."""

    def worst(make, **steps):
        return min(game["grow"](make, seed, **steps).after.both for seed in range(3))

    two, one_relu = game["reporter"](2, game["linear"]), game["reporter"](1, game["relu"])
    monkeypatch.setitem(game, "WIDTH", 8)
    assert max(worst(two), worst(one_relu)) < 0.8 < worst(two, steps=300)
    monkeypatch.setitem(game, "WIDTH", 32)
    assert worst(one_relu) < 0.8 < worst(one_relu, lr=0.01)


def test_heads_of_one_content_are_one_head_with_the_mean_of_their_maps(game):
    torch.manual_seed(0)
    layer = game["SharedValue"](1).double()
    rows = torch.randn(2, 9, WIDTH).double()
    output, maps = layer(rows)
    expected = layer.w_o(maps.mean(dim=1) @ layer.w_v(rows))
    torch.testing.assert_close(output, expected)


class TwoAskers(nn.Module):
    """Words 0 and 1 are to name the two digits of word 2, each another one."""

    def __init__(self, residual: bool) -> None:
        super().__init__()
        self.word = nn.Parameter(torch.randn(3, WIDTH))
        self.first, self.second = nn.Embedding(10, WIDTH), nn.Embedding(10, WIDTH)
        self.attention, self.residual = MultiHeadAttention(WIDTH, 1), residual
        self.readout = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, digits: Tensor) -> Tensor:
        rows = self.word + self.first(digits[..., 0]) + self.second(digits[..., 1])  # (n, 3, D)
        found, _ = self.attention(rows)
        return self.readout(found + rows if self.residual else found)[:, :2]  # (n, 2, 10)


@pytest.mark.parametrize(("residual", "low", "high"), [(True, 0.95, 1), (False, 0.3, 0.7)])
def test_one_head_serves_two_askers_once_their_own_rows_are_added(residual, low, high):
    """What 4.1 says in brackets: one content for two words, and a ReLU layer behind."""
    for seed in (0, 1):
        torch.manual_seed(seed)
        model = TwoAskers(residual).double()

        def loss(model: nn.Module) -> Tensor:
            digits = torch.randint(10, (64, 3, 2))
            return F.cross_entropy(model(digits).flatten(0, 1), digits[:, 2].flatten())

        train(model, loss, steps=400, lr=0.02)
        digits = torch.randint(10, (1000, 3, 2))
        right = (model(digits).argmax(dim=-1) == digits[:, 2]).double().mean()
        assert low < right <= high


def test_a_bias_of_the_keys_moves_no_weight_unless_positions_rotate_it():
    torch.manual_seed(0)
    query, key = torch.randn(2, 5, 8).double()
    places = torch.arange(5)
    plain, rotated = (
        [(turn(query) @ turn(k).T).softmax(-1) for k in (key, key + 3)]
        for turn in (lambda x: x, lambda x: apply_rotary(x, places))
    )
    torch.testing.assert_close(*plain)
    assert (rotated[0] - rotated[1]).abs().max() > 0.1


def test_which_models_drop_weights_in_training():
    """What 4.8 says of real models, as far as their default configurations tell."""
    transformers = pytest.importorskip("transformers")
    assert transformers.BertConfig().attention_probs_dropout_prob == 0.1
    assert transformers.LlamaConfig().attention_dropout == 0
    assert transformers.Qwen2Config().attention_dropout == 0
