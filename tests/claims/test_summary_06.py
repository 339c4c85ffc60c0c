"""The summary of chapter 6, tried with other vectors, sizes and initializations."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from attnbook import MultiHeadAttention, Transformer, causal_mask, scaled_dot_product_attention
from attnbook.training import train
from tests.claims.test_chapter_06 import LateHead
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("06_masked_attention.ipynb")


@claim(
    "A mask is a boolean matrix, True = may look. Forbidden scores become $-\\infty$ *before* the"
    " softmax, so that they don't enter its denominator.",
    seed=(11, 12),
    words=(4, 50),
)
def test_the_weights_are_a_softmax_over_the_words_that_may_be_seen(seed, words):
    torch.manual_seed(seed)
    x, mask = torch.randn(words, 8).double(), torch.rand(words, words) > 0.4
    mask |= torch.eye(words, dtype=torch.bool)
    _, weights = scaled_dot_product_attention(x, x, x, mask)
    scores = x @ x.T / math.sqrt(8)
    for row, seen, found in zip(scores, mask, weights, strict=True):
        assert_close(found[seen], row[seen].softmax(-1))
        assert not found[~seen].any()


@claim(
    "With a causal mask, each row sees itself and what came before, so one parallel pass in"
    " training gives the same rows as decoding word by word.",
    seed=(11, 12),
    words=(4, 20),
)
@torch.no_grad()
def test_a_causal_pass_gives_the_rows_of_all_beginnings(seed, words):
    torch.manual_seed(seed)
    layer, x = MultiHeadAttention(12, 3).double(), torch.randn(words, 12).double()
    at_once, weights = layer(x, mask=causal_mask(words))
    assert (weights > 0).all(0).equal(causal_mask(words))
    for n in range(1, words + 1):
        assert_close(layer(x[:n])[0][-1], at_once[n - 1])


@claim(
    "In a Transformer only the decoder's self-attention is causal; cross-attention hides the"
    " padding of the *source*.",
    seed=(11, 12),
    layers=(1, 3),
)
@torch.no_grad()
def test_which_rows_of_a_transformer_change_with_a_later_word(seed, layers):
    torch.manual_seed(seed)
    model = Transformer(20, 20, d_model=16, n_heads=2, n_layers=layers, d_ff=32).double().eval()
    source, target = torch.randint(1, 20, (2, 1, 6))
    real = (torch.arange(6) < 4)[None, None]
    later = target.clone()
    later[0, 5] = (later[0, 5] + 1) % 20
    logits = model(source, target, real)
    changed = (model(source, later, real) != logits).any(-1)[0]
    assert changed.tolist() == [False] * 5 + [True]
    last = source.clone()
    last[0, 3] = (last[0, 3] + 1) % 20
    rows, moved = (model.encode(each, real)[0] for each in (source, last))
    assert (rows != moved).any(-1)[0, :4].all()
    padded = source.clone()
    padded[0, 4:] = (padded[0, 4:] + 1) % 20
    assert_close(model(padded, target, real), logits)


@claim(
    "In `nn.MultiheadAttention`, True means the opposite of what it means in"
    " `F.scaled_dot_product_attention` and in this book.",
    seed=(11, 12),
    words=(4, 20),
)
@torch.no_grad()
def test_what_true_means(seed, words):
    torch.manual_seed(seed)
    x, mask = torch.randn(1, words, 8), causal_mask(words)
    theirs = nn.MultiheadAttention(8, 1, batch_first=True)
    for given, seen in ((~mask, mask), (mask.tril(-1), ~mask.tril(-1))):
        assert (theirs(x, x, x, attn_mask=given)[1][0] > 0).equal(seen)
    ours, _ = scaled_dot_product_attention(x, x, x, mask)
    assert_close(F.scaled_dot_product_attention(x, x, x, attn_mask=mask), ours)


@claim(
    "A mask with three axes is aligned with the heads unless you insert the fourth axis.",
    seed=(11, 12),
    words=(4, 20),
)
def test_three_axes_are_those_of_the_heads(seed, words):
    """With as many sentences as heads there is no error."""
    torch.manual_seed(seed)
    query, key, value = torch.randn(3, 2, 2, words, 8)  # two sentences, two heads
    mask = (torch.arange(words) < torch.tensor([[words], [2]]))[:, None].expand(2, words, words)
    _, by_heads = scaled_dot_product_attention(query, key, value, mask)
    _, right = scaled_dot_product_attention(query, key, value, mask[:, None])
    hidden = ~mask[1]
    assert not by_heads[:, 1, hidden].any()
    assert by_heads[1, 0, hidden].all()
    assert not right[1, :, hidden].any()
    assert right[0, :, hidden].all()


@claim(
    "A query that may look at nothing gets zero weights and a zero output in our library.",
    "Elsewhere it may get NaN or, without any warning, attend to forbidden words",
    seed=(11, 12),
    words=(4, 20),
)
def test_what_a_query_that_may_look_at_nothing_gets(seed, words):
    torch.manual_seed(seed)
    x, mask = torch.randn(1, words, 8), causal_mask(words).tril(-1)  # the first sees nothing
    output, weights = scaled_dot_product_attention(x, x, x, mask)
    assert not output[0, 0].any()
    assert not weights[0, 0].any()
    theirs = nn.MultiheadAttention(8, 1, batch_first=True)
    assert theirs(x, x, x, attn_mask=~mask)[0][0, 0].isnan().all()
    filled = (x @ x.mT).masked_fill(~mask, -1e9).softmax(-1)
    assert (filled[0, 0] > 0.5 / words).all()


@claim(
    "You can test a mask: replace each word and see which outputs change.",
    seed=(11, 12),
    words=(4, 15),
)
@torch.no_grad()
def test_replacing_words_shows_the_mask(seed, words):
    torch.manual_seed(seed)
    layer, x = MultiHeadAttention(8, 2).double(), torch.randn(words, 8).double()
    mask = (torch.rand(words, words) > 0.5) | torch.eye(words, dtype=torch.bool)
    before, found = layer(x, mask=mask)[0], torch.zeros(words, words, dtype=torch.bool)
    for j in range(words):
        changed = x.clone()
        changed[j] = torch.randn(8)
        found[:, j] = (layer(changed, mask=mask)[0] != before).any(-1)
    assert found.equal(mask)


@pytest.fixture(scope="module")
def clock() -> dict:
    """Section 6.13 without its training runs."""
    return chapter.run("walks", "guesser-code", "teacher", "writing")


def guesser(clock: dict, width: int) -> nn.Module:
    """A guesser of some width."""
    exec(chapter.source("guesser-code").replace("32", str(width)), space := dict(clock))
    return space["Guesser"]().to(clock["device"]())


@claim("A loss that is not below doesn't rule out a leak.", seed=(11, 12), width=(24, 48))
def test_a_model_with_a_leak_has_the_loss_of_one_without_at_first(clock, seed, width):
    torch.manual_seed(seed)
    model = guesser(clock, width)
    model.head = LateHead(width, width, width).to(clock["device"]())
    losses = torch.tensor(train(model, lambda m: clock["exam"](m, causal_mask), steps=100))
    assert math.log(2) < losses[-10:].mean() < 0.85
    walk = clock["walks"](64)
    changed = walk.clone()
    changed[:, -1] = (walk[:, -1] + 6) % 12
    before, after = (model(each, causal_mask(8))[:, :-1] for each in (walk, changed))
    assert not torch.allclose(before, after)  # each guess depends on the last hour


@claim(
    "A loss below what the data allow is a leak, unless the model knows the data by heart or easy"
    " answers are counted.",
    seed=(11, 12),
    width=(24,),
)
def test_a_loss_below_ln_2_is_a_leak_or_one_of_two_exceptions(clock, seed, width):
    def losses(model: nn.Module, walk: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        guesses = model(walk, mask)[:, :-1]
        return F.cross_entropy(guesses.mT, walk[:, 1:], reduction="none")

    def trained(walk_of, mask, steps: int) -> nn.Module:
        torch.manual_seed(seed)
        model = guesser(clock, width)
        train(model, lambda m: losses(m, walk_of(), mask).mean(), steps=steps)
        return model

    causal, leaking = causal_mask(8), clock["leaking_mask"](8)
    new, sixteen = (lambda: clock["walks"](64)), clock["walks"](16)
    assert losses(trained(new, causal, 200), new(), causal).mean() > math.log(2) - 0.02
    assert losses(trained(new, leaking, 200), new(), leaking).mean() < 0.1
    by_heart = trained(lambda: sixteen, causal, 500)
    assert losses(by_heart, sixteen, causal).mean() < math.log(2) - 0.1
    assert losses(by_heart, new(), causal).mean() > 1

    def standing() -> torch.Tensor:
        """Walks whose last four hours are all the same: easy answers."""
        walk = clock["walks"](64)
        walk[:, 4:] = walk[:, 3:4]
        return walk

    each = losses(trained(standing, causal, 300), standing(), causal)
    assert each.mean() < math.log(2) - 0.1
    assert each[:, :3].mean() > math.log(2) - 0.05
