"""Chapter 6: what its text claims beyond what its cells print."""

import pytest
import torch

from tests.support.chapters import Chapter

chapter = Chapter("06_masked_attention.ipynb")


@pytest.fixture(scope="module")
def search():
    """Section 6.11 up to the two detectors, without its pictures."""
    drawn = chapter.source("detector-one").replace("plot_leaks(", "(")
    return chapter.run(
        *("exam", "masks-picture", "projections", "detector-code", "detector-one", "jacobian"),
        **{
            "masks-picture": "everyone = torch.ones(length, length, dtype=torch.bool)\n"
            "causal = causal_mask(length)",
            "detector-one": drawn,
            "jacobian": chapter.source("jacobian").split("searched =")[0],
        },
    )


def draws(seed: int) -> torch.Tensor:
    return torch.randn(8, 6, 16, generator=torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("sentence", "drawn", "misses"), [(0.3, 0.3, False), (3, 0.3, True)])
def test_small_draws_find_a_slip_only_in_a_small_sentence(search, sentence, drawn, misses, seed):
    head, moved, felt = (search[name] for name in ("head", "moved", "felt"))
    slip, rows = search["everyone"].tril(1), sentence * search["x64"]
    missed = felt(head, rows, slip) & ~moved(head, rows, slip, drawn * draws(seed))
    assert missed.any() == misses


def test_a_word_that_is_overlooked_has_little_weight_and_not_none(search):
    moved, felt, score, x = (search[name] for name in ("moved", "felt", "score", "x64"))
    everyone, one_draw = search["everyone"], search["fresh"][:1]
    args = search["head"], x, everyone
    (overlooked,) = (felt(*args) & ~moved(*args, one_draw)).nonzero().tolist()
    i, j = overlooked
    changed = x.clone()
    changed[j] = one_draw[0, j]
    for rows in (x, changed):
        assert 0 < score(rows).softmax(-1)[i, j] < 1e-16


def test_a_leak_that_needs_a_large_number_escapes_small_rows(search):
    def leaky(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return search["head"](x, mask) + (x[-1].abs().max() > 1.5)

    found = [
        search["moved"](leaky, size * search["x64"], search["causal"], size * draws(1))
        for size in (1, 0.3)
    ]
    assert [moved.triu(1).any().item() for moved in found] == [True, False]


def test_in_training_mode_the_layer_without_weights_and_gradients_gives_zeros():
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(16, 2, batch_first=True)
    x, hidden = torch.randn(1, 6, 16), torch.ones(6, 6, dtype=torch.bool)
    with torch.no_grad():
        rows = {
            mode: layer.train(mode)(x, x, x, attn_mask=hidden, need_weights=False)[0]
            for mode in (True, False)
        }
    assert rows[True].isfinite().all()
    assert rows[False].isnan().all()
