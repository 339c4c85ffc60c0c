"""What `examine` says: a cause, one row or several, and what is missing to call the code."""

import pytest
import torch

from attnbook import examine
from tests.examination.pieces.not_finite import Hiding, Torch, hidden
from tests.examination.pieces.unsaid import rows_first


def sentence_of(report):
    return report.findings[0].sentence


def test_one_row_is_and_several_are():
    assert "Row 0 is nan, because no key is left for it." in sentence_of(examine(Hiding(hidden(0))))
    several = sentence_of(examine(Hiding(hidden(-1)), kind="layer", causal=True))
    assert "rows 0, 1 are nan" in several


def test_an_inverted_mask_is_told_with_what_true_means_in_each_place():
    for code, facts in (
        (Torch(torch.tril), {"kind": "layer", "causal": True}),
        (lambda q, k, v, mask: (q @ k.mT / 2).masked_fill(mask, -9e9).softmax(-1) @ v, {}),
    ):
        facts = facts or {"kind": "core", "mask": "keep"}
        sentence = sentence_of(examine(code, **facts))
        assert "nn.MultiheadAttention, and shows in" in sentence


def test_another_place_of_the_heads_is_noted_and_if_it_was_said_only_proposed():
    assert any("(B, L, H, D)" in text for text in examine(rows_first(), kind="core").seen)
    report = examine(rows_first(), kind="core", heads=2)
    assert report.is_faulty
    assert any('`layout="BLHD"`' in text for text in report.seen)
    with pytest.raises(ValueError, match="is for a core"):
        examine(Hiding(hidden(1)), kind="layer", layout="BLHD")


def test_numbers_that_are_not_those_of_a_softmax_may_be_meant():
    def linear(q, k, v):
        q, k = q.exp(), k.exp()
        return q @ (k.mT @ v) / (q @ k.sum(-2)[..., None])

    assert "not meant to be softmax attention" in sentence_of(examine(linear, kind="core"))
