"""The fields of a model's config.json: what each is about, and the section that explains it."""

import re
from collections.abc import Iterable

from attnbook.language import _

# Fields that say nothing about what is computed for a word. The figure's script uses it as well.
OUTSIDE = (
    "^_|_token_id$|^(architectures|auto_map|chunk_size_feed_forward|dtype|id2label|is_decoder|"
    "cache_implementation|initializer_range|is_encoder_decoder|label2id|model_type|output_|pretraining_tp|problem_type|"
    "return_dict|router_|summary_|tie_encoder|torch_dtype|transformers_version|use_cache)"
)


def parts() -> list[tuple[str, str, str]]:
    """List what a configuration says: a name, the section, and the fields, separated by spaces."""
    return [
        (_("layers"), "8.6", "num_hidden_layers n_layer"),
        (_("width of a word's vector"), "2.4", "hidden_size n_embd"),
        (_("words in the vocabulary"), "2.2", "vocab_size"),
        (_("longest text"), "11.9", "max_position_embeddings model_max_length n_positions n_ctx"),
        (_("query heads"), "4.3", "num_attention_heads n_head"),
        (
            _("key heads"),
            "11.4",
            "num_key_value_heads num_kv_heads multi_query new_decoder_architecture",
        ),
        (_("width of a head"), "4.2", "head_dim qk_nope_head_dim qk_head_dim v_head_dim"),
        (_("latent and rotary key"), "14.2", "kv_lora_rank q_lora_rank qk_rope_head_dim"),
        (
            _("keys that an indexer chooses"),
            "14.4",
            "index_topk index_n_heads index_head_dim",
        ),
        (
            _("blocks of keys that are chosen"),
            "14.5",
            "index_block_size index_topk_blocks index_local_blocks",
        ),
        (
            _("kinds of attention layers"),
            "11.12",
            "layer_types full_attention_interval sliding_window_pattern linear_attn_config "
            "hybrid_override_pattern",
        ),
        (
            _("window"),
            "11.10",
            "sliding_window use_sliding_window max_window_layers attention_chunk_size",
        ),
        (
            _("layers with the delta rule"),
            "14.6",
            "linear_conv_kernel_dim linear_head_dim linear_num_heads linear_key_head_dim "
            "linear_value_head_dim linear_num_key_heads linear_num_value_heads",
        ),
        (
            _("query-key norms, gates"),
            "14.8",
            "use_qk_norm qk_norm attn_output_gate",
        ),
        (_("scale of the scores"), "3.8", "query_pre_attn_scalar scale_attn_weights"),
        (
            _("rotary positions"),
            "11.6",
            "rope_theta rope_local_base_freq partial_rotary_factor rotary_dim rope_interleave",
        ),
        (
            _("rotary positions for longer texts"),
            "11.9",
            "rope_type type factor low_freq_factor high_freq_factor beta_fast beta_slow "
            "original_max_position_embeddings attention_factor mscale mscale_all_dim truncate "
            "rope_parameters rope_scaling",
        ),
        (_("layers without positions"), "11.12", "no_rope_layers no_rope_layer_interval"),
        (_("ALiBi"), "11.8", "alibi"),
        (_("norms"), "11.12", "rms_norm_eps layer_norm_epsilon layer_norm_eps"),
        (_("biases"), "11.12", "attention_bias mlp_bias bias"),
        (
            _("feed-forward network"),
            "11.12",
            "intermediate_size n_inner ffn_hidden_size hidden_act hidden_activation activation "
            "activation_function swiglu_alpha swiglu_limit",
        ),
        (
            _("experts"),
            "11.12",
            "num_experts num_local_experts n_routed_experts num_experts_per_tok "
            "num_experts_per_token n_shared_experts num_shared_experts num_expert_group "
            "moe_intermediate_size shared_expert_intermediate_size first_k_dense_replace "
            "mlp_layer_types mlp_only_layers moe_layer_freq decoder_sparse_step norm_topk_prob "
            "moe_renormalize n_group topk_group routed_scaling_factor",
        ),
        (_("one table for input and output"), "12.4", "tie_word_embeddings"),
        (
            _("dropout in training"),
            "8.6",
            "attention_dropout hidden_dropout resid_pdrop embd_pdrop attn_pdrop",
        ),
        (_("several new words at once"), "14.9", "num_mtp_layers num_nextn_predict_layers"),
    ]


def unknown_fields(names: Iterable[str]) -> tuple[str, ...]:
    """The names of the fields that the book does not explain, and that are about attention."""
    known = {name for _about, _section, some in parts() for name in some.split()}
    rest = (name for name in names if leaf(name) not in known)
    return tuple(name for name in rest if not re.search(OUTSIDE, leaf(name)))


def leaf(name: str) -> str:
    """The last part of a name with dots."""
    return name.rpartition(".")[2]
