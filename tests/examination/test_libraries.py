"""`examine` calls nothing wrong in our library, PyTorch's layers and released architectures."""

import warnings
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from torch import nn

import attnbook
from attnbook import examine
from attnbook.attention.kv_cache import KVCache

CORE = {"kind": "core", "mask": "keep", "mask_shape": "LL"}
BOTH = {"kind": "layer", "causal": False}
LM = {"kind": "lm", "positions": True}
D, H, V = 16, 4, 23


def layer_with(attend, **options):
    return attnbook.MultiHeadAttention(D, H, attend=attend, **options)


class Causal(nn.Module):
    """Our layer with the mask that a language model needs."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x, mask=attnbook.causal_mask(x.size(1)))[0]


class Placed(nn.Module):
    """Positions, and then a layer."""

    def __init__(self, positions):
        super().__init__()
        self.positions, self.layer = positions, attnbook.MultiHeadAttention(D, H)

    def forward(self, x):
        return self.layer(self.positions(x))[0]


class Stepped(nn.Module):
    """Our language model, whose caches are made where they are needed."""

    def __init__(self, **options):
        super().__init__()
        self.model = attnbook.LanguageModel(V, D, H, 2, 2, 32, **options)

    def step(self, ids, cache):
        cache = [KVCache() for _layer in range(2)] if cache is None else cache
        return self.model(ids, cache=cache), cache

    def forward(self, ids, keep=None):
        positions = None if keep is None else (keep.long().cumsum(-1) - 1).clamp(min=0)
        return self.model(ids, mask=keep if keep is None else keep[:, None], positions=positions)


OURS = {
    "scaled_dot_product_attention": (lambda: attnbook.scaled_dot_product_attention, CORE),
    "fused_attention": (lambda: attnbook.fused_attention, CORE),
    "chunked_attention": (lambda: attnbook.chunked_attention, CORE),
    "without a mask": (lambda: attnbook.scaled_dot_product_attention, {"kind": "core"}),
    "a mask (B, 1, Lq, Lk)": (
        lambda: attnbook.scaled_dot_product_attention,
        {**CORE, "mask_shape": "B1LL"},
    ),
    "MultiHeadAttention": (lambda: attnbook.MultiHeadAttention(D, H), BOTH),
    "without bias": (lambda: attnbook.MultiHeadAttention(D, H, bias=False), BOTH),
    "fused": (lambda: layer_with(attnbook.fused_attention), BOTH),
    "chunked": (lambda: layer_with(attnbook.chunked_attention), BOTH),
    "with a mask of pairs": (
        lambda: attnbook.MultiHeadAttention(D, H),
        {**BOTH, "mask": "keep", "mask_shape": "BLL"},
    ),
    "causal": (
        lambda: Causal(attnbook.MultiHeadAttention(D, H)),
        {"kind": "layer", "causal": True},
    ),
    "cross-attention": (lambda: attnbook.MultiHeadAttention(D, H), {"kind": "cross"}),
    "a context of another width": (
        lambda: attnbook.MultiHeadAttention(D, H, d_context=10),
        {"kind": "cross", "d_context": 10},
    ),
    "SelfAttention": (lambda: attnbook.SelfAttention(D, D, D), BOTH),
    "GroupedQueryAttention": (lambda: attnbook.GroupedQueryAttention(D, H, 2), BOTH),
    "grouped, causal, rotary": (
        lambda: Causal(attnbook.GroupedQueryAttention(D, H, 2, rotary=attnbook.Rotary())),
        {"kind": "layer", "causal": True, "positions": True},
    ),
    "one key head": (lambda: attnbook.GroupedQueryAttention(D, H, 1), BOTH),
    "ShawAttention": (
        lambda: attnbook.ShawAttention(D, H, 4),
        {**BOTH, "positions": True},
    ),
    "SinusoidalPositions": (
        lambda: Placed(attnbook.SinusoidalPositions(D)),
        {**BOTH, "positions": True},
    ),
    "LearnedPositions": (
        lambda: Placed(attnbook.LearnedPositions(32, D)),
        {**BOTH, "positions": True},
    ),
    "EncoderLayer": (lambda: attnbook.EncoderLayer(D, H, 32), {**BOTH, "block": "post"}),
    "EncoderLayer, pre-norm": (
        lambda: attnbook.EncoderLayer(D, H, 32, norm_first=True),
        {**BOTH, "block": "pre"},
    ),
    "LanguageModel": (lambda: attnbook.LanguageModel(V, D, H, 2, 2, 32), LM),
    "with a cache": (Stepped, {**LM, "step": "step"}),
    "with padding": (Stepped, {**LM, "pad": 0, "keep": True}),
    "untied, without dropout": (lambda: Stepped(tied=False), {**LM, "step": "step"}),
    "Transformer": (lambda: attnbook.Transformer(V, V, D, H, 2, 32), {"kind": "seq2seq"}),
    "sinusoidal_encoding": (lambda: attnbook.sinusoidal_encoding, {"kind": "table"}),
    "apply_rotary": (lambda: attnbook.apply_rotary, {"kind": "rotary"}),
    "keep_top_p": (lambda: attnbook.keep_top_p, {"kind": "top_p"}),
    "keep_top_k": (lambda: attnbook.keep_top_k, {"kind": "top_k"}),
}


@pytest.mark.parametrize("name", OURS)
def test_our_library_is_silent(name):
    make, facts = OURS[name]
    report = examine(make(), **facts)
    assert not report.refusal, report
    assert not report.findings, report


TORCH = {
    "MultiheadAttention": (lambda: nn.MultiheadAttention(D, H, batch_first=True), BOTH),
    "MultiheadAttention, batch second": (
        lambda: nn.MultiheadAttention(D, H),
        {**BOTH, "layout": "LBD"},
    ),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(D, H, 32, batch_first=True),
        {**BOTH, "block": "post"},
    ),
    "TransformerEncoderLayer, pre-norm": (
        lambda: nn.TransformerEncoderLayer(D, H, 32, batch_first=True, norm_first=True),
        {**BOTH, "block": "pre"},
    ),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(D, H, 32, batch_first=True), 2, enable_nested_tensor=False
        ),
        BOTH,
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(D, H, 32, batch_first=True),
        {"kind": "cross", "block": "post"},
    ),
}


@pytest.mark.parametrize("name", TORCH)
def test_pytorchs_layers_are_silent(name):
    make, facts = TORCH[name]
    report = examine(make(), **facts)
    assert not report.refusal, report
    assert not report.findings, report


class Architecture(NamedTuple):
    """A tiny model of Hugging Face with random weights, and what its authors say of it."""

    model: str
    sizes: dict[str, Any]
    facts: dict[str, Any]


SIZES = {"vocab_size": V, "num_hidden_layers": 2, "num_attention_heads": H}
LLAMA = {**SIZES, "hidden_size": D, "intermediate_size": 32, "num_key_value_heads": 2}
BERT = {**SIZES, "hidden_size": D, "intermediate_size": 32, "max_position_embeddings": 32}
ARCHITECTURES = {
    "GPT-2": Architecture(
        "GPT2LMHeadModel", {"vocab_size": V, "n_embd": D, "n_layer": 2, "n_head": H}, LM
    ),
    "Llama": Architecture("LlamaForCausalLM", LLAMA, LM),
    "Mistral": Architecture("MistralForCausalLM", {**LLAMA, "sliding_window": None}, LM),
    "Qwen2": Architecture("Qwen2ForCausalLM", LLAMA, LM),
    "Qwen3": Architecture("Qwen3ForCausalLM", {**LLAMA, "head_dim": 4}, LM),
    "BERT": Architecture(
        "BertForMaskedLM", BERT, {"kind": "lm", "causal": False, "positions": True}
    ),
    "MPT": Architecture(
        "MptForCausalLM", {"vocab_size": V, "d_model": D, "n_layers": 2, "n_heads": H}, LM
    ),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_released_architectures_are_not_called_wrong(name):
    architecture = ARCHITECTURES[name]
    kind = getattr(transformers, architecture.model)
    sizes = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):
        model = kind(kind.config_class(**architecture.sizes, **sizes))
    report = examine(model, **architecture.facts)
    assert not report.refusal, report
    assert not report.is_faulty, report
