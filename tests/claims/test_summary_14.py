"""The summary of chapter 14, tried with other vectors, sizes and initializations."""

import functools
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from attnbook import KVCache, LatentAttention, causal_mask, delta_rule, read_config
from attnbook.models.published import published_configs
from attnbook.notebook.cost import cost
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("14_todays_attention.ipynb")


@claim(
    "You know what latent attention keeps: one short vector per word, from which each head computes"
    " its own keys and values, and one rotary key.",
    "In a step, the matrices are absorbed into the query and the output, and no key is computed.",
    seed=(11, 12),
    heads=(2, 6),
)
@torch.no_grad()
def test_a_latent_layer_steps_without_keys_and_gives_the_same_rows(seed, heads):
    torch.manual_seed(seed)
    layer, x = LatentAttention(16, heads, 10, 8, 4).double(), torch.randn(9, 16).double()
    whole, weights = layer(x, causal_mask(9))
    assert len({tuple(head.flatten().tolist()) for head in weights}) == heads
    cache, rows, asked = KVCache(), [], []
    computed = layer.w_k, layer.w_v
    hooks = [part.register_forward_hook(lambda *a: asked.append(a)) for part in computed]
    for i, row in enumerate(x.split(1)):
        rows.append(layer(row, cache=cache)[0])
        assert len(asked) == 2  # only in the first step, which has nothing to read yet
        assert cache.key.numel() + cache.value.numel() == (i + 1) * (10 + 4)
    for hook in hooks:
        hook.remove()
    assert_close(torch.cat(rows), whole)


@functools.cache
def indexers(seed: int, width: int) -> dict:
    """The names of section 14.4, with another seed and width."""
    cells = ("indexer-model", "indexer-dense", "indexer-train", "indexer-run", "indexer-print")
    changed = {
        "indexer-dense": chapter.source("indexer-dense").replace("seed(0)", f"seed({seed})"),
        "indexer-train": chapter.source("indexer-train")
        .replace("seed(1)", f"seed({seed + 1})")
        .replace("Names(4)", f"Names({width})"),
    }
    return chapter.run(*cells, **changed)


@claim(
    "You know how keys can be chosen by content: a narrow indexer, trained to imitate attention,"
    " picks the best ones.",
    seed=(11, 12),
    width=(6,),
)
def test_a_trained_indexer_picks_the_keys_that_attention_needs(seed, width):
    made = indexers(seed, width)
    right = {name: made["share_right"](way, 8) for name, way in made["ways_to_choose"].items()}
    assert right["trained indexer"].min() > 0.9
    assert right["untrained"].max() < 0.4


@claim(
    "Its own work still grows with the square of the length, and the cache doesn't shrink.",
    seed=(11, 12),
    width=(6,),
    words=(40, 100),
)
@torch.no_grad()
def test_the_indexer_scores_all_pairs_and_chooses_each_key_for_some_query(seed, width, words):
    made, counts = indexers(seed, width), []
    for n in (words, 2 * words):
        names, _ = made["named_texts"](1, n)
        score = functools.partial(made["index_scores"], made["indexer"], names)
        counts.append(cost(score).multiplications)
        chosen = score().topk(8).indices.flatten(1)  # of each of five models
        assert all(len(keys.unique()) > 0.95 * n for keys in chosen)
    assert counts[1] == 4 * counts[0]


@claim(
    "You know what the delta rule replaces: it adds only the difference between the new value and"
    " what the state holds for its key.",
    seed=(11, 12),
    width=(4, 30),
)
def test_the_delta_rule_writes_a_difference(seed, width):
    torch.manual_seed(seed)
    state = torch.randn(width, 5).double()
    key = F.normalize(torch.randn(1, width).double(), dim=-1)
    value, beta = torch.randn(1, 5).double(), torch.tensor([0.7]).double()
    _, new = delta_rule(key, key, value, beta, state=state)
    assert_close(new - state, key.T @ (0.7 * (value - key @ state)))
    _, whole = delta_rule(key, key, value, torch.ones(1).double(), state=new)
    assert_close(key @ whole, value)


