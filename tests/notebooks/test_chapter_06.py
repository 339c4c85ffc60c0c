"""Chapter 6: what its text claims beyond what its cells print."""

import itertools
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook import scaled_dot_product_attention
from attnbook.exercises.catalog import ALL
from attnbook.exercises.chapters.ch06.experiment import attending, reach, same_block, windows
from tests.support.chapters import Chapter

chapter = Chapter("06_masked_attention.ipynb")
SENTENCE = ("exam", "masks-picture", "projections", "matrix-code", "after")
PLAIN = {
    "masks-picture": "everyone = torch.ones(length, length, dtype=torch.bool)",
    "matrix-code": "causal = causal_mask(length)",
}


@pytest.fixture(scope="module")
def search():
    """Sections 6.2 to 6.5, and the leak detector of 6.11 without its picture."""
    drawn = chapter.source("detector-one").replace("plot_leaks(", "(")
    detector = "detector-code", "versions", "view-heads", "detector-one"
    return chapter.run(*SENTENCE, "batch", *detector, **PLAIN | {"detector-one": drawn})


def test_after_the_softmax_the_last_word_has_half_the_gradient(search):
    slopes = {}
    for name in ("masked_after", "masked_before"):
        rows = search["x"].clone().requires_grad_()
        first = (search[name](search["score"](rows)) @ search["project"](rows)[2])[0]
        (slope,) = torch.autograd.grad(first.sum(), rows)
        slopes[name] = slope.norm(dim=-1)
    late, early = slopes["masked_after"], slopes["masked_before"]
    assert 0.45 < late[-1] / late[0] < 0.55
    assert early[0] > 1
    assert not early[1:].any()


def test_a_row_divided_by_its_sum_is_lost_if_the_last_word_is_30_times_as_large(search):
    large = search["x"] * torch.tensor([1, 1, 1, 1, 1, 30])[:, None]
    cut = search["masked_after"](search["score"](large))
    repaired = cut / cut.sum(-1, keepdim=True)
    assert repaired[0].isnan().all()
    torch.testing.assert_close(repaired[1:], search["masked_before"](search["score"](large))[1:])


def test_ones_and_zeros_hide_nothing_in_pytorch_and_are_refused_here(search):
    query, key, value = search["qkv"]
    ones = search["causal"].float()
    rows = F.scaled_dot_product_attention(query, key, value, attn_mask=ones)
    scores = (search["scores"] + ones).softmax(-1)
    torch.testing.assert_close(rows, scores @ value)
    with pytest.raises(ValueError, match="must be boolean"):
        scaled_dot_product_attention(query, key, value, ones)


def test_the_layer_gives_nan_or_its_last_bias_by_what_it_is_asked_for():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    nn.init.normal_(layer.out_proj.bias)  # 0 before any training
    x, hidden = torch.randn(1, 6, 16), torch.ones(6, 6, dtype=torch.bool)
    for asked, recording in itertools.product((True, False), repeat=2):
        with torch.set_grad_enabled(recording):
            rows, _ = layer(x, x, x, attn_mask=hidden, need_weights=asked)
        if recording and not asked:
            torch.testing.assert_close(rows, layer.out_proj.bias.expand_as(rows))
        else:
            assert rows.isnan().all()


def slopes(attend, x, mask):
    """The leak detector's map, from gradients: True where output i depends on word j."""
    slope = torch.autograd.functional.jacobian(lambda rows: attend(rows, mask), x)
    return slope.ne(0).any(3).any(1)


def draws(seed: int) -> torch.Tensor:
    return torch.randn(8, 6, 16, generator=torch.Generator().manual_seed(seed)).double()


@pytest.mark.parametrize(
    ("version", "leaks", "blind"),
    [
        ("causal", 0, 0),
        ("off by one", 5, 0),
        ("transposed", 15, 15),
        ("after the softmax", 15, 0),
        ("view once", 6, 3),
        ("view twice", 0, 9),
    ],
)
def test_what_the_detector_finds_in_each_version(search, version, leaks, blind):
    found, causal = search["found"][version], search["causal"]
    assert ((found & ~causal).sum(), (causal & ~found).sum()) == (leaks, blind)
    if version == "view twice":
        assert not found[3:, :3].any()


