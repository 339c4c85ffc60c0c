"""Chapter 14: what its text claims beyond what its cells print."""

import inspect
import itertools
import re
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close
from transformers import (
    AutoConfig,
    DeepseekV3Config,
    DeepseekV32Config,
    Gemma3TextConfig,
    GptOssConfig,
    Qwen3Config,
    Qwen3NextConfig,
)
from transformers.models.deepseek_v32 import modeling_deepseek_v32
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.minimax_m3_vl import modeling_minimax_m3_vl
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.qwen3_next import modeling_qwen3_next

from attnbook import KVCache, LatentAttention, delta_rule, read_config
from attnbook.models.published import published_configs
from attnbook.notebook.cost import cost
from tests.support.chapters import Chapter

chapter = Chapter("14_todays_attention.ipynb")


def printed(name: str) -> list[str]:
    """Return the lines that a cell prints."""
    return "".join(chapter.cells[name]["outputs"][0]["text"]).splitlines()


def numbers(name: str, pattern: str) -> list[list[float]]:
    """Return the numbers that match the pattern, in each line that a cell prints."""
    return [[float(number) for number in re.findall(pattern, line)] for line in printed(name)]


# --- 14.2 and 14.3: latents ----------------------------------------------------------------------


def test_the_rise_of_the_loss_is_as_the_text_says():
    before, shared, *_ = numbers("latent-run", r"\d\.\d\d")
    rises = [b - a for a, b in zip(before, shared, strict=True)]
    assert (round(min(rises), 2), round(max(rises), 2)) == (0.36, 0.57)
    assert "rises by 0.36 to 0.57" in chapter.source("latent-seen")


@pytest.mark.parametrize("seed", range(5))
def test_no_moved_query_gives_the_scores_of_rotated_keys(seed):
    source = chapter.source("absorb-rotary-run").replace("manual_seed(0)", f"manual_seed({seed})")
    offs: list[float] = []
    exec(
        source.replace("    print(", "    offs.append(off.item()); print("),
        chapter.run() | {"offs": offs},
    )
    assert offs[0] < 1e-9
    assert offs[1] > 0.2


def test_the_queries_of_each_head_are_moved_and_an_absorbed_step_reads_a_seventh():
    assert numbers("absorb-count", r"\d+(?= numbers)") == [[72], [72], [512]]
    assert 6.5 < 512 / 72 < 7.5
    (again,), (absorbed,), (kept,) = numbers("absorb-count", r"[\d.]+(?= million)")
    assert 3 < absorbed / kept < 4
    assert again > 10 * absorbed


# --- 14.4 and 14.5: chosen keys ------------------------------------------------------------------


def test_the_untrained_indexer_is_as_good_as_a_guess_and_the_trained_one_is_not():
    trained, untrained = numbers("indexer-print", r"(\d+)%")[1:]
    assert min(trained) > 90
    assert min(trained[2:]) == 100
    assert max(untrained[:4]) < 100 / 8 + 7


def test_the_counted_multiplications_of_a_key_are_those_of_an_absorbed_step():
    n_heads, rank, rope = 4, 12, 6
    layer, counts = LatentAttention(10, n_heads, rank, 8, rope), []
    for n_words in (30, 40):
        cache = KVCache()
        cache.update(torch.randn(1, n_words, rope), torch.randn(1, n_words, rank))
        counts.append(cost(lambda c=cache: layer(torch.randn(1, 10), cache=c)).multiplications)
    assert counts[1] - counts[0] == 10 * n_heads * (rank + rope + rank)
    assert "(rank + rope + rank)" in chapter.source("indexer-count")


def test_the_indexer_is_as_narrow_as_the_text_says():
    names = chapter.run("indexer-count")
    assert names["per_key"] / names["per_index"] == 17
    assert (names["v32"]["index_n_heads"], names["v32"]["index_head_dim"]) == (64, 128)
    assert names["v32"]["index_topk"] == 2048
    assert 131_072 / 2048 == 64


@torch.no_grad()
def test_deepseek_adds_up_rectified_scores_of_its_heads():
    torch.manual_seed(0)
    config = DeepseekV32Config(
        hidden_size=24,
        q_lora_rank=10,
        qk_rope_head_dim=0,
        index_n_heads=3,
        index_head_dim=8,
        index_topk=4,
    )
    indexer, x, q = modeling_deepseek_v32.DeepseekV32Indexer(config, 0), *torch.randn(2, 1, 9, 24)
    q = q[..., :10]
    flat = torch.zeros(1, 9, 0)
    everything = torch.ones(1, 9, 9, dtype=torch.bool)
    theirs = indexer(x, q, (flat, flat), everything, None)
    query = indexer.wq_b(q).unflatten(-1, (3, 8)).transpose(-2, -3)  # (1, H, L, d)
    key = indexer.k_norm(indexer.wk(x))  # (1, L, d)
    weights = indexer.weights_proj(x).mT[..., None]  # (1, H, L, 1)
    ours = (weights * (query @ key.mT).relu()).sum(-3).topk(4).indices
    assert torch.equal(theirs.sort().values.squeeze().long(), ours.sort().values.squeeze())
    assert r"$w_h \operatorname{ReLU}(q_h \cdot k)$" in chapter.source("indexer-count-seen")


