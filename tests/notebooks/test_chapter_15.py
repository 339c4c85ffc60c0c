"""Chapter 15: what its text claims beyond what its cells print."""

import itertools
import math
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook import (
    KVCache,
    SinusoidalPositions,
    causal_mask,
    scaled_dot_product_attention,
    sliding_window_mask,
)
from attnbook.exercises.catalog import ALL
from attnbook.exercises.chapters.ch15.patients import PATIENTS, diagnosis
from attnbook.widgets.moves import contradictions, who_moves_whom
from tests.support.chapters import BOOK, Chapter

chapter = Chapter("15_debugging.ipynb")
LAYER = ("loss-model", "loss-learn", "five-parts", "five-layer", "five-moves", "five-rest")
FAULTS = (*LAYER, "five-cache", "blind-faults")
NOTICED = {  # by which experiments
    "no fault": "",
    "heads merged by reshape": "rows padding cache",
    "sentences taken for heads": "sentences",
    "mask along the queries": "padding",
    "mask without effect": "padding",
    "all words at position 0": "order",
    "positions start again": "cache",
    "triangle in the wrong corner": "cache",
    "not divided by the root": "",
}


@pytest.fixture(scope="module")
def faults():
    return chapter.run(*FAULTS)


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_the_floor_that_the_text_names():
    assert f"{5 / 11 * math.log(16):.2f}" == "1.26"
    assert "1.26" in chapter.source("loss-tasks")


@pytest.mark.parametrize("seed", range(5))
def test_which_experiment_notices_which_fault(faults, double, seed):
    for fault, parts in faults["FAULTS"].items():
        torch.manual_seed(seed)
        layer = faults["Layer"](**parts)
        found = [name for name, experiment in faults["FIVE"].items() if experiment(layer)]
        assert found == NOTICED[fault].split(), fault


def test_padding_on_the_right_shows_nothing_in_a_causal_layer(faults, double):
    layer, x = faults["Layer"](**faults["FAULTS"]["mask without effect"]), faults["x"]
    keep = (torch.arange(7) < 5).expand(3, 7)
    with torch.no_grad():
        padded = layer(torch.cat((x, torch.ones(3, 2, 8)), dim=1), keep=keep)
        torch.testing.assert_close(padded[:, :5], layer(x))
    assert faults["padding_counts"](layer)


@pytest.mark.parametrize("fault", ["inverted", "off by one"])
def test_another_fault_of_the_mask_shows_with_padding_on_the_right(faults, double, fault):
    torch.manual_seed(0)
    turned = {"inverted": torch.logical_not, "off by one": lambda keep: keep.roll(1, -1)}[fault]
    layer = faults["Layer"](keep=lambda keep: turned(keep)[:, None, None])
    x, real = faults["x"], torch.arange(7).expand(3, 7) < 5
    with torch.no_grad():
        padded = layer(torch.cat((x, torch.ones(3, 2, 8)), dim=1), keep=real)
        assert not torch.allclose(padded[:, :5], layer(x))
    assert "whatever the mask" not in chapter.source("five-pad")


def test_without_a_mask_a_row_that_does_not_move_is_still_seen(double):
    made = chapter.run(*LAYER, "museum-start", "museum-1-code")
    x, exhibit = made["x"], made["exhibit_1"]
    changed = x.clone()
    changed[:, 0] = 1
    still = (exhibit(x) - exhibit(changed)).abs().amax((0, 2)) < 1e-9
    assert still.any()
    assert "a leak in a layer without a mask" in chapter.source("blind-table")


def test_a_batch_of_equal_sentences_hides_no_mixture(faults, double):
    torch.manual_seed(0)
    wrong, x = faults["Layer"](**faults["FAULTS"]["sentences taken for heads"]), faults["x"]
    equal = x[:1].repeat(3, 1, 1)
    changed = equal.clone()
    changed[1] = torch.linspace(-1, 1, 8)
    with torch.no_grad():
        assert not torch.allclose(wrong(equal)[[0, 2]], wrong(changed)[[0, 2]])
    assert "equal sentences" not in chapter.source("blind-table")