@claim(
    "The width of the state still limits how many names are kept apart.",
    seed=(11, 12),
    width=(8, 24),
)
def test_more_names_than_the_width_are_not_all_recalled(seed, width):
    torch.manual_seed(seed)
    off = {}
    for names in (width // 2, 4 * width):
        key = F.normalize(torch.randn(names, width).double(), dim=-1)
        key = torch.linalg.qr(key.T)[0].T if names <= width else key  # at right angles, if possible
        value = torch.randn(names, 5).double()
        _, state = delta_rule(key, key, value, torch.ones(names).double())
        off[names] = (key @ state - value).abs().mean()
    assert off[width // 2] < 1e-9
    assert off[4 * width] > 0.2


@functools.cache
def one_head() -> dict:
    """Section 14.8 without its models."""
    made = chapter.source("sinks-two-run").partition("spellers = ")[0]
    cells = ("norms-model", "norms-forward", "norms-logits", "norms-run")
    more = ("sinks-two-texts", "sinks-two-loss", "sinks-two-run")
    return chapter.run(*cells, *more, **{"sinks-two-run": made})


def with_seed(cell: str, seed: int) -> dict:
    """The names of 14.8, with another seed in one of its cells."""
    space = dict(one_head())
    source = chapter.source(cell).partition("spellers = ")[0]
    exec(source.replace("manual_seed(0)", f"manual_seed({seed})"), space)
    return space


@claim("Norms bound the scores at high learning rates,", seed=(11, 12), lr=(0.07,))
def test_norms_bound_the_scores_and_save_the_training(seed, lr):
    two_back: Callable = with_seed("norms-run", seed)["two_back"]
    (plain, largest), (with_norm, bounded) = (two_back(norm=norm, lr=lr) for norm in (False, True))
    assert bounded < largest / 2
    assert sum(with_norm) > sum(plain)


@claim(
    "a learned sink lets a head attend to nothing, and a gate closes what it hands over.",
    seed=(11, 12),
    start=(2.0,),
)
@torch.no_grad()
def test_a_sink_takes_weight_from_the_first_symbol_and_a_gate_takes_away_the_harm(seed, start):
    space = with_seed("sinks-two-run", seed)
    weight, harm, total = {}, {}, {}
    with torch.enable_grad():
        models = {
            "neither": space["speller"](),
            "sink": space["speller"](sink=start),
            "gate": space["speller"](gate=True),
        }
    for name, model in models.items():
        whole, weights = space["spelling_loss"](model, space["fresh"], causal_mask(32))
        short, _ = space["spelling_loss"](model, space["fresh"], space["sink_mask"](32, 4, 0))
        late = weights.cpu()[:, space["late"]]
        weight[name], total[name] = late[..., 0].mean(), late.sum(-1).mean()
        harm[name] = (short - whole)[..., 16:].mean((1, 2)).abs().max()
    assert total["neither"].item() == pytest.approx(1)
    assert total["sink"] < 0.8
    assert weight["sink"] < weight["neither"] / 2
    assert harm["gate"] < 0.05 < harm["neither"]


@claim(
    "You can read a config.json: it gives the size of the cache, the windows, the latent and the"
    " kinds of layers.",
    "Learned sinks and gates are only in the code.",
    tried="all published configurations in the library",
)
def test_what_the_fields_of_published_configurations_say():
    found = {name: read_config(config) for name, config in published_configs().items()}
    assert all(one.cache_bytes(1000) for one in found.values())
    fields = {field for one in found.values() for field in one.fields}
    for word in ("window", "kv_lora_rank", "layer_types"):
        assert any(word in field for field in fields), word
    for name in ("gpt_oss", "qwen3_next"):
        assert not any("sink" in field or "gate" in field for field in found[name].fields)
