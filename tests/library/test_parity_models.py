"""The attention inside BERT, GPT-2, Llama and others, by the classes that run them, against ours.

Small models with random weights, so nothing is downloaded. They make their own masks from the
lengths; what enters and leaves each attention layer is caught on the way through.
"""

import json

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaModel,
    MistralConfig,
    MistralModel,
    MptConfig,
    MptModel,
)

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    alibi_bias,
    causal_mask,
    combine_masks,
    padding_mask,
    sink_mask,
)
from tools.common import ROOT

TOLERANCE = 1e-5
CHAPTER = ROOT / "book" / "04_multi_head.ipynb"
D, H, LENGTH, LENGTHS = 48, 4, 9, (9, 6, 1)


def random_model(model: nn.Module) -> nn.Module:
    """Draw every parameter so that heads choose. Freshly made, they hardly do, and biases are 0."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.add_(noise / 3)
            else:
                parameter.copy_(1.5 * noise / D**0.5)
    return model.eval()


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


def ids() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 50, (len(LENGTHS), LENGTH), generator=generator)


def right_padded() -> torch.Tensor:
    """Hugging Face's mask: (B, L) of 1 for a token and 0 for padding."""
    return padding_mask(LENGTHS, LENGTH)[:, 0].long()


def caught(model: nn.Module, entry: nn.Module, exit_: nn.Module, **inputs) -> tuple:
    """Run the model; return what entered one module and what left another, weights included."""
    seen = {}
    hooks = [
        entry.register_forward_pre_hook(
            lambda module, args, kwargs: seen.update(entered=args[0] if args else kwargs),
            with_kwargs=True,
        ),
        entry.register_forward_hook(lambda module, args, result: seen.update(weights=result[1])),
        exit_.register_forward_hook(
            lambda module, args, result: seen.update(
                left=result[0] if isinstance(result, tuple) else result
            )
        ),
    ]
    with torch.no_grad():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    return seen["entered"], seen["left"], seen["weights"]


def pair(linear: nn.Linear) -> tuple[torch.Tensor, torch.Tensor]:
    return linear.weight, linear.bias


def from_bert(attention: nn.Module) -> MultiHeadAttention:
    parts = (attention.self.query, attention.self.key, attention.self.value, attention.output.dense)
    return MultiHeadAttention.from_weights(H, *map(pair, parts))


def from_gpt2(attention: nn.Module, *, transpose: bool = True) -> MultiHeadAttention:
    """GPT-2 keeps three matrices in one, each (in, out): cut it, and turn each piece over."""
    weights = [*attention.c_attn.weight.chunk(3, dim=1), attention.c_proj.weight]
    biases = [*attention.c_attn.bias.chunk(3), attention.c_proj.bias]
    if transpose:
        weights = [weight.T for weight in weights]
    return MultiHeadAttention.from_weights(H, *zip(weights, biases, strict=True))


