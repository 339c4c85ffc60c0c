"""What chapter 10 claims beyond the numbers that it prints."""

import pytest
import torch
from torch.nn import functional as F
from transformers.models.qwen3_next.modeling_qwen3_next import torch_recurrent_gated_delta_rule

from attnbook import bigbird_mask, linear_attention, sliding_window_mask
from attnbook.cost import cost
from tests.support.chapters import Chapter

chapter = Chapter("10_efficient_attention.ipynb")


def layers_until_all_have_heard(mask: torch.Tensor) -> int:
    reached, layers = mask.float(), 1
    while not reached.all():
        reached, layers = (mask.float() @ reached).clamp(max=1), layers + 1
    return layers


@pytest.mark.parametrize("seed", range(3))
def test_two_looks_by_lot_connect_256_words_in_five_layers_and_1024_in_six(seed):
    assert layers_until_all_have_heard(bigbird_mask(256, 4, 0, 2, seed)) == 5
    assert layers_until_all_have_heard(bigbird_mask(1024, 4, 0, 2, seed)) == 6


def test_the_window_alone_needs_the_length_over_its_width():
    assert layers_until_all_have_heard(sliding_window_mask(256, 4)) == 64


@pytest.mark.parametrize("size", [64, 128])
def test_without_detach_the_loop_keeps_one_more_table_and_a_mixture_for_each_chunk(size):
    with_it = chapter.run("forms-code", "chunks-code")
    attached = chapter.source("chunks-code").replace("s.detach()", "s")
    without = chapter.run("forms-code", "chunks-code", **{"chunks-code": attached})
    length = 1024
    qkv = [x.requires_grad_() for x in with_it["draw"](length)]
    kept, more = (
        cost(lambda f=space["by_chunks"]: f(*qkv, size).sum().backward()).megabytes
        for space in (with_it, without)
    )
    table, mixtures = 4 * length**2 / 1e6, length / size * 4 * length * 64 / 1e6
    assert more - kept == pytest.approx(table + mixtures, rel=0.1)


def test_two_maps_with_as_many_different_numbers_recall_alike():
    """So it is the width of the map (10.13): products of 16 numbers, elu + 1 of 153."""
    names = "recall-model", "recall-deal", "recall-examine", "recall-wide"
    space = chapter.run("document-deal", *names)
    by_products = space["recalled"](space["trained_recall"](space["by_wide_phi"], 16), 64)
    by_elu = space["recalled"](space["trained_recall"](linear_attention, 1 + 16 + 16 * 17 // 2), 64)
    assert by_products.min() > 0.9
    assert by_elu.min() > 0.9


def test_under_the_gated_delta_rule_a_key_that_comes_back_replaces_its_value():
    torch.manual_seed(0)
    one, other = F.normalize(torch.randn(2, 8), dim=-1)
    keys = torch.stack((one, other, one)).view(1, 3, 1, 8)
    values = torch.randn(1, 3, 1, 8)
    writes, keeps = torch.ones(1, 3, 1), torch.full((1, 3, 1), -0.5)

    def answer(beta: float) -> torch.Tensor:
        arguments = keys, keys, values, keeps, beta * writes, None, True
        _, state = torch_recurrent_gated_delta_rule(*arguments)
        return one @ state[0, 0]

    torch.testing.assert_close(answer(1.0), values[0, 2, 0])  # in whole
    half = (answer(0.5) - values[0, 2, 0]).norm()  # in part
    assert 0.1 < half < (values[0, 0, 0] - values[0, 2, 0]).norm()