def test_a_softmax_too_many_passes_the_check_of_the_first_loss_and_not_that_of_perfect_logits():
    made = chapter.run("numbers-first", "numbers-double")
    with torch.no_grad():
        logits = made["hidden"] @ nn.Linear(64, 100, bias=False).weight.to(made["hidden"]).mT
        first = F.cross_entropy(logits.softmax(-1), made["labels"]).item()
    assert abs(first - math.log(100)) < 0.02
    assert made["doubled"] > 3
    assert "Give it perfect logits" in chapter.source("numbers-checks-seen")


def test_the_corner_makes_no_difference_to_a_single_first_piece(faults, double):
    torch.manual_seed(0)
    wrong = faults["Layer"](**faults["FAULTS"]["triangle in the wrong corner"])
    right = faults["Layer"]()
    right.load_state_dict(wrong.state_dict())
    with torch.no_grad():
        assert torch.equal(wrong(faults["x"], cache=KVCache()), right(faults["x"]))
    assert faults["cache_differs"](wrong)


def test_a_batch_of_one_sentence_hides_a_mixture_of_sentences(faults, double):
    torch.manual_seed(0)
    wrong = faults["Layer"](**faults["FAULTS"]["sentences taken for heads"])
    right = faults["Layer"]()
    right.load_state_dict(wrong.state_dict())
    x = faults["x"]
    with torch.no_grad():
        torch.testing.assert_close(wrong(x[:1]), right(x[:1]))
        assert (wrong(x) - right(x)).abs().max() > 0.1


def test_a_comparison_shows_the_missing_root(faults, double):
    torch.manual_seed(0)
    wrong, right = faults["Layer"](scale=2.0), faults["Layer"]()
    right.load_state_dict(wrong.state_dict())
    assert (wrong(faults["x"]) - right(faults["x"])).abs().max() > 1e-3


def test_pytorchs_modules_are_sequence_first_by_default():
    for module in (
        nn.MultiheadAttention(8, 2),
        nn.TransformerEncoderLayer(8, 2, 8).self_attn,
        nn.TransformerDecoderLayer(8, 2, 8).self_attn,
    ):
        x = torch.randn(3, 5, 8)
        assert module(x, x, x)[1].shape == (5, 3, 3)


def test_four_masks_that_fail(double):
    printed = "".join(chapter.cells["masks-four-run"]["outputs"][0]["text"])
    shares = [float(x) for x in re.findall(r" (\d\.\d\d) +\d\.\d\d to", printed)]
    right, tiny, product, lost, after = shares
    assert right == after == 0
    assert tiny == lost > 0.3
    assert product > 0.3
    assert "exactly the unmasked weights: True" in printed


@pytest.fixture(scope="module")
def modules():
    return chapter.run("loss-model", "modules-call")


def test_padded_rows_are_zero_on_the_fast_path_and_it_makes_the_difference(modules, double):
    encoder, source, pad = (
        modules["transformer"].encoder,
        modules["source"],
        modules["pad"],
    )

    def encoded(recorded):
        with torch.set_grad_enabled(recorded):
            return encoder(source, src_key_padding_mask=pad).detach()

    assert (encoded(False)[pad] == 0).all()
    assert (encoded(True)[pad] != 0).any()
    torch.testing.assert_close(encoded(True)[~pad], encoded(False)[~pad])
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        torch.testing.assert_close(encoded(True), encoded(False))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.parametrize(
    ("n_heads", "options", "left", "zeros"),
    [
        (4, {}, False, True),
        (3, {}, False, False),
        (4, {"batch_first": False}, False, False),
        (4, {"norm_first": True}, False, False),
        (4, {"activation": F.silu}, False, False),
        (4, {"activation": "gelu"}, False, True),
        (4, {}, True, False),
    ],
)
@pytest.mark.filterwarnings("ignore:.*nested")
def test_when_the_encoder_takes_its_fast_path(double, n_heads, options, left, zeros):
    """And it is the padded rows alone that it changes."""
    options = {"batch_first": True, "dropout": 0.0} | options
    layer = nn.TransformerEncoderLayer(24, n_heads, 32, **options)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    rows, at = torch.randn(2, 6, 24), torch.arange(6).expand(2, 6)
    pad = at < 2 if left else at >= 4
    if not options["batch_first"]:
        rows = rows.transpose(0, 1)
    recorded = encoder(rows, src_key_padding_mask=pad).detach()
    with torch.no_grad():
        quick = encoder(rows, src_key_padding_mask=pad)
    if not options["batch_first"]:
        recorded, quick = recorded.transpose(0, 1), quick.transpose(0, 1)
    torch.testing.assert_close(recorded[~pad], quick[~pad])
    assert bool((quick[pad] == 0).all()) is zeros


