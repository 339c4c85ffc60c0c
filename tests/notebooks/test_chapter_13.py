"""Chapter 13: what its text claims beyond what its cells print."""

import math
import re

import pytest
import torch
import torch.nn.functional as F

from attnbook import scaled_dot_product_attention
from tests.support.chapters import Chapter

chapter = Chapter("13_reading_attention.ipynb")


@pytest.fixture(scope="module")
def translators():
    names = ("translator-load", "translator-pair", "translator-drop", "translator-ways")
    return chapter.run("task-draw", *names, "lm-data", "lm-code")


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


def test_both_remedies_by_hand_make_every_answer_right():
    names = ("hand-stream", "hand-heads", "hand-exam", "hand-run", "hand-where")
    space = chapter.run("task-draw", *names)
    with_remedies = space["qk_2"] + space["prefer"]
    assert space["right_by_hand"](space["qk_1"], space["ov_1"], with_remedies, space["ov_2"]) == 1


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
    model, pair = translators["translators"][0], translators["corpus"].new_combinations[0]
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


def test_covering_usually_agrees_with_dropping_and_the_weight_less_often(translators):
    sixty = translators["corpus"].new_combinations[::8][:60]
    assert len(sixty) == 60
    for model in translators["translators"]:
        of_sentences = [translators["lost"](model, pair) for pair in sixty]
        weight = torch.cat([weights.flatten() for weights, _ in of_sentences])
        covered, dropped = (
            torch.cat([ways[way].flatten() for _, ways in of_sentences])
            for way in ("covered in decoder", "message dropped")
        )
        assert (dropped[covered > 0.2] > 0.2).double().mean() > 0.9
        assert 0.2 < (dropped[weight > 0.3] < 0.05).double().mean() < 0.3


def test_the_language_models_cannot_repeat_five_random_words(translators):
    words = translators["known_words"]
    noise = torch.rand(256, len(words) - 4, generator=torch.Generator().manual_seed(0))
    five = noise.argsort(-1)[:, :5] + 4  # without the special tokens
    first = torch.full((256, 1), translators["BEGIN"])
    twice = torch.cat((first, five, five), dim=-1).to(translators["sevens"].device)
    for model in translators["language_models"]:
        each, maps = translators["look_into"](model, twice)  # 10 predictions
        due = maps.diagonal(-4, -2, -1)[..., 2:].mean((1, 3))  # four positions back
        assert due.max() < 0.2
        assert each[:, 6:].mean() > each[:, 1:5].mean() - 0.1


def test_looking_into_the_language_model_changes_nothing(translators):
    model, tokens = translators["language_models"][0], translators["sevens"]
    each, maps = translators["look_into"](model, tokens)
    with torch.no_grad():
        logits = model(tokens[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    torch.testing.assert_close(each.flatten(), loss)
    assert maps.shape == (2, len(tokens), 4, 8, 8)
