"""Chapter 13: what its text claims beyond what its cells print."""

import copy
import math
import re

import torch

from attnbook import (
    GroupedQueryAttention,
    Rotary,
    causal_mask,
    scaled_dot_product_attention,
    split_heads,
)
from attnbook.corpus import Pair
from attnbook.widgets import induction
from tests.support.chapters import Chapter

chapter = Chapter("13_reading_attention.ipynb")


def numbers(cell):
    """The numbers in each line that a cell prints for a seed."""
    text = "".join("".join(output.get("text", "")) for output in chapter.cells[cell]["outputs"])
    lines = [line for line in text.splitlines() if line.startswith("seed")]
    return [[float(x) for x in re.findall(r"-?\d+\.?\d*", line)] for line in lines]


def test_the_rule_finds_every_letter_that_is_marked_as_predictable():
    space = chapter.run("task-draw")
    ids, _, known = space["draw"](200, torch.Generator().manual_seed(1))
    assert not known[:, : space["BLOCK"] + 1].any()
    assert known.double().mean() > 0.3
    for row, at in known.nonzero().tolist():
        before = ids[row, : space["BLOCK"]].tolist().index(ids[row, at - 1])
        assert ids[row, before + 1] == ids[row, at]


def test_in_one_piece_the_letter_due_is_always_eleven_positions_back():
    space = chapter.run("task-draw")
    _, place, known = space["draw"](50, torch.Generator().manual_seed(1), jumps=False)
    asking = torch.arange(2 * space["BLOCK"] - 1).to(place.device)
    assert (asking - (place[:, :-1] + 1) == 11)[known[:, 1:]].all()


def test_after_the_last_letter_of_the_block_the_first_usually_follows_without_a_mark():
    """So a letter without a mark is not always a jump."""
    space = chapter.run("task-draw")
    _, place, known = space["draw"](2_000, torch.Generator().manual_seed(1))
    half = space["BLOCK"]
    at_last = place[:, half:-1] == half - 1
    assert (place[:, half + 1 :] == 0)[at_last].double().mean() > 0.8
    assert not known[:, half + 1 :][at_last & (place[:, half + 1 :] == 0)].any()
    assert "After the last letter of the block, it goes on with the first." in chapter.source(
        "task"
    )
    assert "goes on from the last letter of the block" in chapter.source("task-rule")
    assert "a jump, or the block begins again" in induction._words()["due"][2]


def test_both_remedies_by_hand_make_every_answer_right():
    names = ("hand-stream", "hand-heads", "hand-exam", "hand-run", "hand-where")
    space = chapter.run("task-draw", *names)
    with_remedies = space["qk_2"] + space["prefer"]
    assert space["right_by_hand"](space["qk_1"], space["ov_1"], with_remedies, space["ov_2"]) == 1


def test_a_second_pair_of_heads_needs_no_previous_letter():
    names = ("hand-stream", "hand-heads", "hand-exam", "hand-run", "hand-pair")
    space = chapter.run("task-draw", *names)
    pair = space["find"], space["note_place"], space["one_on"], space["ov_2"]
    assert space["right_by_hand"](*pair) == 1
    stream = space["written"](space["cpu_ids"][:, :-1])
    scores = (stream @ space["find"] @ stream.mT).masked_fill(~causal_mask(23), -torch.inf)
    on_previous = scores.softmax(-1).diagonal(-1, -2, -1)
    assert on_previous[:, : space["BLOCK"] - 1].max() < 1e-6  # the first half, as in the score
    without_the_first = space["right_by_hand"](space["find"], 0 * space["note_place"], *pair[2:])
    assert without_the_first < 0.2


def test_the_text_calls_a_head_for_the_previous_letter_one_way():
    assert "One way: the first head writes the *previous* letter" in chapter.source("hand")
    everything = " ".join(cell["source"] for cell in chapter.cells.values())
    for refuted in (
        "has to write the previous letter",
        "after a head has written it there",
        "needs a head in an earlier layer that writes",
    ):
        assert refuted not in everything


