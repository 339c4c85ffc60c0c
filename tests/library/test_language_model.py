"""The decoder-only model: its parts computed by hand, causality, and the cache. For Llama, see
test_parity_llama.py."""

import pytest
import torch
from torch.testing import assert_close

from attnbook import GatedFeedForward, KVCache, LanguageModel, Rotary, sink_mask

V, B, L = 11, 3, 7
SIZES = {"d_model": 12, "n_heads": 6, "n_kv_heads": 2, "n_layers": 2, "d_ff": 20}


def model(**options) -> LanguageModel:
    """A model in float64 with parameters so large that the attention weights are uneven."""
    generator = torch.Generator().manual_seed(0)
    made = LanguageModel(V, **SIZES, **options).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1.5 * noise / parameter.size(-1) ** 0.5)
    return made


def tokens() -> torch.Tensor:
    return torch.randint(V, (B, L), generator=torch.Generator().manual_seed(1))


def test_each_column_of_the_gated_network_is_a_product_of_two_linear_functions():
    torch.manual_seed(0)
    network, x = GatedFeedForward(5, 9).double(), torch.randn(2, 3, 5, dtype=torch.float64)
    expected = torch.zeros(2, 3, 5, dtype=torch.float64)
    for column in range(9):
        gate, up = x @ network.gate.weight[column], x @ network.up.weight[column]
        expected += (gate / (1 + (-gate).exp()) * up)[..., None] * network.down.weight[:, column]
    assert_close(network(x), expected)
    assert all(part.bias is None for part in (network.gate, network.up, network.down))


@torch.no_grad()
def test_a_token_changes_only_the_logits_from_its_position_on():
    made, changed = model(), tokens()
    changed[:, 4] = (changed[:, 4] + 1) % V
    same = (made(changed) - made(tokens())).abs().amax((0, 2)) < 1e-12
    assert same.tolist() == [True] * 4 + [False] * 3


@torch.no_grad()
@pytest.mark.parametrize("cuts", [[1] * L, [4, 1, 1, 1], [3, 4]])
def test_with_a_cache_the_logits_are_the_same(cuts):
    made = model()
    cache = made.new_cache()
    parts = [made(part, cache) for part in tokens().split(cuts, dim=1)]
    assert_close(torch.cat(parts, dim=1), made(tokens()))


def with_windows(made: LanguageModel, windows: list[tuple[int | None, int]]) -> torch.Tensor:
    """The logits of one pass in which each block has a mask of its own."""
    x = made.embedding(tokens())
    for block, (window, n_sinks) in zip(made.blocks, windows, strict=True):
        x, _ = block(x, sink_mask(L, window or L, n_sinks))
    return made.to_logits(made.norm(x))


@torch.no_grad()
@pytest.mark.parametrize("cuts", [[1] * L, [4, 1, 1, 1], [2, 0, 1, 1, 1, 1, 1], [L]])
@pytest.mark.parametrize("windows", [[(3, 1)] * 2, [(2, 0)] * 2, [(1, 2), (None, 0)], [(9, 1)] * 2])
def test_caches_with_a_window_give_the_logits_of_the_corresponding_masks(windows, cuts):
    made, cache = model(), [KVCache(*each) for each in windows]
    parts = [made(part, cache) for part in tokens().split(cuts, dim=1)]
    assert_close(torch.cat(parts, dim=1), with_windows(made, windows))
    differs = any(window is not None and window + n_sinks < L for window, n_sinks in windows)
    assert differs != torch.allclose(torch.cat(parts, dim=1), made(tokens()))


def test_several_tokens_that_a_window_cannot_take_at_once_change_nothing():
    made, cache = model(), [KVCache(3, 1), KVCache(3, 1)]
    made(tokens()[:, :4], cache)
    before = [dict(vars(each)) for each in cache]
    with pytest.raises(ValueError, match="key has 2 rows: a cache with a window takes one at a"):
        made(tokens()[:, 4:6], cache)
    assert [vars(each) for each in cache] == before  # the very same tensors


MOVED = torch.tensor([[0, 1, 2, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5, 6], [0, 4, 5, 6, 7, 8, 9]])


@torch.no_grad()
def test_each_sentence_may_have_positions_of_its_own():
    made = model()
    together = made(tokens(), positions=MOVED)
    alone = [made(row[None], positions=at) for row, at in zip(tokens(), MOVED, strict=True)]
    assert_close(together, torch.cat(alone))
    plain = made(tokens())
    same = (together - plain).abs().amax(-1) < 1e-9
    assert same.tolist() == [[True] * 3 + [False] * 4, [True] * 7, [True] + [False] * 6]
    assert_close(made(tokens(), positions=MOVED + 5), together)  # only distances matter


@torch.no_grad()
def test_moved_positions_are_the_same_with_a_cache():
    made = model()
    cache, parts = made.new_cache(), []
    for part, at in zip(tokens().split(2, dim=1), MOVED.split(2, dim=1), strict=True):
        parts.append(made(part, cache, at))
    assert_close(torch.cat(parts, dim=1), made(tokens(), positions=MOVED))


REAL = {  # three texts of 7, 3 and 5 tokens in a batch, and where their padding is
    "left": [[1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]],
    "right": [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0]],
    "inside": [[1, 1, 1, 1, 1, 1, 1], [1, 0, 0, 1, 0, 0, 1], [0, 1, 1, 1, 0, 1, 1]],
}


