"""Chapter 11: what its text claims beyond what its cells print."""

import pytest
import torch
from transformers import FalconConfig, GPT2Config, LlamaConfig, MistralConfig

from tests.support.chapters import Chapter

chapter = Chapter("11_modern_attention.ipynb")


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("GPT-2 small", GPT2Config()),
        ("Llama 2 7B", LlamaConfig()),
        ("Mistral 7B", MistralConfig()),
        ("Falcon 7B", FalconConfig()),
    ],
)
def test_the_sizes_of_models_are_those_of_their_configurations(model, config):
    sizes = chapter.run("weight-models")["sizes"]
    n_keys = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    n_keys = 1 if getattr(config, "multi_query", False) else n_keys
    width = config.hidden_size // config.num_attention_heads
    theirs = (config.num_hidden_layers, config.num_attention_heads, n_keys, width)
    assert sizes[model] == theirs


def test_after_more_steps_two_key_heads_are_enough_and_one_lags_behind():
    longer = chapter.source("price-train").replace("steps=150", "steps=300")
    assert longer != chapter.source("price-train")
    share_named = chapter.run("price-model", "price-train", **{"price-train": longer})["share_named"]
    solved = [sum(share_named(8, keys, seed) > 0.95 for seed in range(5)) for keys in (8, 2, 1)]
    assert solved == [5, 5, 3]


def test_a_sigmoid_that_begins_at_a_half_leans_on_the_first_sign_too():
    halved = chapter.source("sinks-sigmoid").replace(" - 3    # at first: rather no", "")
    assert halved != chapter.source("sinks-sigmoid")
    cells = ("five-class", "five-run", "sinks-texts", "sinks-train", "sinks-where", "sinks-places")
    space = chapter.run(*cells, "sinks-window", "sinks-sigmoid", **{"sinks-sigmoid": halved})
    for first_sign, total in space["looks"](space["by_sigmoid"]):
        assert 0.25 < first_sign < 0.85
        assert 2 < total < 8.5
    losses = [space["late_loss"](space["by_sigmoid"], mask) for mask in space["masks"].values()]
    assert all(window > 1.2 * everything for everything, window, _ in zip(*losses, strict=True))


def test_the_first_word_of_a_long_text_is_lost_at_distances_never_seen():
    """60 places back is beyond what 16 words show, and a quarter of it is not."""
    SHORT = chapter.run("longer-tasks-code")["SHORT"]
    assert SHORT - 1 == 15 == 60 // 4


def test_a_group_is_found_by_a_division():
    space = chapter.run("two-layers", "grouped-loop")
    groups = [h // (space["n_heads"] // space["n_kv"]) for h in range(space["n_heads"])]
    assert groups == [0, 0, 0, 1, 1, 1]
    assert torch.equal(torch.arange(2).repeat_interleave(3), torch.tensor(groups))
