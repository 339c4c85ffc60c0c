"""Chapter 14: what its text claims beyond what its cells print, tried in other experiments."""

import pytest
import torch

from tests.support.chapters import Chapter

chapter = Chapter("14_todays_attention.ipynb")


@pytest.mark.parametrize("seed", [5, 6])
def test_a_latent_costs_far_less_than_one_key_head_of_the_same_size(seed):
    cells = ("latent-sentences", "latent-changes", "latent-apply")
    source = chapter.source("latent-sentences")
    assert "Draw(5)" in source
    space = chapter.run(*cells, **{"latent-sentences": source.replace("(5)", f"({seed})")})
    for model, _ in space["trained"]:
        before = space["loss_of"](model)
        shared = space["loss_after"](space["one_key_head"], model)
        same, half = (space["loss_after"](space["latent_of"](rank), model) for rank in (32, 16))
        assert shared - before > 0.3
        assert same - before < 0.01
        assert half < shared - 0.2


def accuracies(space, read, width):
    """Return the accuracies of five models, initialized and trained with another seed."""
    model = space["fitted"](read, width, (8, 2))
    torch.manual_seed(1)
    with torch.no_grad():
        guesses, right = model(32, 8, 2)
    return (guesses.argmax(-1) == right).double().mean((1, 2))


def test_only_the_delta_rule_replaces_with_other_seeds_too():
    text = chapter.source("delta-train").replace("manual_seed(0)", "manual_seed(7)")
    space = chapter.run(
        "delta-texts", "delta-model", "delta-readers", "delta-train", **{"delta-train": text}
    )
    for name, low, high in (("sum", 0.4, 0.65), ("softmax", 0.4, 0.65), ("delta", 0.9, 1.0)):
        width = 4 if name == "softmax" else 64
        rates = accuracies(space, space[f"read_{name}"], width)
        assert ((rates >= low) & (rates <= high)).sum() >= 4, (name, rates)


def test_the_keys_of_the_delta_rule_recall_more_if_they_are_added_up():
    """Also with other initializations and another loss, so it isn't the keys that are worse."""
    loss = "F.cross_entropy(10 * guesses.flatten(0, -2), right.flatten())"
    text = chapter.source("delta-train").replace("manual_seed(0)", "manual_seed(7)")
    text = text.replace("total - (each + 1e-9).log().mean()", f"total + {loss}")
    assert loss in text
    cells = "delta-texts", "delta-model", "delta-readers", "delta-train"
    added = chapter.source("delta-width").partition("\nfor name")[0]
    space = chapter.run(*cells, "delta-width", **{"delta-train": text, "delta-width": added})
    model, rates = space["fitted"](space["read_delta"], 16, (16, 1)), []
    for model.read in space["read_delta"], space["read_added"]:
        torch.manual_seed(1)
        guesses, right = model(32, 64, 1)
        rates.append((guesses.argmax(-1) == right).double().mean((1, 2)))
    assert (rates[1] > rates[0] + 0.05).all()


def test_without_a_decay_later_words_cover_the_first_ones():
    """The same model reads texts that end sooner, so only the number of later words differs."""
    fade = chapter.source("delta-fade").partition("\nfor decay")[0]
    cells = "delta-texts", "delta-model", "delta-readers", "delta-train", "delta-fade"
    space = chapter.run(*cells, **{"delta-fade": fade})
    model = space["fitted"](space["read_delta"], 16, (64, 1), steps=50)
    draw = space["draw_texts"]
    recalled = []
    for length in (8, 16, 32, 64):
        space["draw_texts"] = lambda *sizes, n=length: [x[:, :, :n] for x in draw(*sizes)]
        recalled.append(space["by_age"](model)[:8].mean().item())
    assert recalled == sorted(recalled, reverse=True)
    assert 0.4 < recalled[0] < 0.6
    assert recalled[3] < recalled[0] / 2


@pytest.fixture(scope="module")
def one_head():
    return chapter.run("norms-model", "norms-forward", "norms-logits", "norms-run")


@pytest.mark.parametrize(("slow", "learned"), [(("w_q", "w_k"), [1.0] * 5), (("w_v", "w_o"), None)])
def test_a_high_rate_ruins_the_matrices_of_queries_and_keys_and_no_others(one_head, slow, learned):
    def train(model, loss, steps, lr):
        kept = [weight for name, weight in model.named_parameters() if name in slow]
        others = [weight for name, weight in model.named_parameters() if name not in slow]
        groups = [{"params": kept, "lr": 0.01}, {"params": others, "lr": lr}]
        optimizer = torch.optim.Adam(groups)
        for _ in range(steps):
            optimizer.zero_grad()
            loss(model).backward()
            optimizer.step()

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(one_head, "train", train)
        right, _ = one_head["two_back"](norm=False, lr=0.1)
    assert min(right) > 0.9 if learned else max(right) < 0.5


def test_a_learned_sink_that_starts_at_3_prevents_the_weight_and_the_harm():
    made = chapter.source("sinks-two-run").partition("spellers = ")[0]
    cells = "norms-model", "norms-forward", "norms-logits", "sinks-two-texts", "sinks-two-loss"
    space = chapter.run(*cells, "sinks-two-run", **{"sinks-two-run": made})
    model, fresh = space["speller"](sink=3.0), space["fresh"]
    with torch.no_grad():
        whole, weights = space["spelling_loss"](model, fresh, space["causal_mask"](32))
        short, _ = space["spelling_loss"](model, fresh, space["sink_mask"](32, 4, 0))
    assert weights[:, space["late"]][..., 0].mean(1).max() < 0.05
    assert (short - whole)[..., 16:].mean((1, 2)).max() < 0.02