def test_the_memory_needs_the_mask_of_the_source(modules, double):
    with_masks, alone, pad = (modules[name] for name in ("with_masks", "alone", "pad"))
    for recorded in (True, False):
        assert (with_masks(recorded) - alone).abs().max() > 0.1
        right = with_masks(recorded, memory_key_padding_mask=pad)
        torch.testing.assert_close(right, alone)


@pytest.mark.parametrize("seed", range(1, 5))
def test_positions_may_be_counted_in_two_ways_but_not_mixed(double, seed):
    setup = chapter.source("padding-setup").replace("manual_seed(0)", f"manual_seed({seed})")
    space = chapter.run("loss-model", "padding-setup", "padding-run", **{"padding-setup": setup})
    off = {
        (first, then): (space["new_word"](prefill, step) - space["alone"]).abs().max()
        for first, prefill in space["by"].items()
        for then, step in space["by"].items()
    }
    for (first, then), difference in off.items():
        assert (difference < 1e-9) == (first == then)


def test_with_absolute_positions_only_the_place_in_the_text_is_right(double):
    torch.manual_seed(0)
    table = SinusoidalPositions(8)
    text = torch.randn(1, 4, 8)
    padded = torch.cat((torch.zeros(1, 2, 8), text), dim=1)

    def last(rows, mask):
        x = table(rows)
        return scaled_dot_product_attention(x, x, x, mask)[0][:, -1]

    keep = causal_mask(6) & (torch.arange(6) >= 2)
    assert (last(padded, keep) - last(text, causal_mask(4))).abs().max() > 0.1


def test_a_softmax_too_many_stops_the_loss():
    least = -math.log(math.e / (math.e + 99))
    assert f"{least:.2f}" == "3.62"
    assert "3.62" in chapter.source("numbers-double-seen")
    assert "3.62" in chapter.printed()


def test_the_first_loss_is_about_ln_v_with_other_seeds():
    for seed in range(5):
        torch.manual_seed(seed)
        hidden, labels = torch.randn(512, 64), torch.randint(100, (512,))
        small, large = (
            F.cross_entropy(hidden @ table.weight.mT, labels)
            for table in (nn.Linear(64, 100, bias=False), nn.Embedding(100, 64))
        )
        assert abs(small - math.log(100)) < 0.4
        assert large > 3 * math.log(100)


def test_a_window_of_four_has_two_meanings():
    assert sliding_window_mask(20, 4)[10].sum() == 9
    cache, row = KVCache(window=4), torch.randn(1, 2, 1, 8)
    for _ in range(9):
        keys, _ = cache.update(row, row)
    assert keys.size(-2) == 4


def test_half_precision():
    big = torch.full((1, 4), 300.0).half()
    assert torch.isinf(big @ big.mT).all()
    assert torch.finfo(torch.float16).max == 65504
    assert torch.tensor(256.0).bfloat16() == torch.tensor(257.0).bfloat16()
    with pytest.raises(RuntimeError):
        torch.zeros(2).half().masked_fill(torch.tensor([True, False]), -1e9)


