"""The summary of chapter 11, tried with other vectors, sizes and initializations."""

import functools

import pytest
import torch
from torch.testing import assert_close

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    Rotary,
    alibi_bias,
    apply_rotary,
    causal_mask,
    scaled_dot_product_attention,
)
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("11_modern_attention.ipynb")


@claim(
    "with a causal mask, the keys and values of earlier words never change.",
    seed=(11, 12),
    layers=(2, 4),
)
@torch.no_grad()
def test_a_new_word_changes_the_keys_and_values_of_earlier_ones_only_without_a_mask(seed, layers):
    torch.manual_seed(seed)
    stack = [GroupedQueryAttention(16, 4, 2).double() for _ in range(layers)]
    x = torch.randn(9, 16).double()

    def kept(words: int, causal: bool) -> torch.Tensor:
        """The keys and values of the first five words, in each layer."""
        rows, found = x[:words], []
        for layer in stack:
            found += [layer.w_k(rows)[:5], layer.w_v(rows)[:5]]
            rows = rows + layer(rows, causal_mask(words) if causal else None)[0]
        return torch.stack(found)

    assert_close(kept(9, True), kept(5, True))
    assert not torch.allclose(kept(9, False), kept(5, False))


@claim(
    "A cache belongs to one text, and a new word's position is the number of words before it.",
    seed=(11, 12),
    words=(4, 30),
)
@torch.no_grad()
def test_only_with_its_own_cache_and_that_position_is_a_new_row_right(seed, words):
    torch.manual_seed(seed)
    layer = GroupedQueryAttention(16, 4, 2, rotary=Rotary()).double()
    text, other = torch.randn(2, words, 16).double()

    def last(beginning: torch.Tensor, position: int | None) -> torch.Tensor:
        cache = KVCache()
        layer(beginning[:-1], causal_mask(words - 1), cache=cache)
        assert cache.length == words - 1
        at = None if position is None else torch.tensor([position])
        return layer(text[-1:], cache=cache, positions=at)[0][0]

    right = layer(text, causal_mask(words))[0][-1]
    assert_close(last(text, None), right)
    assert_close(last(text, words - 1), right)
    for wrong in (last(other, None), last(text, 0), last(text, words)):
        assert not torch.allclose(wrong, right)


