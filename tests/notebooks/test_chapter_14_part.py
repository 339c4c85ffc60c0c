"""Chapter 14, sections 14.6 to 14.11: what the text claims beyond what its cells print."""

import inspect
import itertools
import re
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close
from transformers import Gemma3TextConfig, KimiLinearConfig, Qwen3Config, Qwen3NextConfig
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.qwen3 import modeling_qwen3
from transformers.models.qwen3_next import modeling_qwen3_next

from attnbook import delta_rule
from attnbook.notebook.cost import cost
from tests.support.chapters import Chapter

chapter = Chapter("14_todays_attention.ipynb")


def printed(name: str) -> list[str]:
    return "".join(chapter.cells[name]["outputs"][0]["text"]).splitlines()


# --- named models ------------------------------------------------------------------------------


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


@pytest.mark.parametrize("config", [Qwen3NextConfig(), KimiLinearConfig()])
def test_three_layers_with_the_delta_rule_come_between_two_with_softmax(config):
    assert set(config.layer_types) == {"linear_attention", "full_attention"}
    full = [i for i, kind in enumerate(config.layer_types) if kind == "full_attention"]
    assert {after - before for before, after in itertools.pairwise(full)} == {4}
    assert "have three layers with the delta rule between" in chapter.source("delta-today")


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


# --- the delta rule ----------------------------------------------------------------------------


def accuracies(space, read, width, tasks, tested, seed):
    """Return the accuracies of five models, initialized and trained with another seed."""
    train = space["fitted"]
    model = train(read, width, *tasks)
    torch.manual_seed(seed)
    with torch.no_grad():
        guesses, right = model(32, *tested)
    return (guesses.argmax(-1) == right).double().mean((1, 2))


def test_only_the_delta_rule_replaces_with_other_seeds_too():
    text = chapter.source("delta-train").replace("manual_seed(0)", "manual_seed(7)")
    space = chapter.run(
        "delta-texts", "delta-model", "delta-readers", "delta-train", **{"delta-train": text}
    )
    for name, low, high in (("sum", 0.4, 0.65), ("softmax", 0.4, 0.65), ("delta", 0.9, 1.0)):
        width = 4 if name == "softmax" else 64
        rates = accuracies(space, space[f"read_{name}"], width, [(8, 2)], (8, 2), 1)
        assert ((rates >= low) & (rates <= high)).sum() >= 4, (name, rates)


def test_a_random_choice_of_two_answers_is_right_in_56_percent():
    assert round(100 * (0.5 + 0.5 / 8)) == 56
    assert "56% of the cases" in chapter.source("delta-seen")


def test_the_hybrid_gives_the_newer_answer_and_recalls_more_than_the_delta_rule():
    rates = [[int(n) for n in re.findall(r"(\d+)%", line)] for line in printed("delta-hybrid")]
    softmax, delta, hybrid = rates
    assert hybrid[0] > 1.7 * delta[1]
    assert hybrid[2] >= delta[2] - 1 > softmax[3] + 20
    assert hybrid[1] < softmax[0]


# --- norms, sinks and gates --------------------------------------------------------------------


def test_a_gate_removes_the_harm_and_a_sink_the_weight():
    lines = [
        [float(n) for n in re.findall(r"\d\.\d+", line)] for line in printed("sinks-two-print")
    ]
    neither, sink, gate = ((line[:5], line[5:]) for line in lines)
    assert sum(a < b for a, b in zip(sink[0], neither[0], strict=True)) >= 4
    assert min(neither[1]) > 0.03
    assert min(sink[1]) > 0.02
    assert max(gate[1]) <= 0.03
    assert max(gate[0]) > 0.5


# --- drafts, rounding, the ring ----------------------------------------------------------------


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


def test_a_process_of_the_ring_holds_less_with_more_processes():
    space = chapter.run("ring-list")
    qkv = torch.randn(3, 1, 512, 16).double()
    peaks = [cost(lambda n=n: space["ring_in_a_list"](*qkv, n)).megabytes for n in (2, 4)]
    assert peaks[1] < peaks[0] / 2
