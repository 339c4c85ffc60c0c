"""What `examine` says: a cause, one row or several, and what is missing to call the code."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook import examine
from tests.examination.pieces.generators import Attention, Bloom
from tests.examination.pieces.layers import D, Fused, H, Head, Heads
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
        assert "nn.MultiheadAttention, but visible in" in sentence


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


def test_one_head_is_no_plural():
    assert any("and 1 head;" in text for text in examine(Head(D), kind="layer").seen)
    two = Heads(nn.ModuleList(Head() for _ in range(2)))
    two.proj = nn.Linear(2 * D // H, D)
    assert any("and 2 heads;" in text for text in examine(two, kind="layer").seen)


class Forgetful(Attention):
    """Attention that returns a cache and does not use it."""

    def extend(self, past, k, v):
        return k, v


class Cached(Bloom):
    """A model whose forward takes a cache."""

    def forward(self, ids, past_key_values=None):
        return self.step(ids, past_key_values)


def test_a_cache_that_is_not_used_is_told_as_that():
    sentence = sentence_of(examine(Cached(Forgetful), kind="lm", step="forward"))
    assert "Append the new ones to those in the cache" in sentence


def test_a_cache_that_is_not_tried_is_noted():
    report = examine(Cached(), kind="lm")
    assert any('`step="forward"`' in text for text in report.seen)
    tried = examine(Cached(), kind="lm", step="forward")
    assert not any("which I did not try" in text for text in tried.seen)


class Masked(Fused):
    """A layer that has to be given a mask."""

    def forward(self, x, mask):
        return super().forward(x)


class Turned(Fused):
    """A layer that has to be given frequencies."""

    def forward(self, x, freqs_cis):
        return super().forward(x)


class FromOther(Fused):
    """A layer that may be given a second sequence of another width, and needs it."""

    def __init__(self):
        super().__init__()
        self.from_context = nn.Linear(40, D)

    def forward(self, x, context=None):
        return super().forward(x + self.from_context(x if context is None else context))


class Biased(Fused):
    """A layer with a table of biases, as in T5."""

    def __init__(self):
        super().__init__()
        self.biases = nn.Embedding(8, H)


class FixedLength(Fused):
    """A layer for 8 rows."""

    def forward(self, x):
        return super().forward(x + x.new_ones(8, D))


class Complex(Fused):
    """A layer that returns complex numbers."""

    def forward(self, x):
        return torch.fft.fft(super().forward(x))


@pytest.mark.parametrize(
    ("make", "facts", "sentence"),
    [
        (Masked, {}, 'Say what `mask` means, `mask="keep"` or'),
        (Turned, {}, '`examine(lambda x: f(x, freqs_cis), kind="layer")`'),
        (FromOther, {}, 'It also takes `context`: for a second sequence, say `kind="cross"`'),
        (Biased, {}, 'because of its embedding table: `kind="layer"` says otherwise'),
        (FixedLength, {}, "It has to take any number of rows"),
        (Complex, {}, "complex64 for (2, 3, 16), and I need real numbers"),
        (Fused, {"d_model": 9}, "If it takes or returns something else, wrap it"),
        (lambda: F.scaled_dot_product_attention, {}, 'pass `kind="core"`'),
        (
            lambda: nn.Transformer(D, H, 1, 1, D, batch_first=True),
            {"kind": "cross"},
            "it returns (3, 7, 16), and no rows of shape (3, 6, D)",
        ),
    ],
)
def test_a_refusal_says_what_to_do(make, facts, sentence):
    refusal = examine(make(), **facts).refusal
    assert sentence in refusal
    assert "pass d_model=" not in refusal


def test_an_unknown_width_is_asked_for():
    class Layer(nn.Module):
        def forward(self, x):
            return x @ torch.ones(7, 7)

    refusal = examine(Layer(), kind="layer").refusal
    assert "If the rows have another width, pass d_model=." in refusal
    assert not examine(Layer(), kind="layer", d_model=7).refusal


def test_a_decoder_layer_is_seen_as_a_layer_of_two_sequences():
    report = examine(nn.TransformerDecoderLayer(D, H, 32, batch_first=True))
    assert not report.refusal
    assert not report.findings


def test_a_number_of_heads_that_divides_no_width_is_noted():
    report = examine(Fused(), kind="layer", n_heads=5)
    assert any("n_heads=5 divides no width" in text for text in report.seen)