def test_what_examine_finds_and_misses(faults):
    printed = "".join(chapter.cells["examine-run"]["outputs"][0]["text"])
    silent = [line.strip() for line in printed.splitlines() if line.strip() in NOTICED]
    assert silent == ["positions start again", "not divided by the root"]
    assert "divide by √Dk" in printed


def test_without_positions_a_layer_that_ignores_the_order_draws_no_complaint(faults):
    examine, layer = faults["examine"], faults["Layer"]
    torch.manual_seed(0)
    blind = layer(**faults["FAULTS"]["all words at position 0"]).float()
    facts = {"kind": "layer", "causal": True, "n_heads": 2}
    assert not examine(blind, **facts).findings
    assert [f.fault for f in examine(blind, positions=True, **facts).findings] == ["order_blind"]


def test_a_repair_that_is_tried_on_one_sentence_is_none(faults):
    printed = "".join(chapter.cells["repair-run"]["outputs"][0]["text"])
    assert "1 sentences: off by 0.0" in printed
    assert "sentences mix: True" in printed


def test_with_as_many_sentences_as_heads_the_repair_mixes_them_too(double):
    space = chapter.run(*LAYER, "repair-run")
    right, again, x = (space[name] for name in ("right", "again", "x"))
    with torch.no_grad():
        assert (right(x[:2]) - again(x[:2])).abs().max() > 0.1


def test_the_ten_layers_of_the_figure_can_be_told_apart_but_for_two(faults, double):
    faults["explore_moves"] = lambda *arguments: faults.update(given=arguments)
    for cell in ("moves-suspects", "moves-explore"):
        exec(chapter.source(cell), faults)
    layers, rows, sentences = faults["given"]
    keep = torch.tensor([[word != "" for word in sentence] for sentence in sentences])
    moved = {name: who_moves_whom(layer, rows, keep) for name, layer in layers.items()}
    assert len(moved) == 10
    alike = {
        frozenset((one, other))
        for one, other in itertools.combinations(moved, 2)
        if torch.equal(moved[one], moved[other])
    }
    assert alike == {frozenset(("no fault", "not divided by the root"))}
    faulty = [name for name, moves in moved.items() if any(contradictions(moves, keep))]
    assert len(faulty) == 8


def test_each_exhibit_has_its_link_and_its_state():
    for n in range(1, 13):
        verdict = chapter.source(f"museum-{n}-seen")
        assert "https://github.com/" in verdict, n
        assert re.search(r"\b20\d\d\b", verdict), n
        assert re.search(r"\*([Rr]epaired|Open|Confirmed)\.?\*", verdict), n


def test_the_patients_have_the_diagnoses_that_the_card_names():
    found = [diagnosis(patient) for patient in PATIENTS.values()]
    assert found == [
        *("healthy", "healthy", "leak", "leak", "leak", "blind", "blind"),
        *("sentences", "sentences", "padding", "random", "order"),
    ]


SYMPTOMS = (BOOK / "symptoms.md").read_text("utf-8")


def test_the_symptoms_have_ten_groups_and_name_exercises_that_exist():
    assert len(re.findall(r"^## ", SYMPTOMS, re.M)) == 10
    named = set(re.findall(r"`(\d\d\.\w+)`", SYMPTOMS))
    assert len(named) > 25
    assert named <= ALL.keys()


@pytest.mark.parametrize(
    "words",
    [
        *("NaN", "suspiciously low", "garbage", "is_causal", "overflow in half precision"),
        *("mask is inverted", "dropout at inference", "heads are mixed up", "left padding"),
        *("results depend on the batch", "weights don't sum to one", "initial loss too high"),
        *("position_ids", "attention_mask", "past_key_values", "attn_implementation"),
        *("memory_key_padding_mask", "batch_first", "enable_nested_tensor", "need_weights"),
        *("output_attentions", "rotate_half", "enable_gqa", "same output for all words"),
    ],
)
def test_the_symptoms_contain_the_words_that_people_type(words):
    assert words.lower() in SYMPTOMS.lower()
