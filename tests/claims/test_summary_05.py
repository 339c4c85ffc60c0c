"""The summary of chapter 5, tried with other vectors, widths and initializations."""

import functools

import pytest
import torch
from torch.testing import assert_close

from attnbook import MultiHeadAttention, scaled_dot_product_attention
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("05_cross_attention.ipynb")


@claim(
    "The weights have one row per query and one column per key, and each row sums to 1.",
    "A query must be as wide as a key, and each key needs one value.",
    seed=(11, 12),
    keys=(1, 9),
)
def test_the_sizes_that_have_to_agree(seed, keys):
    torch.manual_seed(seed)
    query, key, value = torch.randn(4, 6), torch.randn(keys, 6), torch.randn(keys, 5)
    output, weights = scaled_dot_product_attention(query, key, value)
    assert output.shape == (4, 5)
    assert weights.shape == (4, keys)
    assert_close(weights.sum(-1), torch.ones(4))
    for wrong in ((query[:, :5], key, value), (query, key, torch.cat([value, value[:1]]))):
        with pytest.raises(ValueError):
            scaled_dot_product_attention(*wrong)


@claim(
    "Lengths and input widths may differ, so the context can come from another model.",
    "Self-attention is the case in which a sequence is its own context.",
    seed=(11, 12),
    width=(3, 40),
)
def test_a_context_may_have_another_width_and_be_the_sequence_itself(seed, width):
    torch.manual_seed(seed)
    cross = MultiHeadAttention(8, 2, d_context=width)
    output, weights = cross(torch.randn(4, 8), torch.randn(11, width))
    assert output.shape == (4, 8)
    assert weights.shape == (2, 4, 11)
    layer, x = MultiHeadAttention(8, 2), torch.randn(4, 8)
    assert_close(layer(x)[0], layer(x, x)[0])


@claim(
    "The order of the context's rows doesn't matter, queries don't see each other,",
    "Padding needs a mask, but none is needed against reading ahead.",
    seed=(11, 12),
    words=(3, 30),
)
@torch.no_grad()
def test_what_does_not_change_an_output_of_cross_attention(seed, words):
    torch.manual_seed(seed)
    cross = MultiHeadAttention(8, 2).double()
    x, z = torch.randn(5, 8).double(), torch.randn(words, 8).double()
    output, _ = cross(x, z)
    assert_close(cross(x, z[torch.randperm(words)])[0], output)
    changed = x.clone()
    changed[4] = 100
    assert_close(cross(changed, z)[0][:4], output[:4])  # so no query reads ahead
    padded, mask = torch.cat([z, torch.ones(2, 8)]), torch.arange(words + 2) < words
    assert (cross(x, padded)[0] - output).abs().max() > 1e-3
    assert_close(cross(x, padded, mask=mask.expand(5, -1))[0], output)


@claim("keys and values are computed only once per sentence.", seed=(11, 12), words=(3, 30))
@torch.no_grad()
def test_each_query_gets_its_row_from_keys_and_values_that_are_kept(seed, words):
    torch.manual_seed(seed)
    cross = MultiHeadAttention(8, 1, bias=False).double()
    x, z = torch.randn(5, 8).double(), torch.randn(words, 8).double()
    key, value = cross.w_k(z), cross.w_v(z)  # once
    rows = [scaled_dot_product_attention(cross.w_q(one[None]), key, value)[0] for one in x]
    assert_close(cross.w_o(torch.cat(rows)), cross(x, z)[0])


@pytest.fixture(scope="module")
def desk() -> dict:
    """Sections 5.6 and 5.8, before their models are trained."""
    rows = chapter.source("desks-table").partition("for seed")[0]
    cells = "world corpus aligner-code aligner-loss align-run desks-table additive-code"
    made = chapter.run(*cells.split(), "additive-test", **{"desks-table": rows})
    return made | {"learn": functools.cache(made["learn"])}


@claim(
    "When a model learns to translate, its attention weights mostly become an alignment.",
    seed=(11, 12, 13),
    lr=(0.03,),
)
def test_most_words_are_aligned(desk, seed, lr):
    weight, _ = desk["grade"](desk["learn"](seed, lr=lr))
    assert (weight > 0.5).sum() >= 12  # of 16 words


@claim(
    "a word may be translated without attention if it happens to be the model's default,",
    "or attended to without being needed. Only covering it shows which.",
    tried="seeds 11 to 20, together",
)
def test_some_model_needs_no_attention_for_a_word_and_some_does_not_need_what_it_attends_to(desk):
    default, not_needed = 0, 0
    for seed in range(11, 21):
        model = desk["learn"](seed)
        weight, right = desk["grade"](model)
        default += int(((weight < 0.1) & (right > 0.95)).sum())
        source, said, maps = desk["read_map"](model)
        for row, word in desk["ROWS"].items():
            blind = desk["read_map"](model, hidden=word)[1]
            attended = maps[row, source.index(word)] > 0.9
            not_needed += bool(attended and blind[row] == said[row])
    assert default > 0
    assert not_needed > 0


@claim(
    "When a model learns to paint, the weights of each phrase outline its part of the picture,",
    "the values carry the color.",
    seed=(11, 12),
    lr=(0.02,),
)
@torch.no_grad()
def test_the_weights_outline_and_the_values_color(seed, lr):
    run = chapter.source("picture-run").replace("manual_seed(0)", f"manual_seed({seed})")
    run = run.replace("lr=0.03", f"lr={lr}")
    cells = ("picture-data", "picture-code", "picture-model-code", "picture-run", "picture-paint")
    with torch.enable_grad():
        made = chapter.run(*cells, "picture-steer", **{"picture-run": run})
    own = made["order"][0].argsort()[made["scene"][0]]
    assert (made["patch_maps"][0].argmax(-1).cpu() == own).double().mean() > 0.95
    swing = {}
    for kept, found in made["mixed"].items():
        paint = made["painter"].paint(made["painter"].cross.w_o(found))
        swing[kept] = (paint.amax(0) - paint.amin(0)).max()
    assert swing["the values"] < 0.2 < 0.8 * swing["nothing"] < swing["the maps"]