@torch.no_grad()
@pytest.mark.parametrize("rotary", [Rotary(), None], ids=["rotary", "no positions"])
@pytest.mark.parametrize("cuts", [None, [L], [1] * L, [4, 1, 2]], ids=str)
@pytest.mark.parametrize("side", REAL)
def test_with_padding_a_text_gets_the_logits_that_it_gets_alone(side, cuts, rotary):
    made, real = model(rotary=rotary), torch.tensor(REAL[side]).bool()
    for padding in (0, 7):
        padded, mask = tokens().masked_fill(~real, padding), real[:, None]
        cache, parts, end = made.new_cache() if cuts else None, [], 0
        for part in padded.split(cuts or L, dim=1):
            end += part.size(1)
            parts.append(made(part, cache, mask=mask[..., :end]))
        together = torch.cat(parts, dim=1)
        assert together.isfinite().all()
        for row, logits, kept in zip(padded, together, real, strict=True):
            assert_close(logits[kept], made(row[kept][None])[0])
        harmless = torch.allclose(made(padded)[real], together[real], atol=0.1)
        assert harmless == (side == "right")  # a causal mask hides what comes later


@torch.no_grad()
def test_positions_may_be_given_beside_a_mask():
    made, mask = model(), torch.tensor(REAL["inside"]).bool()[:, None]
    counted = torch.tensor([range(7), [0, 0, 0, 1, 1, 1, 2], [0, 0, 1, 2, 2, 3, 4]])
    assert_close(made(tokens(), positions=counted, mask=mask), made(tokens(), mask=mask))
    every = made(tokens(), positions=torch.arange(L), mask=mask)
    assert not torch.allclose(every[2, -1], made(tokens(), mask=mask)[2, -1], atol=1e-3)


def after_two(cache: list[KVCache], mask: torch.Tensor) -> torch.Tensor:
    """The logits of the third token, whose mask is this one."""
    made = model()
    made(tokens()[:, :2], cache)
    return made(tokens()[:, 2:3], cache, mask=mask)


YES = torch.ones(B, 1, L, dtype=torch.bool)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: model()(tokens(), mask=YES[:, 0]), r"\(3, 7\) on .*: it must be .* = \(3, 1, 7\)"),
        (lambda: model()(tokens(), mask=YES[:1]), r"mask has shape \(1, 1, 7\)"),
        (lambda: model()(tokens(), mask=YES.expand(B, L, L)), r"mask has shape \(3, 7, 7\)"),
        (lambda: model()(tokens(), mask=YES.long()), "mask has dtype torch.int64: it must be bool"),
        (lambda: model()(tokens(), mask=YES.to("meta")), r"\(3, 1, 7\) on meta: it must"),
        (lambda: after_two(model().new_cache(), YES[..., :1]), r"\(3, 1, 1\) .* = \(3, 1, 3\)"),
        (
            lambda: after_two([KVCache(), KVCache(5)], YES[..., :3]),
            "a mask was given, and a cache has window=5: what it drops could be padding",
        ),
    ],
)
def test_a_mask_that_does_not_say_where_padding_is_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_with_tied_weights_the_embedding_table_is_the_last_matrix():
    tied, untied = model(), model(tied=False)
    assert tied.to_logits.weight is tied.embedding.weight
    assert untied.to_logits.weight is not untied.embedding.weight
    counts = [sum(p.numel() for p in each.parameters()) for each in (tied, untied)]
    assert counts[1] - counts[0] == V * SIZES["d_model"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: model()(tokens()[0]), r"tokens has shape \(7,\): it must be \(B, L\)"),
        (lambda: model()(tokens() + 1), "tokens has ids from 1 to 11: the vocabulary has ids from"),
        (lambda: LanguageModel(0, **SIZES), "vocabulary_size=0: it must be at least 1"),
        (lambda: LanguageModel(V, **SIZES | {"n_layers": 0}), "n_layers=0: it must be at least 1"),
        (lambda: LanguageModel(V, **SIZES | {"n_kv_heads": 4}), "n_heads=6 is not divisible by"),
        (lambda: LanguageModel(V, **SIZES | {"d_model": 0}), "d_model=0: it must be at least 1"),
        (lambda: LanguageModel(V, **SIZES | {"d_model": -8}), "d_model=-8: it must be at least 1"),
        (lambda: GatedFeedForward(5, 0), "d_ff=0: it must be at least 1"),
        (lambda: GatedFeedForward(0, 4), "d_model=0: it must be"),
        (lambda: GatedFeedForward(-1, 4), "d_model=-1: it must be at least 1"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", [*SIZES, "vocabulary_size"])
@pytest.mark.parametrize("wrong", [2.0, True, "2", None])
def test_each_size_must_be_an_int(name, wrong):
    with pytest.raises(TypeError, match=f"{name} must be an int, got {type(wrong).__name__}"):
        LanguageModel(**{"vocabulary_size": V} | SIZES | {name: wrong})


def test_the_embeddings_are_initialized_with_variance_1_over_d_model():
    made = LanguageModel(4000, **SIZES | {"d_model": 60})
    assert_close(made.embedding.weight.var(), torch.tensor(1 / 60), rtol=0.05, atol=0)
