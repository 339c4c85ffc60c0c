"""The attention inside BERT, GPT-2, Llama and others, computed by their own classes and by ours.

The models are small and have random weights, so nothing is downloaded. They make their own masks,
and hooks record what enters and leaves each attention layer.
"""

import functools
import json
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import (
    AutoModel,
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MptConfig,
    MptModel,
    PretrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    LanguageModel,
    MultiHeadAttention,
    Rotary,
    RotaryScaling,
    alibi_bias,
    causal_mask,
    combine_masks,
    padding_mask,
    sample,
    sink_mask,
)
from manuscript.common import ROOT

TOLERANCE = 1e-5
CHAPTER = ROOT / "book" / "04_multi_head.ipynb"
D, H, LENGTH, LENGTHS = 48, 4, 9, (9, 6, 1)


def random_model(model: nn.Module) -> nn.Module:
    """Draw parameters that give uneven attention weights, unlike those of the initialization."""
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
    """Hugging Face's mask, (B, L): 1 for a token and 0 for padding."""
    return padding_mask(LENGTHS, LENGTH)[:, 0].long()


def caught(model: nn.Module, entry: nn.Module, exit_: nn.Module, **inputs) -> tuple:
    """Run the model; return one module's input, another's output, and the weights."""
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


def from_gpt2(attention: nn.Module) -> MultiHeadAttention:
    """GPT-2 stores three (in, out) matrices as one: split it, and transpose each part."""
    weights = [w.T for w in (*attention.c_attn.weight.chunk(3, dim=1), attention.c_proj.weight)]
    biases = [*attention.c_attn.bias.chunk(3), attention.c_proj.bias]
    return MultiHeadAttention.from_weights(H, *zip(weights, biases, strict=True))


def assert_same(ours, theirs, rows=slice(None)) -> None:
    """Compare (output, weights); `rows` chooses the queries, as a (B, L) mask."""
    assert_close(ours[0][rows], theirs[0][rows], rtol=0, atol=TOLERANCE)
    by_query, theirs_by_query = (weights.transpose(1, 2) for weights in (ours[1], theirs[1]))
    assert_close(by_query[rows], theirs_by_query[rows], rtol=0, atol=TOLERANCE)


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


# --- Llama and what came after it ---------------------------------------------------------------

H_KV, FIRST, LONG, LONG_LENGTHS = 2, 13, 37, (37, 20, 5)
WINDOW = 5
STRETCHED = RotaryScaling(6.0, 1.5, 3.5, 128)  # at head width 12, all three bands occur


@dataclass(frozen=True)
class Modern:
    """A model: what its configuration adds to Llama's, and the corresponding options of our layer.

    `without` lists options of our layer, each of which removes one feature that the model has.
    """

    config: type[PretrainedConfig]
    theirs: dict
    ours: dict
    without: tuple[dict, ...]
    window: int | None = None


def turned(base: float, **scaling: object) -> dict:
    """The base of the frequencies and their rescaling, under Hugging Face's names."""
    return {"rope_parameters": {"rope_type": "default", "rope_theta": base, **scaling}}


LLAMA_3 = Rotary(500_000.0)
MISTRAL = Rotary(1_000_000.0)
MODELS = {
    "Llama 2": Modern(LlamaConfig, turned(10_000.0), {"rotary": Rotary()}, ({"rotary": None},)),
    "Llama 3": Modern(LlamaConfig, turned(500_000.0), {"rotary": LLAMA_3}, ({"rotary": Rotary()},)),
    "Llama 3.1": Modern(
        LlamaConfig,
        turned(
            500_000.0,
            rope_type="llama3",
            factor=STRETCHED.factor,
            low_freq_factor=STRETCHED.low_frequency_factor,
            high_freq_factor=STRETCHED.high_frequency_factor,
            original_max_position_embeddings=STRETCHED.original_length,
        ),
        {"rotary": Rotary(500_000.0, STRETCHED)},
        ({"rotary": LLAMA_3},),
    ),
    "Mistral": Modern(
        MistralConfig,
        turned(1_000_000.0) | {"sliding_window": WINDOW},
        {"rotary": MISTRAL},
        ({"rotary": Rotary()},),
        WINDOW,
    ),
    "Qwen2": Modern(
        Qwen2Config,
        turned(1_000_000.0),
        {"rotary": MISTRAL, "bias": True},
        ({"bias": False},),
    ),
    "Qwen3": Modern(
        Qwen3Config,
        turned(1_000_000.0) | {"head_dim": 10},
        {"rotary": MISTRAL, "d_k": 10, "qk_norm": True},
        ({"qk_norm": False},),
    ),
}