def test_a_head_split_by_view_has_halves_of_three_words(search):
    rows = search["project"](search["x64"])[0]  # (6, 24)
    for head, words in zip(rows.view(2, 6, -1), rows.split(3), strict=True):
        assert head.equal(words.reshape(6, 12))


def test_a_single_draw_can_miss_a_leak_and_eight_find_it(search):
    head, moved, x, fresh = (search[name] for name in ("head", "moved", "x64", "fresh"))
    everyone = search["everyone"]
    assert moved(head, x, everyone).all()
    assert not moved(head, x, everyone, fresh[:1]).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("size", "misses"), [(0.3, False), (3, True)])
def test_large_vectors_hide_leaks_that_small_ones_show(search, size, misses, seed):
    head, moved = search["head"], search["moved"]
    slip, rows = search["everyone"].tril(1), size * search["x64"]
    missed = slopes(head, rows, slip) & ~moved(head, rows, slip, size * draws(seed))
    assert missed.any() == misses


def test_random_vectors_miss_leaks_that_zeros_and_copies_find(search):
    def counting(x, mask):
        return search["head"](x, mask) / x.any(-1).sum()

    def repeating(x, mask):
        return search["head"](x, mask) + (x[-1] == x[:-1]).all(-1).any()

    x, moved = search["x64"], search["moved"]
    special = torch.stack([torch.zeros_like(x), x.roll(1, dims=0)])
    for leaky in (counting, repeating):
        found = [moved(leaky, x, search["causal"], o).triu(1).any() for o in (draws(0), special)]
        assert found == [False, True]


def test_a_row_divided_by_its_sum_is_marked_and_right_up_to_rounding(search):
    def repaired(x, mask):
        cut = search["score"](x).softmax(-1) * mask
        return cut / cut.sum(-1, keepdim=True) @ search["project"](x)[2]

    x, causal = search["x64"], search["causal"]
    assert search["moved"](repaired, x, causal).triu(1).any()
    torch.testing.assert_close(repaired(x, causal), search["head"](x, causal))


def test_the_causal_mask_hides_padding_on_the_right_from_real_words(search):
    rows = search["batch_qkv"]
    real = torch.arange(6) < torch.tensor([6, 3])[:, None, None]
    both, _ = scaled_dot_product_attention(*rows, search["causal"] & real)
    one, _ = scaled_dot_product_attention(*rows, search["causal"])
    torch.testing.assert_close(both[0], one[0])
    torch.testing.assert_close(both[1, :3], one[1, :3])


def test_the_shapes_under_one_another_show_what_broadcasting_aligns():
    sizes = {"B": 2, "H": 3, "Lq": 5, "Lk": 7, "1": 1}
    lines = re.findall(r"^\|[^|]+((?:\| *\w* *){4})\|$", chapter.source("axes"), re.M)[1:]
    table = [[name.strip() for name in line.split("|")[1:]] for line in lines]
    scores, three, four = (tuple(sizes[name] for name in row if name) for row in table)
    assert [len(shape) for shape in (scores, three, four)] == [4, 3, 4]
    assert torch.broadcast_shapes(scores, four) == scores
    with pytest.raises(RuntimeError, match="broadcast"):
        torch.broadcast_shapes(scores, three)
    assert (table[0][1], table[1][1]) == ("H", "B")


def test_the_reaches_of_windows_add_up_and_those_of_blocks_do_not():
    assert [reach(windows(*[3] * layers)) for layers in (1, 2, 3)] == [2, 4, 6]
    assert [reach(attending(*[same_block] * layers)) for layers in (1, 2, 3)] == [6, 6, 6]
    assert "each layer adds" not in ALL["06.experiment"].insight


def test_the_exercises_need_no_second_reading_and_point_forward():
    assert not any(e.second_reading for name, e in ALL.items() if name.startswith("06."))
    assert "Chapter 8" in ALL["06.pytorch"].comes_back
    code = Chapter("08_transformer.ipynb")
    assert any("tgt_mask=~causal" in code.source(name) for name in code.code)


def test_the_text_says_how_far_the_exam_is_a_leak_test():
    text = chapter.source("cost-seen-more")
    assert "There are two exceptions" in text
    assert "a loss that stays at ln 2 doesn't rule out a leak" in text
    assert "doesn't rule out a leak" in chapter.source("summary")