@claim(
    "You can compute the size of a cache. Grouped-query attention divides it by the number of heads"
    " that share a key head.",
    heads=(8, 12),
    sharing=(2, 4),
)
def test_sharing_key_heads_divides_the_cache(heads, sharing):
    numbers = {}
    for key_heads in (heads, heads // sharing):
        layer, cache = GroupedQueryAttention(8 * heads, heads, key_heads), KVCache()
        layer(torch.randn(2, 7, 8 * heads), cache=cache)
        numbers[key_heads] = cache.key.numel() + cache.value.numel()
        assert numbers[key_heads] == 2 * 2 * 7 * key_heads * 8
    assert numbers[heads] == sharing * numbers[heads // sharing]


@claim(
    "Rotary positions rotate queries and keys, so positions enter scores only through their"
    " distance.",
    seed=(11, 12),
    width=(6, 64),
)
def test_rotated_scores_are_equal_at_equal_distances(seed, width):
    torch.manual_seed(seed)
    query, key = torch.randn(2, 1, width).double()
    scores = {
        start: apply_rotary(query, torch.tensor([start + 7]))
        @ apply_rotary(key, torch.tensor([start])).T
        for start in (0, 3, 500)
    }
    assert_close(scores[3], scores[0])
    assert_close(scores[500], scores[0])


@claim(
    "ALiBi subtracts the distance from the score, with a slope for each head.",
    seed=(11, 12),
    heads=(2, 6),
)
def test_alibi_subtracts_a_multiple_of_the_distance_in_each_head(seed, heads):
    torch.manual_seed(seed)
    bias = alibi_bias(heads, 20, 20)
    t = torch.arange(20.0)
    away = (t[:, None] - t).abs()
    slopes = -bias[:, 1, 0]
    seen = causal_mask(20)
    assert_close(bias[:, seen], -slopes[:, None] * away[seen])
    assert len(set(slopes.tolist())) == heads
    x = torch.randn(heads, 20, 8)
    _, weights = scaled_dot_product_attention(x, x, x, seen, bias)
    scores = x @ x.mT / 8**0.5 - slopes[:, None, None] * away
    assert_close(weights, scores.masked_fill(~seen, -torch.inf).softmax(-1))


@functools.cache
def longer() -> dict:
    """Section 11.9, with each model trained only once."""
    made = chapter.run("longer-reader", "longer-tasks-code", "longer-train")
    return made | {"trained": functools.cache(made["trained"])}


def rate(task: str, way: str, seed: int, words: int, by: float = 1, base: float = 10_000) -> float:
    """How often a model trained on 16 words is right in texts of another length."""
    made = longer()
    model = made["trained"](made[task], way, seed)
    for layer in model.layers if way == "rotary" else ():
        layer.rotary = Rotary(base)
    positions = torch.arange(words) / by if way == "rotary" else None
    found = made["right"](model, made[task], way, words, positions)
    for layer in model.layers if way == "rotary" else ():
        layer.rotary = Rotary()
    return found


@claim("How well each works on longer texts depends on the task.", seed=(11, 12), words=(48, 80))
def test_each_way_has_a_task_at_which_the_other_is_better(seed, words):
    found = {
        (task, way): rate(task, way, seed, words)
        for task in ("two_back", "first")
        for way in ("rotary", "ALiBi")
    }
    assert found["first", "ALiBi"] > found["first", "rotary"] + 0.1
    in_training = rate("two_back", "rotary", seed, 16), rate("two_back", "ALiBi", seed, 16)
    assert in_training[0] > in_training[1] + 0.3
    assert rate("two_back", "rotary", seed, 28) > rate("two_back", "ALiBi", seed, 28) + 0.3


@claim(
    "Rotary positions can fail at angles that did not occur in training, and slower rotations can"
    " repair this.",
    seed=(11, 12),
    words=(64, 80),
)
def test_slower_rotations_repair_a_rotary_model(seed, words):
    assert rate("first", "rotary", seed, 16) > 0.9
    assert rate("first", "rotary", seed, words) < 0.7
    assert rate("first", "rotary", seed, words, by=words / 16) > 0.9
    assert rate("two_back", "rotary", seed, words) < 0.7
    assert rate("two_back", "rotary", seed, words, base=500_000) > 0.9


@pytest.fixture(scope="module")
def spelling() -> dict:
    """Section 11.10 without its models."""
    where = chapter.source("sinks-where").partition("\n")[2].replace("in spellers", "in []")
    window = chapter.source("sinks-window").partition("for name")[0]
    cells = "longer-reader", "sinks-texts", "sinks-train", "sinks-where", "sinks-window"
    made = chapter.run(*cells, **{"sinks-where": where, "sinks-window": window})
    return made | {"speller": functools.cache(made["speller"])}


@claim(
    "The weights of a query sum to 1, so a head that needs nothing still attends to something,"
    " often to the first word.",
    "A model can also come to depend on that word, even if it says nothing about the text.",
    tried="seeds 5 to 34, of which four in five have to agree",
)
@torch.no_grad()
def test_letters_that_need_nothing_attend_to_the_first_symbol_and_need_it(spelling):
    first, harm = [], []
    for seed in range(5, 35):
        with torch.enable_grad():
            model = spelling["speller"](seed)
        texts, late = spelling["new_texts"], spelling["late"]
        _, weights = spelling["losses"](model, texts, causal_mask(spelling["SPAN"]))
        assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        first.append(weights[late][:, 0].mean().item())
        losses = {
            name: spelling["late_loss"](model, mask) for name, mask in spelling["masks"].items()
        }
        harm.append(losses["window of 4"] - losses["all"])
    assert sum(weight > 0.2 for weight in first) >= 24  # of 32 symbols, each would get 0.03
    assert 24 <= sum(loss > 0.02 for loss in harm) < 30  # "a few … lose almost nothing"