def in_pairs(d_k: int) -> torch.Tensor:
    """Where our columns are in Hugging Face's models: they pair column k with column k + Dk / 2,
    while our pairs are side by side."""
    return torch.arange(d_k).view(2, -1).T.flatten()


NAMES = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "o_proj"}


def from_hugging_face(
    attention: nn.Module, *, reorder: bool = True, **options
) -> GroupedQueryAttention:
    """Copy all parameters into our layer; reorder those of queries and keys to fit our pairs."""
    d_k = attention.head_dim
    ours = GroupedQueryAttention(D, H, H_KV, **options)
    order = in_pairs(d_k) if reorder else torch.arange(d_k)
    theirs, state = attention.state_dict(), {}
    for name in ours.state_dict():
        part, kind = name.split(".")
        state[name] = theirs[f"{NAMES.get(part, part)}.{kind}"]
        if part in ("w_q", "w_k", "q_norm", "k_norm"):
            state[name] = state[name].unflatten(0, (-1, d_k))[:, order].flatten(0, 1)
    ours.load_state_dict(state)
    return ours


@functools.cache
def modern(name: str, padded: bool) -> tuple[nn.Module, torch.Tensor, tuple]:
    """The second attention layer of a model, its input, and its output and weights."""
    model = MODELS[name]
    sizes = {"hidden_size": D, "num_attention_heads": H, "num_key_value_heads": H_KV}
    sizes |= {"num_hidden_layers": 2, "vocab_size": 50, "intermediate_size": 64}
    config = model.config(**sizes | model.theirs, attn_implementation="eager")
    whole = random_model(AutoModel.from_config(config))
    attention = whole.layers[1].self_attn
    inputs = {"attention_mask": padding_mask(LONG_LENGTHS, LONG)[:, 0].long()} if padded else {}
    generator = torch.Generator().manual_seed(1)
    text = torch.randint(0, 50, (len(LONG_LENGTHS), LONG), generator=generator)
    entered, *left = caught(whole, attention, attention, input_ids=text, **inputs)
    return attention, entered["hidden_states"], tuple(left)


def modern_mask(window: int | None, padded: bool = False) -> torch.Tensor:
    back = causal_mask(LONG) if window is None else sink_mask(LONG, window, 0)
    return combine_masks(back, padding_mask(LONG_LENGTHS, LONG) if padded else None)


@torch.no_grad()
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_modern_model(name, padded):
    attention, x, expected = modern(name, padded)
    assert expected[1].amax(-1).median() > 0.15  # 0.05 if evenly spread
    ours = from_hugging_face(attention, **MODELS[name].ours)
    real = padding_mask(LONG_LENGTHS if padded else [LONG] * len(x), LONG)[:, 0]
    found = ours(x, mask=modern_mask(MODELS[name].window, padded))
    assert_same(found, expected, rows=real)