def test_the_largest_score_finds_the_block_and_the_mean_often_does_not():
    mean, largest = numbers("blocks-run", r"(\d+)%")[1:]
    assert min(largest) > 90
    assert max(mean) < 85
    source = inspect.getsource(modeling_minimax_m3_vl.MiniMaxM3VLIndexer)
    assert "block_scores = scores.amax(dim=-1)" in source


# --- 14.6 to 14.8: named models ------------------------------------------------------------------


@pytest.mark.parametrize(
    "theirs",
    [
        modeling_qwen3_next.torch_recurrent_gated_delta_rule,
        modeling_qwen3_next.torch_chunk_gated_delta_rule,
    ],
)
def test_the_delta_rule_is_that_of_qwen3_next(theirs):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 100, 3, n) for n in (8, 8, 5))  # (B, L, H, width)
    beta, decay = torch.rand(2, 100, 3), torch.rand(2, 100, 3) ** 0.1
    options = {"output_final_state": True, "use_qk_l2norm_in_kernel": True}
    output, state = theirs(query, key, value, decay.log(), beta, **options)
    query, key = (modeling_qwen3_next.l2norm(x) for x in (query, key))
    ours = (x.transpose(1, 2) for x in (query / 8**0.5, key, value, beta, decay))
    found, last = delta_rule(*ours)
    assert_close(found.transpose(1, 2), output, rtol=0, atol=1e-4)
    assert_close(last, state, rtol=0, atol=1e-4)


@pytest.mark.parametrize("model", ["qwen3_next", "kimi_linear"])
def test_about_three_layers_with_the_delta_rule_come_between_two_with_softmax(model):
    kinds = published_configs()[model]["layer_types"]
    assert set(kinds) == {"linear_attention", "full_attention"}
    full = [i for i, kind in enumerate(kinds) if kind == "full_attention"]
    assert {after - before for before, after in itertools.pairwise(full)} <= {3, 4}
    assert 2.8 < kinds.count("linear_attention") / len(full) <= 3
    told = "have about three layers with the delta rule for each one with softmax attention"
    assert told in chapter.source("delta-today")


def test_a_gate_multiplies_the_output_in_qwen3_next():
    source = inspect.getsource(modeling_qwen3_next.Qwen3NextAttention.forward)
    after = source.partition("attention_interface(")[2]
    assert "attn_output * torch.sigmoid(gate)" in after.partition("o_proj")[0]


@pytest.mark.parametrize(
    ("layer", "config"),
    [
        (modeling_qwen3.Qwen3Attention, Qwen3Config(hidden_size=16, head_dim=8)),
        (modeling_gemma3.Gemma3Attention, Gemma3TextConfig(hidden_size=16, head_dim=8)),
    ],
)
def test_models_that_normalize_queries_and_keys_have_a_scale_for_each_column(layer, config):
    made = layer(config, 0)
    assert made.q_norm.weight.shape == made.k_norm.weight.shape == (8,)


def test_a_learned_sink_is_that_of_gpt_oss():
    space = chapter.run("norms-forward")
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 3, 7, 4)  # (B, H, L, Dk)
    module = SimpleNamespace(sinks=torch.randn(3), num_key_value_groups=1, training=False)
    mask = torch.ones(7, 7, dtype=torch.bool).tril()
    added = torch.zeros(7, 7).masked_fill(~mask, -torch.inf)
    output, weights = modeling_gpt_oss.eager_attention_forward(
        module, query, key, value, added, scaling=0.5
    )
    model = SimpleNamespace(sink=module.sinks[:, None, None])
    found = space["weights_of"](model, query @ key.mT * 0.5, mask)
    assert_close(found, weights)
    assert_close((found @ value).transpose(1, 2), output)


# --- drafts, rounding, the ring ------------------------------------------------------------------


def test_positions_in_the_tree_do_not_fail_but_change_the_logits():
    first, second = printed("drafts-tree-run")
    assert first.endswith("off by 0.0")
    assert float(second.split()[-1]) > 1


def test_values_suffer_more_than_keys_and_three_bits_are_enough():
    rows = {
        line[:26].strip(): [float(n) for n in re.findall(r"\+(\d\.\d+)", line)]
        for line in printed("rounded-print")
    }
    assert max(rows["keys 3 bits, values 3 bits"]) < 0.01
    assert min(rows["keys 1 bits, values 1 bits"]) > 0.3
    both = zip(rows["keys 2 bits, values exact"], rows["keys exact , values 2 bits"], strict=True)
    assert all(keys < values for keys, values in both)


