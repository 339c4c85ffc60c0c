"""Layers in half precision and under autocast; their copies, pickles and state dictionaries."""

import copy
import io
import os
import pickle
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    LatentAttention,
    LearnedPositions,
    MultiHeadAttention,
    Rotary,
    SelfAttention,
    ShawAttention,
    SinusoidalPositions,
    TransformerXLAttention,
    blocked_attention,
    chunked_attention,
    fused_attention,
    linear_attention,
    window_attention,
)
from tests.support.draws import drawn

B, L, D, H = 2, 5, 24, 6
LAYERS = {
    "self": partial(SelfAttention, D, 4, 7),
    "multi-head": partial(MultiHeadAttention, D, H),
    "fused": partial(MultiHeadAttention, D, H, attend=partial(fused_attention, causal=True)),
    "chunked": partial(MultiHeadAttention, D, H, attend=partial(chunked_attention, chunk=2)),
    "blocked": partial(MultiHeadAttention, D, H, attend=blocked_attention),
    "window": partial(MultiHeadAttention, D, H, attend=partial(window_attention, window=1)),
    "linear": partial(MultiHeadAttention, D, H, attend=linear_attention),
    "grouped": partial(GroupedQueryAttention, D, H, 2, rotary=Rotary(), qk_norm=True),
    "latent": partial(LatentAttention, D, H, 16, d_k=4, d_rotary=4),
    "Shaw": partial(ShawAttention, D, H, max_distance=2),
    "Transformer-XL": partial(TransformerXLAttention, D, H),
    "sinusoidal": partial(SinusoidalPositions, D),
    "learned": partial(LearnedPositions, 9, D),
}
SIMULATED = pytest.mark.skipif(
    os.environ.get("ATTNBOOK_REHEARSAL") == "1",
    reason="a simulated GPU has no autocast, and its tensors cannot be pickled",
)
layers = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)


def output(layer: nn.Module, x: Tensor) -> Tensor:
    result = layer(x)
    return result[0] if isinstance(result, tuple) else result


def made(make) -> nn.Module:
    torch.manual_seed(0)
    return make()


def assert_nearly_equal(half: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    """Require errors of a few rounding steps; none of the layers reaches four."""
    step = torch.finfo(dtype).eps * expected.detach().std().item()
    assert_close(half.float(), expected, rtol=0, atol=6 * step)


@layers
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_agrees_with_full_precision(make, dtype):
    layer, x = made(make), drawn(B, L, D).to(dtype)
    expected = output(layer, x.float())
    half = output(layer.to(dtype), x)
    assert half.dtype == dtype
    assert_nearly_equal(half, expected, dtype)


@layers
@SIMULATED
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # nn.RMSNorm's own
def test_autocast_agrees_with_full_precision_and_gives_gradients_in_float32(make):
    layer, x = made(make), drawn(B, L, D).float().requires_grad_()
    expected = output(layer, x)
    with torch.autocast(x.device.type, torch.bfloat16):
        half = output(layer, x)
    assert_nearly_equal(half, expected, torch.bfloat16)
    half.float().square().sum().backward()
    for tensor in (x, *layer.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.dtype == torch.float32
        assert tensor.grad.isfinite().all()


@SIMULATED
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # nn.RMSNorm's own
@pytest.mark.parametrize("name", ["grouped", "latent"])
def test_autocast_with_a_cache_agrees_with_full_precision(name):
    layer, x, cache = made(LAYERS[name]), drawn(B, L, D).float(), KVCache()
    expected = output(layer, x)
    with torch.autocast(x.device.type, torch.bfloat16):
        layer(x[:, :-1], cache=cache)
        half, _ = layer(x[:, -1:], cache=cache)
    assert_nearly_equal(half, expected[:, -1:], torch.bfloat16)


def through_a_file(layer: nn.Module, make) -> nn.Module:
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = make()
    other.load_state_dict(torch.load(file, weights_only=True))
    return other


@layers
@pytest.mark.parametrize(
    "copied",
    [
        lambda layer, _: copy.deepcopy(layer),
        pytest.param(lambda layer, _: pickle.loads(pickle.dumps(layer)), marks=SIMULATED),
        through_a_file,
    ],
    ids=["deepcopy", "pickle", "state_dict"],
)
def test_a_copy_computes_the_same_and_shares_no_parameter(make, copied):
    layer, x = made(make), drawn(B, L, D).float()
    expected, other = output(layer, x), copied(layer, make)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
    assert_close(output(other, x), expected, rtol=0, atol=0)
