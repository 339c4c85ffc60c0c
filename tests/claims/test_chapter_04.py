"""Chapter 4: what its text claims beyond what its cells print, tried in other experiments."""

import copy
import functools

import pytest
import torch
from torch import nn

from tests.support.chapters import Chapter

chapter = Chapter("04_multi_head.ipynb")
WIDTH, SEEDS = 24, (5, 6)
CELLS = "sentence-code reporter-code loss-code run-table words-only-code shared-code"


@functools.cache
def names(width):
    """The chapter's names at some width, before training. Each model is trained only once."""
    other = {
        "reporter-code": chapter.source("reporter-code").replace("WIDTH = 16", f"WIDTH = {width}"),
        "shared-run": chapter.source("shared-run").partition("table(")[0],
    }
    made = chapter.run(*CELLS.split(), "shared-run", **other)
    assert made["WIDTH"] == width
    return made | {"grow": functools.cache(made["grow"])}


@pytest.fixture(scope="module")
def game():
    return names(WIDTH)


@torch.no_grad()
def right_reports(game, model):
    """Which reports are right on the chapter's test set, as a tensor of shape (600, 9, 2)."""
    said = model(game["test_ids"], game["test_digits"])[0].argmax(dim=-1)
    return (said == game["test_due"]).double()


def both_right(game, *args, seeds=SEEDS, **options):
    """How often both reports of a noun are right, for each seed."""
    models = [game["grow"](seed, *args, **options) for seed in seeds]
    right = [right_reports(game, model)[:, game["NOUN"]] for model in models]
    return [r.prod(dim=-1).mean().item() for r in right]


def test_it_takes_two_maps_and_two_contents(game):
    """Change one factor at a time: the maps, the blocks of W_O, or the ReLU after the head."""
    assert min(both_right(game, 2)) > 0.95
    assert min(both_right(game, 2, kind=game["Sharing"])) > 0.8
    assert max(both_right(game, 1, kind=game["Sharing"])) < 0.6
    assert max(both_right(game, 1)) < 0.6
    assert min(both_right(game, 1, nn.ReLU())) > 0.7


def test_before_training_no_report_is_better_than_guessing(game):
    assert max(both_right(game, 2, steps=1, lr=0.0)) < 0.05


@pytest.mark.parametrize(("width", "seeds"), [(16, range(5)), (WIDTH, SEEDS)])
def test_each_head_does_one_job(width, seeds):
    """What 4.11 says about all five models: removing a head makes one report fail."""
    game = names(width)
    for seed in seeds:
        model, nouns = game["grow"](seed, 2), []
        for h in (0, 1):
            cut = copy.deepcopy(model)
            with torch.no_grad():
                cut.attention.w_o.weight.unflatten(1, (2, -1))[:, h] = 0
            nouns.append(right_reports(game, cut)[:, game["NOUN"]].mean(dim=(0, 1)))
        kept = torch.stack(nouns)  # (2, 2): by removed head and by report
        assert sorted(kept.argmax(dim=-1).tolist()) == [0, 1]
        assert kept.amax(dim=-1).min() > 0.9 > 0.3 > kept.amin(dim=-1).max()


@torch.no_grad()
def exchanged(model, half):
    """Exchange the contents of the model's two heads in place; they keep their attention maps."""
    value, out = model.attention.w_v, model.attention.w_o
    value.weight.copy_(value.weight.roll(half, dims=0))
    value.bias.copy_(value.bias.roll(half))
    out.weight.copy_(out.weight.roll(half, dims=1))
    return model


@pytest.mark.parametrize(("width", "seeds", "n_most"), [(16, range(5), 4), (WIDTH, SEEDS, 2)])
def test_heads_that_exchange_contents_exchange_the_reports_of_the_nouns(width, seeds, n_most):
    """What 4.12 says about the two heads after training, and about one model of five."""
    game, nouns = names(width), []
    for seed in seeds:
        model = exchanged(copy.deepcopy(game["grow"](seed, 2)), width // 2)
        said = model(game["test_ids"], game["test_digits"])[0].argmax(dim=-1)
        due = game["test_due"]
        own, other = said == due, said == due.flip(-1)
        nouns.append(other[:, game["NOUN"]].all(dim=-1).double().mean().item())
        assert own[:, game["NOUN"]].double().mean() < 0.5
        assert own[:, game["QUALITY"], 0].double().mean() > 0.6
        assert own[:, game["PRONOUN"], 1].double().mean() > 0.6
    assert sum(fraction > 0.5 for fraction in nouns) == n_most


def test_a_gelu_helps_as_a_relu_does(game):
    assert min(both_right(game, 1, nn.GELU())) > 0.7


def test_half_the_width_needs_more_steps():
    """What 4.11 says in parentheses about half the width."""
    narrow, seeds = names(8), range(2)
    assert max(both_right(narrow, 2, seeds=[0]) + both_right(narrow, 1, nn.ReLU(), seeds=[0])) < 0.8
    assert min(both_right(narrow, 2, seeds=seeds, steps=500)) > 0.8
    assert min(both_right(narrow, 1, nn.ReLU(), seeds=seeds, steps=400)) > 0.8


def test_with_more_steps_one_head_reports_both_digits():
    """What 4.11 and 4.12 say about four and eight times the steps."""
    game = names(16)
    assert min(both_right(game, 1, steps=600, seeds=[0, 3])) > 0.8
    assert min(both_right(game, 1, steps=1200, seeds=[4])) > 0.9  # "nearly all nouns"


def test_with_more_steps_the_digits_move_the_weights():
    """What 4.12 says about the first model with one head and four times the steps."""
    game = names(16)
    model = game["grow"](0, 1, steps=600)
    torch.manual_seed(5)
    device = next(model.parameters()).device
    words, digits = game["IDS"].repeat(1000, 1), torch.randint(10, (1000, 9))
    maps = model(words.to(device), digits.to(device))[1]
    weight = maps[:, 0, 0, 2]  # from the first noun to its quality
    assert weight.max() - weight.min() > 0.5


def test_the_mean_of_the_maps_shows_both_jobs():
    """What 4.8 says: 苹果 attends to 甜 and 它, 妹妹 to 聪明 and 她, about half and half."""
    game = names(16)
    digits = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5]]).to(game["device"]())
    for seed in range(5):
        maps = game["grow"](seed, 2)(game["IDS"][None].to(game["device"]()), digits)[1]
        mean = maps[0].mean(dim=0)  # (9, 9)
        assert mean[0].topk(2).indices.sort().values.tolist() == [2, 5]
        assert mean[8].topk(2).indices.sort().values.tolist() == [3, 6]
        assert mean[[0, 8]].topk(2).values.min() > 0.3
