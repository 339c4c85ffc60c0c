"""The summary of chapter 4, tried with other vectors, widths and initializations."""

import copy
import functools

import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attnbook import (
    MultiHeadAttention,
    fused_attention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from attnbook.notebook.cost import seconds
from tests.support.chapters import Chapter
from tests.support.claims import claim

chapter = Chapter("04_multi_head.ipynb")


def parts(seed: int, heads: int, width: int) -> tuple[Tensor, list[Tensor]]:
    """Rows (7, D), and four matrices (D, D), drawn at random."""
    torch.manual_seed(seed)
    d_model = heads * width
    square = torch.randn(4, d_model, d_model).double() / d_model**0.5
    return torch.randn(7, d_model).double(), list(square)


@torch.no_grad()
def layer_of(heads: int, *matrices: Tensor) -> MultiHeadAttention:
    """The layer with these four matrices, W_Q, W_K, W_V and W_O, each (D, D)."""
    layer = MultiHeadAttention(len(matrices[0]), heads, bias=False).double()
    for name, matrix in zip("qkvo", matrices, strict=True):
        getattr(layer, f"w_{name}").weight.copy_(matrix.T)
    return layer


@claim(
    "A head gives each word one row of weights and one content, and H heads give it H of each.",
    "The layer projects, splits, attends, merges and multiplies by the output matrix $W_O$.",
    "A list of heads, all heads at once, and one projection that is split give the same numbers.",
    "The output is a sum: each head writes to all columns through its own block of $W_O$.",
    seed=(11, 12),
    heads=(2, 7),
    width=(3, 16),
)
def test_the_layer_equals_a_list_of_heads_whose_blocks_are_added_up(seed, heads, width):
    x, (w_q, w_k, w_v, w_o) = parts(seed, heads, width)
    found, maps = layer_of(heads, w_q, w_k, w_v, w_o)(x)
    assert maps.shape == (heads, 7, 7)

    contents, written = [], []
    for h in range(heads):
        own = slice(h * width, (h + 1) * width)
        content, weights = scaled_dot_product_attention(*(x @ w[:, own] for w in (w_q, w_k, w_v)))
        assert_close(weights, maps[h])
        contents.append(content)
        written.append(content @ w_o[own])
        assert (written[-1] != 0).all()
    assert_close(torch.cat(contents, -1) @ w_o, found)
    assert_close(sum(written), found)

    at_once = [x @ w.unflatten(1, (heads, width)).transpose(0, 1) for w in (w_q, w_k, w_v)]
    assert_close(merge_heads(scaled_dot_product_attention(*at_once)[0]) @ w_o, found)


@claim(
    "Heads with the same content do no more than one map, the mean of theirs.",
    seed=(11, 12),
    heads=(2, 7),
)
def test_heads_with_one_content_equal_their_mean_map(seed, heads):
    x, (w_q, w_k, w_v, w_o) = parts(seed, heads, 8)
    own_v, own_o = w_v[:, :8], w_o[:8]
    found, maps = layer_of(heads, w_q, w_k, own_v.repeat(1, heads), own_o.repeat(heads, 1))(x)
    assert_close(found, heads * maps.mean(0) @ x @ own_v @ own_o)
    others, _ = layer_of(heads, w_q, w_k, w_v, own_o.repeat(heads, 1))(x)
    assert not torch.allclose(others, heads * maps.mean(0) @ x @ own_v @ own_o)


@claim(
    "`view` instead of a transpose mixes tokens, but all shapes are right and there is no error.",
    seed=(11, 12),
    heads=(2, 7),
)
def test_a_view_has_the_right_shape_and_mixes_tokens(seed, heads):
    torch.manual_seed(seed)
    x, (right, wrong) = torch.randn(7, heads * 4).requires_grad_(), (split_heads, torch.Tensor.view)
    shapes, read = [], []
    for split in (lambda rows: right(rows, heads), lambda rows: wrong(rows, heads, 7, 4)):
        out, _ = scaled_dot_product_attention(*[split(x)] * 3)
        shapes.append(out.shape)
        head = split(x)[0]
        (slope,) = torch.autograd.grad(head[1].sum(), x)
        read.append(slope.any(-1).nonzero().flatten().tolist())
    assert shapes[0] == shapes[1] == (heads, 7, 4)
    assert read[0] == [1]
    assert read[1] == [0]  # row 1 of head 0 is a part of token 0


@claim(
    "The number of heads changes neither the parameters, $4(D^2 + D)$, nor the FLOPs of the matrix"
    " products, $8LD^2 + 4L^2D$.",
    "The attention maps and the work of the softmax grow with H,",
    width=(48, 240),
    words=(5, 70),
)
def test_only_the_maps_grow_with_the_number_of_heads(width, words):
    sizes = []
    for heads in (1, 2, 6, 24):
        layer = MultiHeadAttention(width, heads)
        with FlopCounterMode(display=False) as counter:
            _, maps = layer(torch.randn(words, width))
        assert sum(p.numel() for p in layer.parameters()) == 4 * (width**2 + width)
        assert counter.get_total_flops() == 8 * words * width**2 + 4 * words**2 * width
        sizes.append(maps.numel())
    assert sizes == [heads * words**2 for heads in (1, 2, 6, 24)]


@claim(
    "and for long texts and narrow heads so does the time.",
    "With wide heads and a fused function the difference nearly disappears.",
    words=(1024,),
    width=(256, 512),
)
@torch.no_grad()
def test_time_grows_with_narrow_heads_and_hardly_with_wide_ones_in_a_fused_function(words, width):
    def time(attend, d_head: int) -> float:
        rows = torch.randn(3, width // d_head, words, d_head)
        return seconds(lambda: attend(*rows))

    assert time(scaled_dot_product_attention, 8) > 2 * time(scaled_dot_product_attention, 64)
    assert time(fused_attention, 64) < 1.5 * time(fused_attention, 128)


CELLS = "sentence-code reporter-code loss-code run-table words-only-code shared-code"


@functools.cache
def game(width: int) -> dict:
    """The chapter's names at some width. Each model is trained only once."""
    wider = chapter.source("reporter-code").replace("WIDTH = 16", f"WIDTH = {width}")
    made = chapter.run(*CELLS.split(), **{"reporter-code": wider})
    return made | {"grow": functools.cache(made["grow"])}


@torch.no_grad()
def both_right(width: int, model: nn.Module) -> float:
    """How often both reports of a noun are right."""
    made = game(width)
    said = model(made["test_ids"], made["test_digits"])[0].argmax(-1)
    right = (said == made["test_due"])[:, made["NOUN"]]
    return right.all(-1).double().mean().item()


@torch.no_grad()
def job(width: int, model: nn.Module) -> int:
    """The head that 苹果 uses for its quality, 甜."""
    made = game(width)
    maps = model(made["test_ids"], made["test_digits"])[1]  # (600, 2, 9, 9)
    return maps[:, :, 0, 2].mean(0).argmax().item()


@claim(
    "Two heads soon learn one job each, and a linear layer can read both answers.",
    seed=(11, 12),
    width=(24,),
)
@torch.no_grad()
def test_two_heads_are_enough_and_without_either_one_report_fails(seed, width):
    made = game(width)
    with torch.enable_grad():
        model = made["grow"](seed, 2)
    assert both_right(width, model) > 0.9
    kept = []
    for h in (0, 1):
        cut = copy.deepcopy(model)
        cut.attention.w_o.weight.unflatten(1, (2, -1))[:, h] = 0
        said = cut(made["test_ids"], made["test_digits"])[0].argmax(-1)
        kept.append((said == made["test_due"])[:, made["NOUN"]].double().mean((0, 1)).tolist())
    assert sorted(report.index(max(report)) for report in kept) == [0, 1]
    assert min(map(max, kept)) > 0.8
    assert max(map(min, kept)) < 0.4


@claim("Which head gets which job depends on the initialization.", width=(24,))
def test_either_head_may_get_either_job(width):
    assert len({job(width, game(width)["grow"](seed, 2)) for seed in range(11, 17)}) == 2


@claim("A single head needs a ReLU after it, or many more steps.", seed=(11, 12), width=(24,))
def test_one_head_needs_a_relu_or_more_steps(seed, width):
    grow = game(width)["grow"]
    assert both_right(width, grow(seed, 1)) < 0.7
    assert both_right(width, grow(seed, 1, nn.ReLU())) > 0.7
    assert both_right(width, grow(seed, 1, steps=1200)) > 0.8