def assert_same(ours, theirs, rows=slice(None)) -> None:
    """Compare (output, weights); `rows` chooses the queries, as a (B, L) mask."""
    assert_close(ours[0][rows], theirs[0][rows], rtol=0, atol=TOLERANCE)
    by_query, theirs_by_query = (weights.transpose(1, 2) for weights in (ours[1], theirs[1]))
    assert_close(by_query[rows], theirs_by_query[rows], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("padded", [False, True])
def test_bert(layer, padded):
    model = bert()
    attention = model.encoder.layer[layer].attention
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


def test_bert_as_a_decoder_looks_back_and_across():
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


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("padded", [False, True])
def test_gpt2(gpt2, layer, padded):
    attention = gpt2.h[layer].attn
    inputs = {"attention_mask": right_padded()} if padded else {}
    x, output, weights = caught(gpt2, attention, attention, input_ids=ids(), **inputs)
    assert weights.amax(-1).median() > 0.4
    mask = combine_masks(causal_mask(LENGTH), padding_mask(LENGTHS, LENGTH) if padded else None)
    assert_same(from_gpt2(attention)(x, mask=mask), (output, weights))
    assert not torch.allclose(from_gpt2(attention)(x)[0], output, atol=0.1)


def test_gpt2_padded_on_the_left(gpt2):
    """As in generation. A padding query has nothing to look at, and there the two may differ."""
    attention = gpt2.h[1].attn
    real = right_padded().flip(1)
    x, output, weights = caught(gpt2, attention, attention, input_ids=ids(), attention_mask=real)
    mask = combine_masks(causal_mask(LENGTH), real.bool()[:, None])
    ours = from_gpt2(attention)(x, mask=mask)
    assert_same(ours, (output, weights), rows=real.bool())
    assert ours[1].transpose(1, 2)[~real.bool()].eq(0).all()


def test_gpt2_matrices_left_unturned_raise_nothing_and_are_wrong(gpt2):
    attention = gpt2.h[0].attn
    x, output, _ = caught(gpt2, attention, attention, input_ids=ids())
    unturned = from_gpt2(attention, transpose=False)
    assert (unturned(x, mask=causal_mask(LENGTH))[0] - output).abs().max() > 1


# --- Llama and what came with it ----------------------------------------------------------------

H_KV, DK = 2, D // H


def modern_sizes() -> dict:
    sizes = {"hidden_size": D, "num_attention_heads": H, "num_key_value_heads": H_KV}
    sizes |= {"num_hidden_layers": 2, "vocab_size": 50, "intermediate_size": 64}
    return sizes | {"max_position_embeddings": 64, "attn_implementation": "eager"}


@pytest.fixture
def llama():
    return random_model(LlamaModel(LlamaConfig(**modern_sizes())))


def in_pairs(d_k: int) -> torch.Tensor:
    """Where our columns stand in Llama: it turns column k with column k + Dk / 2, ours are side
    by side."""
    return torch.arange(d_k).view(2, -1).T.flatten()


def from_llama(attention: nn.Module, *, reorder: bool = True) -> GroupedQueryAttention:
    """Copy the four matrices; the rows that make queries and keys in the order of our pairs."""
    made = GroupedQueryAttention(D, H, H_KV, rotary=True)
    order = in_pairs(DK) if reorder else torch.arange(DK)
    with torch.no_grad():
        for mine, theirs in ((made.w_q, attention.q_proj), (made.w_k, attention.k_proj)):
            mine.weight.copy_(theirs.weight.unflatten(0, (-1, DK))[:, order].flatten(0, 1))
        made.w_v.load_state_dict(attention.v_proj.state_dict())
        made.w_o.load_state_dict(attention.o_proj.state_dict())
    return made


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("padded", [False, True])
def test_llama(llama, layer, padded):
    attention = llama.layers[layer].self_attn
    inputs = {"attention_mask": right_padded()} if padded else {}
    entered, output, weights = caught(llama, attention, attention, input_ids=ids(), **inputs)
    x = entered["hidden_states"]
    assert weights.amax(-1).median() > 0.4
    mask = combine_masks(causal_mask(LENGTH), padding_mask(LENGTHS, LENGTH) if padded else None)
    assert_same(from_llama(attention)(x, mask=mask), (output, weights))
    as_it_stands = from_llama(attention, reorder=False)(x, mask=mask)[0]
    assert not torch.allclose(as_it_stands, output, atol=0.1)


@pytest.mark.parametrize("window", [1, 4])
def test_the_window_of_mistral(window):
    model = random_model(MistralModel(MistralConfig(**modern_sizes(), sliding_window=window)))
    attention = model.layers[1].self_attn
    entered, output, weights = caught(model, attention, attention, input_ids=ids())
    ours = from_llama(attention)
    x = entered["hidden_states"]
    assert_same(ours(x, mask=sink_mask(LENGTH, window, 0)), (output, weights))
    cache = KVCache(window)
    for t in range(LENGTH):
        row, _ = ours(x[:, t : t + 1], cache=cache)
        assert_close(row, output[:, t : t + 1], rtol=0, atol=TOLERANCE)


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
