"""Chapter 11: what its text claims beyond what its cells print."""

import pytest
from transformers import FalconConfig, GPT2Config, LlamaConfig, MistralConfig

from tests.support.chapters import Chapter

chapter = Chapter("11_modern_attention.ipynb")


@pytest.mark.parametrize(
    ("model", "config"),
    [
        ("GPT-2 small", GPT2Config()),
        ("Llama 2 7B", LlamaConfig()),
        ("Mistral 7B", MistralConfig()),
        ("Falcon 7B", FalconConfig()),
    ],
)
def test_the_sizes_of_models_are_those_of_their_configurations(model, config):
    sizes = chapter.run("weight-models")["sizes"]
    n_keys = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    n_keys = 1 if getattr(config, "multi_query", False) else n_keys
    width = config.hidden_size // config.num_attention_heads
    theirs = (config.num_hidden_layers, config.num_attention_heads, n_keys, width)
    assert sizes[model] == theirs


def test_mistral_lets_go_of_all_but_its_window_and_falcon_ends_where_the_caption_says():
    assert MistralConfig().sliding_window == 4096
    assert FalconConfig().max_position_embeddings == 2048
    assert GPT2Config().n_positions == 1024
    assert "Falcon at 2,048" in chapter.source("caption-weight-picture")
