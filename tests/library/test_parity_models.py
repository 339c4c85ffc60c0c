"""The attention inside BERT, GPT-2 and MPT, computed by their own classes and by ours.

For Llama and its successors see test_parity_llama.py.
"""

import json

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model, MptConfig, MptModel

from attnbook import MultiHeadAttention, alibi_bias, causal_mask, combine_masks, padding_mask
from manuscript.common import ROOT
from tests.support.hugging_face import (
    LENGTH,
    LENGTHS,
    TOLERANCE,
    D,
    H,
    assert_same,
    caught,
    ids,
    random_model,
)

CHAPTER = ROOT / "book" / "04_multi_head.ipynb"


def bert(**options) -> nn.Module:
    sizes = {"hidden_size": D, "num_hidden_layers": 2, "num_attention_heads": H}
    config = BertConfig(
        vocab_size=50, intermediate_size=64, attn_implementation="eager", **sizes, **options
    )
    return random_model(BertModel(config))


@pytest.fixture
def gpt2():
    config = GPT2Config(
        vocab_size=50,
        n_embd=D,
        n_layer=2,
        n_head=H,
        n_positions=16,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="eager",
    )
    return random_model(GPT2Model(config))


def right_padded() -> torch.Tensor:
    """Hugging Face's mask, (B, L): 1 for a token and 0 for padding."""
    return padding_mask(LENGTHS, LENGTH)[:, 0].long()


def pair(linear: nn.Linear) -> tuple[torch.Tensor, torch.Tensor]:
    return linear.weight, linear.bias


def from_bert(attention: nn.Module) -> MultiHeadAttention:
    parts = (attention.self.query, attention.self.key, attention.self.value, attention.output.dense)
    return MultiHeadAttention.from_weights(H, *map(pair, parts))


def from_gpt2(attention: nn.Module) -> MultiHeadAttention:
    """GPT-2 stores three (in, out) matrices as one: split it, and transpose each part."""
    weights = [w.T for w in (*attention.c_attn.weight.chunk(3, dim=1), attention.c_proj.weight)]
    biases = [*attention.c_attn.bias.chunk(3), attention.c_proj.bias]
    return MultiHeadAttention.from_weights(H, *zip(weights, biases, strict=True))


@pytest.mark.parametrize("padded", [False, True])
def test_bert(padded):
    model = bert()
    attention = model.encoder.layer[1].attention
    inputs = {"attention_mask": right_padded()} if padded else {}
    x, output, weights = caught(
        model, attention.self, attention.output.dense, input_ids=ids(), **inputs
    )
    assert weights.amax(-1).median() > 0.4  # evenly spread weights would prove little
    mask = padding_mask(LENGTHS, LENGTH) if padded else None
    ours = from_bert(attention)
    assert_same(ours(x, mask=mask), (output, weights))
    if padded:
        assert not torch.allclose(ours(x)[0], output, atol=0.1)


def test_bert_as_a_decoder_with_self_and_cross_attention():
    model = bert(is_decoder=True, add_cross_attention=True)
    layer = model.encoder.layer[1]
    context = torch.randn(len(LENGTHS), 7, D, generator=torch.Generator().manual_seed(2))
    context_lengths = (7, 3, 5)
    inputs = {
        "input_ids": ids(),
        "encoder_hidden_states": context,
        "encoder_attention_mask": padding_mask(context_lengths, 7)[:, 0].long(),
        "use_cache": False,
    }
    back, across = layer.attention, layer.crossattention
    x, output, weights = caught(model, back.self, back.output.dense, **inputs)
    assert_same(from_bert(back)(x, mask=causal_mask(LENGTH)), (output, weights))
    x, output, weights = caught(model, across.self, across.output.dense, **inputs)
    assert weights.shape == (len(LENGTHS), H, LENGTH, 7)
    ours = from_bert(across)(x, context, mask=padding_mask(context_lengths, 7))
    assert_same(ours, (output, weights))


@pytest.mark.parametrize("padded", [False, True])
def test_gpt2(gpt2, padded):
    attention = gpt2.h[1].attn
    inputs = {"attention_mask": right_padded()} if padded else {}
    x, output, weights = caught(gpt2, attention, attention, input_ids=ids(), **inputs)
    assert weights.amax(-1).median() > 0.4
    mask = combine_masks(causal_mask(LENGTH), padding_mask(LENGTHS, LENGTH) if padded else None)
    assert_same(from_gpt2(attention)(x, mask=mask), (output, weights))
    assert not torch.allclose(from_gpt2(attention)(x)[0], output, atol=0.1)


def test_gpt2_padded_on_the_left(gpt2):
    """Generation pads this way. Outputs may differ at padding, where a query sees no key."""
    attention = gpt2.h[1].attn
    real = right_padded().flip(1)
    x, output, weights = caught(gpt2, attention, attention, input_ids=ids(), attention_mask=real)
    mask = combine_masks(causal_mask(LENGTH), real.bool()[:, None])
    ours = from_gpt2(attention)(x, mask=mask)
    assert_same(ours, (output, weights), rows=real.bool())
    assert ours[1].transpose(1, 2)[~real.bool()].eq(0).all()


@pytest.mark.parametrize("n_heads", [4, 6])
def test_the_alibi_of_mpt(n_heads):
    config = MptConfig(d_model=D, n_heads=n_heads, n_layers=2, vocab_size=50, max_seq_len=16)
    config.attn_config.attn_impl = "torch"
    model = random_model(MptModel(config))
    attention = model.blocks[1].attn
    x, output, weights = caught(model, attention, attention, input_ids=ids())
    thirds = attention.Wqkv.weight.chunk(3)
    four = [(weight, None) for weight in (*thirds, attention.out_proj.weight)]
    ours = MultiHeadAttention.from_weights(n_heads, *four)
    mask, bias = causal_mask(LENGTH), alibi_bias(n_heads, LENGTH, LENGTH)
    assert_same(ours(x, mask=mask, bias=bias), (output, weights))
    assert not torch.allclose(ours(x, mask=mask)[0], output, atol=0.1)


def test_the_chapter_states_the_tolerance_that_holds_here():
    cells = json.loads(CHAPTER.read_text("utf-8"))["cells"]
    text = "".join(line for cell in cells for line in cell["source"])
    assert f"to within {TOLERANCE:.5f}" in text
