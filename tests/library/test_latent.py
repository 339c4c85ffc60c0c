"""Latent attention: absorbed steps equal one pass, and DeepSeek-V3's layer equals ours."""

import itertools

import pytest
import torch
from torch.testing import assert_close
from transformers import AutoModel, DeepseekV3Config

from attnbook import KVCache, LatentAttention, Rotary, causal_mask, sink_mask
from attnbook.notebook.cost import cost
from tests.support.draws import drawn
from tests.support.hugging_face import TOLERANCE, D, H, assert_same, caught, ids, random_model

B, L, RANK, DK, DR = 3, 9, 7, 5, 4


def latent(**options) -> LatentAttention:
    torch.manual_seed(0)
    return LatentAttention(10, 2, RANK, DK, DR, **options).double()


# --- one pass and steps --------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("q_lora_rank", [None, 6])
@pytest.mark.parametrize("prefill", [0, 1, 5])
@pytest.mark.parametrize("together", [1, 2])
def test_absorbed_steps_equal_one_pass(q_lora_rank, prefill, together):
    layer, x = latent(q_lora_rank=q_lora_rank, rotary=Rotary(50.0)), drawn(B, L, 10)
    whole, all_weights = layer(x, causal_mask(L))
    cache, rows, weights = KVCache(), [], []
    cuts = [*range(prefill, L, together), L]
    for start, end in itertools.pairwise([0, *cuts] if prefill else cuts):
        output, seen = layer(x[:, start:end], causal_mask(end)[start:], cache)
        rows.append(output)
        weights.append(torch.nn.functional.pad(seen, (0, L - end)))
    assert_close(torch.cat(rows, 1), whole, rtol=0, atol=1e-12)
    assert_close(torch.cat(weights, 2), all_weights, rtol=0, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("mask", [(L, L), (B, 1, L), (B, L, L), (B, 2, L, L)])
def test_a_mask_means_the_same_in_a_step(mask):
    layer, x = latent(), drawn(B, L, 10)
    seen = torch.rand(mask, generator=torch.Generator().manual_seed(1)) < 0.6
    seen = seen & causal_mask(L) if seen.size(-2) == L else seen & (torch.arange(L) < 4)
    cache = KVCache()
    layer(x[:, :6], cache=cache)
    output, _ = layer(x[:, 6:], seen if seen.size(-2) == 1 else seen[..., 6:, :], cache)
    assert_close(output, layer(x, seen)[0][:, 6:], rtol=0, atol=1e-12)


@torch.no_grad()
def test_one_sequence_needs_no_batch_axis():
    layer, x = latent(), drawn(L, 10)
    output, weights = layer(x[None], causal_mask(L))
    assert_close(layer(x, causal_mask(L)), (output[0], weights[0]), rtol=0, atol=1e-12)
    cache = KVCache()
    rows = [layer(row, cache=cache)[0] for row in x.split(1)]
    assert_close(torch.cat(rows), output[0], rtol=0, atol=1e-12)


@torch.no_grad()
def test_a_cache_may_have_a_window():
    layer, x, cache = latent(), drawn(B, L, 10), KVCache(3, 1)
    rows = [layer(row, cache=cache)[0] for row in x.split(1, dim=1)]
    assert_close(torch.cat(rows, 1), layer(x, sink_mask(L, 3, 1))[0], rtol=0, atol=1e-12)


def test_gradients_reach_every_parameter_in_both_forms():
    for filled in (False, True):
        layer, x, cache = latent(q_lora_rank=6), drawn(B, L, 10), KVCache()
        if filled:
            with torch.no_grad():
                layer(x, cache=cache)
        layer(x, cache=cache)[0].square().sum().backward()
        assert all(p.grad is not None and p.grad.abs().max() > 0 for p in layer.parameters())


# --- what it costs -------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("n_heads", [2, 8])
def test_the_cache_holds_a_latent_and_a_rotary_key_for_all_heads_together(n_heads):
    layer, cache = LatentAttention(10, n_heads, RANK, DK, DR), KVCache()
    layer(drawn(B, L, 10).float(), cache=cache)
    tensors = (cache.key, cache.value)
    assert sum(x.numel() * x.element_size() for x in tensors) == 4 * B * L * (RANK + DR)


@torch.no_grad()
def test_a_step_computes_no_keys_and_copies_no_latents_for_each_head():
    layer, cache = LatentAttention(64, 16, 32, 16, 8), KVCache()
    layer(torch.randn(1, 1000, 64), cache=cache)
    row = torch.randn(1, 1, 64)
    step = cost(lambda: layer(row, cache=cache))
    scores_and_mixtures = 16 * 1001 * (2 * 32 + 8)
    matrices = 64 * 16 * 24 + 64 * 40 + 2 * 16 * 32 * 16 + 16 * 16 * 64
    assert step.multiplications == scores_and_mixtures + matrices
    assert step.megabytes * 1e6 < 4 * 4 * 1001 * (32 + 8)  # computed keys would be 16 · 16 wide


# --- an independent implementation ---------------------------------------------------------------


def from_deepseek(theirs, **options) -> LatentAttention:
    """Copy all parameters of DeepSeek-V3's attention; their pairs are side by side like ours."""
    rank, d_k, d_r = theirs.kv_lora_rank, theirs.qk_nope_head_dim, theirs.qk_rope_head_dim
    ours = LatentAttention(D, H, rank, d_k, d_r, q_lora_rank=theirs.q_lora_rank, **options)
    found = dict(theirs.state_dict())
    down = found["kv_a_proj_with_mqa.weight"]
    up = found["kv_b_proj.weight"].unflatten(0, (H, -1))  # (H, d_k + d_v, rank)
    state = {
        "w_c.weight": down[:rank],
        "w_r.weight": down[rank:],
        "c_norm.weight": found["kv_a_layernorm.weight"],
        "w_k.weight": up[:, :d_k].flatten(0, 1),
        "w_v.weight": up[:, d_k:].flatten(0, 1),
        "w_o.weight": found["o_proj.weight"],
    }
    names = ("q_a_proj", "q_a_layernorm", "q_b_proj") if theirs.q_lora_rank else ("q_proj",)
    for i, name in enumerate(names):
        ours_name = f"w_q.{i}.weight" if theirs.q_lora_rank else "w_q.weight"
        state[ours_name] = found[f"{name}.weight"]
    ours.load_state_dict(state)
    return ours.eval()


def deepseek(q_lora_rank: int | None):
    """The second attention layer of a small DeepSeek-V3, its input, and its output and weights."""
    config = DeepseekV3Config(
        hidden_size=D,
        num_attention_heads=H,
        num_key_value_heads=H,
        num_hidden_layers=2,
        vocab_size=50,
        intermediate_size=64,
        moe_intermediate_size=16,
        n_routed_experts=4,
        n_group=1,
        topk_group=1,
        num_experts_per_tok=2,
        first_k_dense_replace=2,
        q_lora_rank=q_lora_rank,
        kv_lora_rank=20,
        qk_nope_head_dim=10,
        qk_rope_head_dim=6,
        v_head_dim=10,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        attn_implementation="eager",
    )
    model = random_model(AutoModel.from_config(config))
    attention = model.layers[1].self_attn
    entered, *left = caught(model, attention, attention, input_ids=ids())
    return attention, entered["hidden_states"], tuple(left)


@torch.no_grad()
@pytest.mark.parametrize("q_lora_rank", [None, 14])
def test_deepseek_v3(q_lora_rank):
    theirs, x, expected = deepseek(q_lora_rank)
    assert expected[1].amax(-1).median() > 0.2  # 0.1 if evenly spread
    length = x.size(1)
    ours = from_deepseek(theirs, rotary=Rotary(500.0))
    assert_same(ours(x, causal_mask(length)), expected)
    cache = KVCache()
    rows = [ours(row, cache=cache)[0] for row in x.split(1, dim=1)]
    assert_close(torch.cat(rows, 1), expected[0], rtol=0, atol=TOLERANCE)


@torch.no_grad()
@pytest.mark.parametrize("missing", ["rotary", "c_norm", "w_q.1"])
def test_without_one_of_its_parts_deepseek_v3_differs_clearly(missing):
    theirs, x, (expected, _) = deepseek(14)
    ours = from_deepseek(theirs, rotary=Rotary(500.0 if missing != "rotary" else 10000.0))
    if missing != "rotary":
        ours.get_submodule(missing).weight.fill_(1.0)
    found = ours(x, causal_mask(x.size(1)))[0]
    assert (found - expected).norm() > 0.02 * expected.norm()


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((10, 0, 7, 5, 4), "n_heads=0: it must be at least 1"),
        ((10, 2, 7, 5, 3), "d_rotary=3 is odd"),
        ((10, 2, -1, 5, 4), "kv_lora_rank=-1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        LatentAttention(*sizes)
    with pytest.raises(ValueError, match="q_lora_rank=0"):
        latent(q_lora_rank=0)


def test_inputs_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="d_model=10 is expected"):
        latent()(drawn(L, 9))
    with pytest.raises(ValueError, match="rotate_on_read: LatentAttention caches keys"):
        latent()(drawn(1, 10), cache=KVCache(rotate_on_read=True))
