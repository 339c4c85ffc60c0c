"""The caches of a decoder: they serve one source, and a step that fails changes nothing."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attnbook import DecoderLayer, Transformer, padding_mask
from attnbook.models.stacks import DecoderCache
from tests.support.draws import drawn, redraw

B, LS, LT, H, D, D_FF, N = 3, 7, 5, 2, 12, 20, 4
SOURCE, TARGET = 11, 9  # sizes of the vocabularies
LENGTHS = (7, 4, 1)
NORM_FIRST = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])


def model(**options) -> Transformer:
    return redraw(Transformer(SOURCE, TARGET, D, H, N, D_FF, **options)).eval()


def words(size: int, length: int) -> Tensor:
    return torch.randint(size, (B, length), generator=torch.Generator().manual_seed(0))


def equal(ours: Tensor, theirs: Tensor) -> None:
    assert_close(ours, theirs, rtol=0, atol=1e-10)


def kept(cache: DecoderCache) -> list[dict[str, object]]:
    return [dict(vars(each)) for pair in cache for each in pair]


@NORM_FIRST
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("whole", [False, True], ids=["layer", "decoder"])
@pytest.mark.parametrize(
    ("z", "z_mask", "message"),
    [
        (drawn(B, LS, D), padding_mask(LENGTHS, 8), r"mask of shape \(3, 1, 1, 8\) does not broad"),
        (drawn(B, LS, D), torch.ones(LS).bool(), r"mask has shape \(7,\): it must be \(Lq, Lk\)"),
        (drawn(B, LS, 5), None, "so its rows have width 5: d_model=12 is expected"),
        (drawn(2, LS, D), None, r"of x \(3, 1, 12\) and z \(2, 7, 12\) do not broadcast"),
    ],
)
def test_a_source_that_does_not_fit_changes_no_cache(
    norm_first, started, whole, z, z_mask, message
):
    made = model(norm_first=norm_first)
    cache = made.new_cache()
    part, own = (made.decoder, cache) if whole else (made.decoder.layers[0], cache[0])
    if started:
        part(drawn(B, 2, D), drawn(B, LS, D), cache=own)
    before = kept(cache)
    with pytest.raises(ValueError, match=message):
        part(drawn(B, 1, D), z, None, z_mask, own)
    assert kept(cache) == before  # the very same tensors


def test_a_cache_serves_one_source():
    layer, x, cache = redraw(DecoderLayer(D, H, D_FF)), drawn(B, 1, D), model().new_cache()
    layer(x, drawn(B, 3, D), cache=cache[0])
    with pytest.raises(ValueError, match="z has 5 rows but the cache has 3: a cache serves one"):
        layer(x, drawn(B, 5, D), cache=cache[0])


@NORM_FIRST
@torch.no_grad()
def test_a_cache_notices_another_source_of_the_same_length(norm_first):
    made, target = model(norm_first=norm_first), words(TARGET, LT)
    z, _ = made.encode(words(SOURCE, LS))
    other, cache = z.clone(), made.new_cache()
    other[1, 3, 5] += 1e-3
    made.decode(target[:, :2], z, cache=cache)
    before = kept(cache)
    with pytest.raises(ValueError, match=r"is not the z of shape \(3, 7, 12\) that filled the cac"):
        made.decode(target[:, 2:3], other, cache=cache)
    assert kept(cache) == before
    again, _ = made.encode(words(SOURCE, LS))  # equal numbers in another tensor
    equal(made.decode(target[:, 2:3], again, cache=cache)[0], made.decode(target, z)[0][:, 2:3])


@torch.no_grad()
def test_a_cache_whose_sentences_were_reordered_goes_with_a_source_in_the_same_order():
    made, target, rows = model(), words(TARGET, LT), torch.tensor([2, 0, 0])
    z, _ = made.encode(words(SOURCE, LS))
    cache = made.new_cache()
    made.decode(target[:, :2], z, cache=cache)
    for each in (each for pair in cache for each in pair):
        each.reorder(rows)
    with pytest.raises(ValueError, match="a cache serves one source"):
        made.decode(target[rows, 2:], z, cache=cache)
    expected = made.decode(target[rows], z[rows])[0][:, 2:]
    equal(made.decode(target[rows, 2:], z[rows], cache=cache)[0], expected)


def test_a_failed_first_step_leaves_the_cache_open_to_any_source():
    made, cache = model(), model().new_cache()
    layer, x = made.decoder.layers[0], drawn(B, 1, D)
    with pytest.raises(ValueError, match="mask has dtype"):
        layer(x, drawn(B, LS, D), torch.ones(1, 1), cache=cache[0])
    equal(layer(x, drawn(B, 5, D), cache=cache[0])[0], layer(x, drawn(B, 5, D))[0])