def test_a_product_with_a_quantized_cache_can_be_scaled_afterward():
    torch.manual_seed(0)
    query, x = torch.randn(1, 16).double(), torch.randn(50, 16).double()
    rounded = chapter.run("rounded-code")["rounded"](x, 4)
    low, high = x.aminmax(dim=-1, keepdim=True)
    step = (high - low) / 15
    whole = ((x - low) / step).round().to(torch.int8)
    after = query.sum() * low.T + (query @ whole.double().T) * step.T
    assert_close(after, query @ rounded.T)
    assert "or multiplies by the step after the product" in chapter.source("rounded-seen")
    sizes = {width: f"{(4 * width + 32) / (16 * width):.3f}" for width in (16, 128)}
    assert sizes == {16: "0.375", 128: "0.266"}


def test_an_absorbed_step_of_deepseek_v3_has_many_operations_per_byte():
    v3 = published_configs()["deepseek_v3"]
    kept = v3["kv_lora_rank"] + v3["qk_rope_head_dim"]
    operations = 2 * v3["num_attention_heads"] * (kept + v3["kv_lora_rank"])
    assert 240 < operations / (2 * kept) < 245
    assert "about 240 operations per byte" in chapter.source("absorb-count-seen")


def test_a_process_of_the_ring_holds_less_with_more_processes():
    space = chapter.run("ring-list")
    qkv = torch.randn(3, 1, 512, 16).double()
    peaks = [cost(lambda n=n: space["ring_in_a_list"](*qkv, n)).megabytes for n in (2, 4)]
    assert peaks[1] < peaks[0] / 2


# --- 14.12: configurations -----------------------------------------------------------------------


@pytest.mark.parametrize("model", published_configs())
def test_the_type_of_a_model_names_its_class(model):
    assert AutoConfig.for_model(model).model_type == model


def test_what_the_chapter_says_about_qwen3_next_is_in_its_configuration():
    config = published_configs()["qwen3_next"]
    assert config["layer_types"].count("linear_attention") == 36
    assert config["rope_parameters"]["partial_rotary_factor"] == 0.25
    per_word = read_config(config).cache_bytes(1)
    assert per_word == 24 * 1024
    assert read_config(published_configs()["llama"]).cache_bytes(1) == pytest.approx(
        20 * per_word, rel=0.1
    )


def test_the_smallest_caches_are_those_that_the_text_names():
    configs = published_configs()
    sizes = {name: read_config(config).cache_bytes(2**17) for name, config in configs.items()}
    assert sorted(sizes, key=sizes.get)[:3] == ["mistral", "kimi_linear", "falcon"]
    assert max(sizes, key=sizes.get) == "llama"
    assert configs["kimi_linear"]["layer_types"].count("full_attention") == 7
    assert "from latents in 7 of 27 layers" in chapter.source("config-sorted-seen")
    assert sizes["deepseek_v32"] > sizes["deepseek_v3"]


@pytest.mark.parametrize(
    ("model", "change"),
    [
        ("mistral", {"sliding_window": None}),
        ("kimi_linear", {"layer_types": ["full_attention"] * 27}),
        ("falcon", {"multi_query": False, "num_kv_heads": 71}),
    ],
)
def test_the_smallest_caches_come_from_what_the_text_names(model, change):
    config = published_configs()[model]
    before, after = (read_config(one).cache_bytes(2**17) for one in (config, config | change))
    assert after > 3.8 * before


def test_the_indexer_of_deepseek_v32_is_all_that_it_keeps_beyond_deepseek_v3():
    config = dict(published_configs()["deepseek_v32"])
    del config["index_head_dim"]
    for n_words in (1, 2**17):
        without = read_config(config).cache_bytes(n_words)
        assert without == read_config(published_configs()["deepseek_v3"]).cache_bytes(n_words)


def test_deepseek_v3_predicts_several_words():
    assert DeepseekV3Config().num_mtp_layers == 1
    assert "**several new words at once** | DeepSeek-V3" in chapter.source("changes")


def test_sinks_and_gates_are_in_the_code_and_in_no_field():
    sinks = modeling_gpt_oss.GptOssAttention(GptOssConfig(), 0)
    assert sinks.sinks.shape == (sinks.config.num_attention_heads,)
    with torch.device("meta"):
        gated = modeling_qwen3_next.Qwen3NextAttention(Qwen3NextConfig(), 3)
    config = gated.config
    assert gated.q_proj.out_features == 2 * config.num_attention_heads * config.head_dim
    assert {"q_norm", "k_norm"} <= {name for name, _ in gated.named_children()}
    for name in ("gpt_oss", "qwen3_next"):
        fields = read_config(published_configs()[name]).fields
        assert [field for field in fields if re.search("sink|gate|qk_norm|q_norm", field)] == []
