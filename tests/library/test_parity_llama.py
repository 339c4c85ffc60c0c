"""The attention inside Llama and what came after it, and a whole Llama, in their classes and ours.

See test_parity_models.py for older models.
"""

import functools
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import (
    AutoModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    PretrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

from attnbook import (
    GroupedQueryAttention,
    KVCache,
    LanguageModel,
    Rotary,
    RotaryScaling,
    causal_mask,
    combine_masks,
    padding_mask,
    sample,
    sink_mask,
)
from tests.support.claims import claim
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
@pytest.mark.parametrize("name", MODELS)
def test_biases_and_norms_are_reordered_like_the_weights(name):
    """In Llama, reordering the rows of w_q and w_k is enough; Qwen2 and Qwen3 need more."""
    attention, x, (output, _) = modern(name, False)
    ours = from_hugging_face(attention, **MODELS[name].ours)
    theirs = from_hugging_face(attention, **MODELS[name].ours, reorder=False).state_dict()
    kept = {"w_q.bias", "w_k.bias", "q_norm.weight", "k_norm.weight"} & {*theirs}
    ours.load_state_dict(ours.state_dict() | {each: theirs[each] for each in kept})
    found = off(ours(x, mask=modern_mask(MODELS[name].window))[0], output)
    assert (found > 0.05) == ("Qwen" in name)


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


@claim(
    "With RMSNorm, rotary positions, grouped queries and a gated feed-forward network, it has the"
    " parts of Llama 3.",
    "LLaMA, Llama 2 and Llama 3 consist of blocks like ours.",
)
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
@pytest.mark.parametrize("lengths", [(LENGTH,) * len(LENGTHS), LENGTHS], ids=["full", "padded"])
def test_a_whole_llama_writes_the_same_with_its_cache(lengths):
    theirs = llama(True)
    real = padding_mask(lengths, LENGTH)[:, 0].flip(-1)  # id 0 is padding, on the left
    prompt = ids().clamp(min=1).masked_fill(~real, 0)
    options = {"do_sample": False, "max_new_tokens": 12, "use_cache": True, "eos_token_id": 49}
    expected = theirs.generate(prompt, attention_mask=real.long(), pad_token_id=0, **options)
    ours = from_llama(theirs, True)
    options = {"max_length": 12, "generator": torch.Generator().manual_seed(0), "k": 1}
    written = sample(ours, prompt, end=49, pad=0, **options)
    assert len({tuple(row) for row in written.tolist()}) == len(LENGTHS)
    for row, right in zip(written.tolist(), expected[:, LENGTH:].tolist(), strict=True):
        n = row.index(49) + 1 if 49 in row else len(row)
        assert row[:n] == right[:n]