def test_with_rotary_positions_the_product_does_not_determine_the_weights():
    torch.manual_seed(0)
    x, turn = torch.randn(12, 64), torch.linalg.qr(torch.randn(16, 16))[0]
    for rotary, rule in ((None, torch.less), (Rotary(), torch.greater)):
        layer = GroupedQueryAttention(64, 4, 2, rotary=rotary)
        other = copy.deepcopy(layer)
        for matrix in (other.w_q.weight, other.w_k.weight):
            matrix.data = (turn @ matrix.data.unflatten(0, (-1, 16))).flatten(0, 1)
        products = [
            split_heads(one.w_q.weight.mT, 4)
            @ split_heads(one.w_k.weight.mT, 2).repeat_interleave(2, dim=0).mT
            for one in (layer, other)
        ]
        torch.testing.assert_close(*products)
        difference = (layer(8 * x)[1] - other(8 * x)[1]).abs().max()
        assert rule(difference, torch.tensor(0.01 if rotary is None else 0.3))
    assert "no biases or rotary positions" in chapter.source("hand-heads-text")
    assert re.search("[Ww]ithout biases, rotary positions", chapter.source("summary"))


def test_the_expected_wrong_letter_is_rarely_the_right_one():
    names = ("task-draw", "hand-exam", "grown-run", "path-foretold")
    space = chapter.run(*names, **{"grown-run": "two_layers = []"})
    hit = (space["expected"] == space["exam_ids"][:, 1:])[space["tested"]]
    assert hit.double().mean() < 0.15


def test_the_flattest_heads_are_more_than_half_of_what_the_first_half_gained():
    shares = []
    for (_, first, *_), (_, _, _, more, *_) in zip(
        numbers("idle-halves"), numbers("idle-table"), strict=True
    ):
        shares.append(more / (math.log(16) - first))
    assert len(shares) == 5
    assert min(shares) > 0.5


def test_a_dropped_message_is_a_value_of_zeros(translators):
    model = translators["translators"]["seed 1, 0 to 8"]
    pair = translators["corpus"].new_combinations[0]
    batch, which = translators["once_for_each"](pair)
    dropped = translators["with_message_dropped"](model, batch, which)
    crossings = [layer.cross_attention for layer in model.decoder.layers]
    assert all(crossing.attend is scaled_dot_product_attention for crossing in crossings)
    hooks = [
        crossing.w_v.register_forward_hook(lambda _, args, out: out * ~which.mT)
        for crossing in crossings
    ]
    zeroed, _ = translators["probabilities"](model, batch, batch.source_mask, batch.source_mask)
    for hook in hooks:
        hook.remove()
    whole, _ = translators["probabilities"](model, batch, batch.source_mask, batch.source_mask)
    torch.testing.assert_close(dropped, zeroed)
    assert (whole - zeroed).abs().max() > 0.1


def test_the_contribution_of_a_word_that_is_not_needed_is_the_longest(translators):
    """In both layers of all four models, where "is" is due."""
    pair = Pair(("苹果", "很", "甜"), ("the", "apple", "is", "sweet"))
    for model in translators["translators"].values():
        batch, _ = translators["once_for_each"](pair)
        crossings = [layer.cross_attention for layer in model.decoder.layers]
        values: list[torch.Tensor] = []
        hooks = [
            crossing.w_v.register_forward_hook(lambda _, args, out, to=values: to.append(out))
            for crossing in crossings
        ]
        z, _ = model.encode(batch.source, batch.source_mask)
        _, _, across = model.decode(batch.target, z, batch.source_mask)
        for hook in hooks:
            hook.remove()
        for crossing, value, weights in zip(crossings, values, across, strict=True):
            n_heads = crossing.n_heads
            w_o = split_heads(crossing.w_o.weight, n_heads).mT  # (H, Dv, D)
            carried = split_heads(value, n_heads)[0] @ w_o  # (H, 3, D)
            lengths = (weights[0, :, 2, :, None] * carried).norm(dim=-1).mean(0)
            assert lengths.argmax() == 1


def test_the_text_says_what_the_claims_try():
    assert "about 20 to 40 steps" in chapter.source("fixed-seen")
    assert "a plateau doesn't show that two heads" in chapter.source("fixed-seen")
    assert "Two heads have to fit together" not in chapter.source("grown-predict")
