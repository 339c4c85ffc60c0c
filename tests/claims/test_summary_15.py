"""The summary of chapter 15, tried with other vectors, sizes and initializations."""

import functools
import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from attnbook import LanguageModel
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("15_debugging.ipynb")
FAULTS = ("loss-model", "loss-learn", "five-parts", "five-layer", "five-moves", "five-rest")


@pytest.fixture(autouse=True)
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@claim(
    "A loss doesn't tell you whether attention is right: a model can learn around a fault, and a"
    " leak lowers the loss.",
    seed=(11, 12),
    width=(48,),
)
def test_a_fault_is_learned_around_and_a_leak_lowers_the_loss(seed, width):
    wider = {
        cell: chapter.source(cell).replace("32", str(width)).replace("96", str(3 * width))
        for cell in ("loss-model",)
    }
    space = chapter.run("loss-model", "loss-forward", "loss-learn", "loss-train", **wider)
    learn, loss, mirror, again = (
        space[name] for name in ("learn", "held_out_loss", "mirror", "again")
    )
    assert loss(learn(mirror, seed, 80, merge=space["no_transpose"]), mirror) < 0.2
    floor = 5 / 11 * math.log(16)
    assert loss(learn(again, seed, 100, causal=True), again) > floor - 0.02
    assert loss(learn(again, seed, 100, causal=True, axis=1), again) < 0.7 * floor


@claim(
    "Compare it with a floor that you know, such as $\\ln V$ before training,",
    seed=(11, 12),
    words=(30, 2000),
)
@torch.no_grad()
def test_the_first_loss_is_not_below_ln_v_and_about_that_in_an_untied_model(seed, words):
    torch.manual_seed(seed)
    first, ids = {}, torch.randint(words, (8, 65))
    for tied in (False, True):
        logits = LanguageModel(words, 64, 4, 2, 2, 128, tied=tied)(ids[:, :-1])
        first[tied] = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item()
    assert first[False] == pytest.approx(math.log(words), abs=0.4)
    assert min(first.values()) > math.log(words) - 0.1


@functools.cache
def faults(heads: int) -> dict:
    """The layers and experiments of 15.2 and 15.3, with another number of heads."""
    layer = chapter.source("five-layer").replace("split_heads(t, 2)", f"split_heads(t, {heads})")
    faulty = chapter.source("blind-faults").replace("(2, -1)", f"({heads}, -1)")
    faulty = faulty.replace('"scale": 2.0', f'"scale": {(8 / heads) ** 0.5}')
    changed = {"five-layer": layer, "blind-faults": faulty}
    return chapter.run(*FAULTS, "five-cache", "blind-faults", **changed)


def noticed(space: dict, fault: str, seed: int) -> list[str]:
    torch.manual_seed(seed)
    layer = space["Layer"](**space["FAULTS"][fault])
    return [name for name, experiment in space["FIVE"].items() if experiment(layer)]


@claim(
    "Five experiments decide who depends on whom: change a row, another sentence, the order, the"
    " padding, and the way of computing (cache or full text).",
    "Each experiment has a blind spot.",
    seed=(11, 12),
    heads=(2, 4),
)
def test_every_fault_of_dependence_is_noticed_and_no_experiment_notices_all(seed, heads):
    space = faults(heads)
    found = {fault: noticed(space, fault, seed) for fault in space["FAULTS"]}
    silent = [fault for fault, names in found.items() if not names]
    assert silent == ["no fault", "not divided by the root"]
    for name in space["FIVE"]:
        assert 0 < sum(name in names for names in found.values()) < len(found) - 2


@claim(
    "Only a comparison with a reference tells you what a number should be.",
    seed=(11, 12),
    heads=(2, 4),
)
@torch.no_grad()
def test_only_a_reference_shows_a_missing_root(seed, heads):
    space = faults(heads)
    assert noticed(space, "not divided by the root", seed) == []
    torch.manual_seed(seed)
    wrong, right = space["Layer"](**space["FAULTS"]["not divided by the root"]), space["Layer"]()
    right.load_state_dict(wrong.state_dict())
    assert (wrong(space["x"]) - right(space["x"])).abs().max() > 1e-3