@torch.no_grad()
@pytest.mark.parametrize("name", MODELS)
def test_a_modern_model_step_by_step(name):
    attention, x, (output, _) = modern(name, False)
    window = MODELS[name].window
    ours, cache = from_hugging_face(attention, **MODELS[name].ours), KVCache(window)
    mask = modern_mask(window)[:FIRST, :FIRST]
    rows = [ours(x[:, :FIRST], mask=mask, cache=cache)[0]]
    rows += [ours(row, cache=cache)[0] for row in x[:, FIRST:].split(1, dim=1)]
    assert_close(torch.cat(rows, dim=1), output, rtol=0, atol=TOLERANCE)


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "missing"),
    [
        (name, each)
        for name, model in MODELS.items()
        for each in (*model.without, {"reorder": False})
    ],
)
def test_without_one_of_its_features_a_modern_model_differs_clearly(name, missing):
    attention, x, (output, _) = modern(name, False)
    ours = from_hugging_face(attention, **MODELS[name].ours | missing)
    assert off(ours(x, mask=modern_mask(MODELS[name].window))[0], output) > 0.05


@torch.no_grad()
def test_without_its_window_mistral_differs_clearly():
    attention, x, (output, _) = modern("Mistral", False)
    ours = from_hugging_face(attention, **MODELS["Mistral"].ours)
    for window in (None, WINDOW - 1, WINDOW + 1):
        assert off(ours(x, mask=modern_mask(window))[0], output) > 0.05


def off(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The norm of the error relative to that of the expected outputs."""
    return ((found - expected).norm() / expected.norm()).item()


# --- a whole model -------------------------------------------------------------------------------


@functools.cache
def llama(tied: bool) -> LlamaForCausalLM:
    sizes = {"hidden_size": D, "num_attention_heads": H, "num_key_value_heads": H_KV}
    sizes |= {"num_hidden_layers": 3, "vocab_size": 50, "intermediate_size": 64}
    config = LlamaConfig(**sizes, rms_norm_eps=1e-5, tie_word_embeddings=tied, pad_token_id=0)
    return random_model(LlamaForCausalLM(config))


def from_llama(theirs: LlamaForCausalLM, tied: bool) -> LanguageModel:
    """Copy all parameters, matched by their names in both models."""
    ours = LanguageModel(50, D, H, H_KV, 3, 64, tied=tied)
    ours.embedding.load_state_dict(theirs.model.embed_tokens.state_dict())
    ours.to_logits.load_state_dict(theirs.lm_head.state_dict())
    ours.norm.load_state_dict(theirs.model.norm.state_dict())
    for block, layer in zip(ours.blocks, theirs.model.layers, strict=True):
        block.attention = from_hugging_face(layer.self_attn, rotary=Rotary())
        block.norm1.load_state_dict(layer.input_layernorm.state_dict())
        block.norm2.load_state_dict(layer.post_attention_layernorm.state_dict())
        for name in ("gate", "up", "down"):
            part = getattr(layer.mlp, f"{name}_proj")
            getattr(block.feed_forward, name).load_state_dict(part.state_dict())
    return ours.eval()


@torch.no_grad()
@pytest.mark.parametrize("tied", [True, False])
def test_a_whole_llama(tied):
    theirs = llama(tied)
    ours, expected = from_llama(theirs, tied), theirs(ids()).logits
    assert expected.softmax(-1).amax(-1).median() > 0.1  # 0.02 if evenly spread
    assert_close(ours(ids()), expected, rtol=0, atol=1e-4)
    for part in ("norm1", "norm2"):
        broken = from_llama(theirs, tied)
        setattr(broken.blocks[1], part, nn.Identity())
        assert off(broken(ids()), expected) > 0.05


@torch.no_grad()
def test_a_whole_llama_writes_the_same_with_its_cache():
    theirs = llama(True)
    options = {"do_sample": False, "max_new_tokens": 12, "use_cache": True, "eos_token_id": 49}
    expected = theirs.generate(ids(), attention_mask=torch.ones_like(ids()), **options)
    ours = from_llama(theirs, True)
    generator = torch.Generator().manual_seed(0)
    written = sample(ours, ids(), end=49, max_length=12, generator=generator, k=1)
    assert len({tuple(row) for row in written.tolist()}) == len(LENGTHS)
    for row, right in zip(written.tolist(), expected[:, LENGTH:].tolist(), strict=True):
        n = row.index(49) + 1 if 49 in row else len(row)
        assert row[:n] == right[:n]


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
