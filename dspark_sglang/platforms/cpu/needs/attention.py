"""The attention backend and the KV pool."""

from dspark_sglang.contract_types import calls, fields, overrides

_ATTENTION = "sglang.srt.layers.attention.base_attn_backend.AttentionBackend"
_WINDOW_POOL = "sglang.srt.mem_cache.swa_memory_pool.SWAKVPool"
_POOL = "sglang.srt.mem_cache.memory_pool.MHATokenToKVPool"
_BATCH = "sglang.srt.model_executor.forward_batch_info"
_VERIFY = "sglang.srt.speculative.dflash_info.DFlashVerifyInput"
_LAYER = "sglang.srt.layers.radix_attention"
_FORWARD = ("q", "k", "v", "layer", "forward_batch", "save_kv_cache", "kwargs")

ATTENTION_NEEDS = (
    *overrides(
        _ATTENTION,
        init_forward_metadata=("forward_batch",),
        forward_decode=_FORWARD,
        forward_extend=_FORWARD,
        support_triton=(),
    ),
    *calls(
        "sglang.srt.layers.attention.attention_registry",
        register_attention_backend=("name",),
    ),
    *calls("sglang.srt.mem_cache.memory_pool.KVWriteLoc", for_batch=("forward_batch", "swa_loc")),
    *calls(
        _POOL,
        set_kv_buffer=("layer", "loc_info", "cache_k", "cache_v"),
        get_key_buffer=("layer_id",),
        get_value_buffer=("layer_id",),
    ),
    *calls(_WINDOW_POOL, translate_loc_from_full_to_swa=("kv_indices",)),
    *fields(_WINDOW_POOL, "layers_mapping"),
    *fields("sglang.srt.mem_cache.memory_pool.ReqToTokenPool", "req_to_token"),
    *fields(
        "sglang.srt.model_executor.model_runner.ModelRunner",
        "req_to_token_pool",
        "token_to_kv_pool",
    ),
    *fields(
        f"{_BATCH}.ForwardBatch",
        "forward_mode",
        "seq_lens",
        "req_pool_indices",
        "out_cache_loc",
        "spec_info",
        "extend_seq_lens_cpu",
    ),
    *fields(f"{_BATCH}.ForwardMode", "is_decode_or_idle", "is_target_verify"),
    *fields(_VERIFY, "custom_mask", "draft_token_num", "ragged_verify_layout"),
    *fields("sglang.srt.speculative.ragged_verify.RaggedVerifyLayout", "verify_lens"),
    *fields(f"{_LAYER}.AttentionType", "ENCODER_ONLY"),
    *fields(
        f"{_LAYER}.RadixAttention",
        "tp_q_head_num",
        "qk_head_dim",
        "layer_id",
        "scaling",
        "attn_type",
        "sliding_window_size",
        "logit_cap",
        "is_cross_attention",
    ),
)
"""The attention backend: what it overrides, and what it reads of a batch and a layer."""

POOL_NEEDS = (
    *overrides(_POOL, _init_kv_copy_and_warmup=(), _move_kv_cache_impl=("tgt_loc", "src_loc")),
    *fields(_POOL, "k_buffer", "v_buffer", "_kv_copy_config"),
)
"""The KV pool."""