@claim(
    "Test with sizes that all differ, with more than one sentence, with padding on the side that"
    " counts,",
    seed=(11, 12),
    heads=(2, 4),
)
@torch.no_grad()
def test_equal_sizes_one_sentence_and_padding_on_the_right_hide_faults(seed, heads):
    space = faults(heads)
    torch.manual_seed(seed)
    layer, kinds, x = space["Layer"], space["FAULTS"], space["x"]
    right, one = layer(), x[:1]

    def like_right(fault: str) -> nn.Module:
        wrong = layer(**kinds[fault])
        wrong.load_state_dict(right.state_dict())
        return wrong

    mixed, unmasked = like_right("sentences taken for heads"), like_right("mask without effect")
    assert_close(mixed(one), right(one))
    assert (mixed(x) - right(x)).abs().max() > 0.01
    keep = (torch.arange(7) < 5).expand(3, 7)
    padded = torch.cat((x, torch.ones(3, 2, 8)), dim=1)
    assert_close(unmasked(padded, keep=keep)[:, :5], right(x))
    assert space["padding_counts"](unmasked)
    square = torch.randn(heads, 1, heads, 8 // heads)  # as many words as heads
    assert space["no_transpose"](square).shape == space["merge_heads"](square).shape


@claim(
    "PyTorch's modules expect the sequence first by default,",
    "don't pass the source's padding mask on to the decoder,",
    "and may return other numbers in padded rows under `no_grad`.",
    seed=(11, 12),
    layers=(1, 3),
)
@pytest.mark.filterwarnings("ignore:.*nested")
def test_what_surprises_in_pytorchs_modules(seed, layers):
    torch.manual_seed(seed)
    x = torch.randn(3, 5, 8)
    assert nn.MultiheadAttention(8, 2)(x, x, x)[1].shape == (5, 3, 3)

    sizes = {"num_encoder_layers": layers, "num_decoder_layers": layers, "dim_feedforward": 16}
    model = nn.Transformer(8, 2, **sizes, dropout=0.0, batch_first=True).eval()
    source, target, pad = torch.randn(1, 6, 8), torch.randn(1, 4, 8), torch.arange(6)[None] >= 4
    junk = source.clone()
    junk[:, 4:] += 1

    def moved(**masks: Tensor) -> float:
        given = {"src_key_padding_mask": pad, **masks}
        return (model(source, target, **given) - model(junk, target, **given)).abs().max().item()

    assert moved() > 1e-3
    assert moved(memory_key_padding_mask=pad) < 1e-9

    recorded = model.encoder(source, src_key_padding_mask=pad).detach()
    with torch.no_grad():
        quick = model.encoder(source, src_key_padding_mask=pad)
    assert_close(quick[~pad], recorded[~pad])
    assert (quick[pad] - recorded[pad]).abs().max() > 0.01


@claim("`is_causal=True` starts in the upper left corner.", queries=(1, 3), keys=(5, 9))
def test_is_causal_starts_in_the_upper_left_corner(queries, keys):
    query, key = torch.randn(1, queries, 4), torch.randn(1, keys, 4)
    value = torch.eye(keys)[None]  # so the output is the weights
    weights = F.scaled_dot_product_attention(query, key, value, is_causal=True)[0]
    assert (weights > 0).equal(torch.ones(queries, keys, dtype=torch.bool).tril())


@claim(
    "`examine` runs such experiments on your own layer and names what it finds.",
    "Its silence proves nothing, and it tells you what it has tried.",
    seed=(11, 12),
    heads=(2, 4),
)
def test_examine_finds_some_faults_misses_others_and_says_what_it_tried(seed, heads):
    space = faults(heads)
    found, tried = {}, set()
    for fault, parts in space["FAULTS"].items():
        torch.manual_seed(seed)
        layer = space["Layer"](**parts).float()
        report = space["examine"](layer, kind="layer", causal=True, n_heads=heads, positions=True)
        found[fault] = [finding.fault for finding in report.findings]
        tried.add(bool(report.tried))
    assert not found["no fault"]
    assert found["all words at position 0"] == ["order_blind"]
    assert found["heads merged by reshape"]
    assert not found["positions start again"]
    assert tried == {True}
