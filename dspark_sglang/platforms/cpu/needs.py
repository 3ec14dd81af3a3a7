"""Every name of SGLang that the CPU platform relies on, for the contract check at load."""

from dspark_sglang.contract_types import Need

_PLATFORM = "sglang.srt.platforms.interface.SRTPlatform"
_ATTENTION = "sglang.srt.layers.attention.base_attn_backend.AttentionBackend"
_POOL = "sglang.srt.mem_cache.memory_pool.MHATokenToKVPool"
_WINDOW_POOL = "sglang.srt.mem_cache.swa_memory_pool.SWAKVPool"
_BATCH = "sglang.srt.model_executor.forward_batch_info"
_VERIFY = "sglang.srt.speculative.dflash_info.DFlashVerifyInput"
_DFLASH = "sglang.srt.speculative.dflash_utils"
_RUNNER = "sglang.srt.model_executor.model_runner.ModelRunner"
_LAYER = "sglang.srt.layers.radix_attention"
_OVERRIDES = "sglang.srt.arg_groups.overrides"
_OPS = "sglang.kernels.ops"
_ARGS = "sglang.srt.server_args.ServerArgs"
_HOOKS = "sglang.srt.plugins.hook_registry"
_FORWARD = ("q", "k", "v", "layer", "forward_batch", "save_kv_cache", "kwargs")


def _overrides(owner: str, **methods: tuple[str, ...]) -> tuple[Need, ...]:
    return tuple(Need(f"{owner}.{name}", "override", names) for name, names in methods.items())


def _calls(owner: str, **functions: tuple[str, ...]) -> tuple[Need, ...]:
    return tuple(Need(f"{owner}.{name}", "call", names) for name, names in functions.items())


def _fields(owner: str, *names: str) -> tuple[Need, ...]:
    return tuple(Need(f"{owner}.{name}", "field") for name in names)


PLATFORM_NEEDS = (
    *_overrides(
        _PLATFORM,
        get_device_total_memory=("device_id",),
        get_current_memory_usage=("device",),
        get_available_memory=("device_id",),
        get_device=("device_id",),
        set_device=("device",),
        get_device_name=("device_id",),
        get_device_uuid=("device_id",),
        get_device_capability=("device_id",),
        empty_cache=(),
        get_torch_distributed_backend_str=(),
        get_torch_profiler_activity_str=(),
        get_torch_profiler_activity=(),
        get_default_attention_backend=(),
        get_default_speculative_draft_attention_backend=("algorithm",),
        supports_speculative_draft_attention_backend=("algorithm", "backend"),
        supports_speculative_algorithm=("algorithm",),
        get_kv_pool_cls=("kind",),
        get_speculative_cache_locs_fn=(),
        get_dispatch_key_name=(),
        get_compile_backend=("mode",),
        init_backend=(),
    ),
    *_calls(
        f"{_OPS}.speculative.cache_locs",
        assign_extend_cache_locs_func=(
            "req_pool_indices",
            "req_to_token",
            "start_offset",
            "end_offset",
            "batch_size",
            "draft_token_num",
            "device",
        ),
    ),
    *_fields(_PLATFORM, "_enum", "device_name", "device_type", "capabilities"),
    *_fields("sglang.srt.platforms.device_mixin.PlatformEnum", "OOT"),
    *_fields("sglang.srt.platforms.interface", "PlatformCapabilities"),
    *_fields("sglang.srt.platforms", "_resolve_platform"),
)
"""The platform class and who asks it. (`platforms.current_platform` is made on first use.)"""

ATTENTION_NEEDS = (
    *_overrides(
        _ATTENTION,
        init_forward_metadata=("forward_batch",),
        forward_decode=_FORWARD,
        forward_extend=_FORWARD,
        support_triton=(),
    ),
    *_calls(
        "sglang.srt.layers.attention.attention_registry",
        register_attention_backend=("name",),
    ),
    *_calls("sglang.srt.mem_cache.memory_pool.KVWriteLoc", for_batch=("forward_batch", "swa_loc")),
    *_calls(
        _POOL,
        set_kv_buffer=("layer", "loc_info", "cache_k", "cache_v"),
        get_key_buffer=("layer_id",),
        get_value_buffer=("layer_id",),
    ),
    *_calls(_WINDOW_POOL, translate_loc_from_full_to_swa=("kv_indices",)),
    *_fields(_WINDOW_POOL, "layers_mapping"),
    *_fields("sglang.srt.mem_cache.memory_pool.ReqToTokenPool", "req_to_token"),
    *_fields(
        "sglang.srt.model_executor.model_runner.ModelRunner",
        "req_to_token_pool",
        "token_to_kv_pool",
    ),
    *_fields(
        f"{_BATCH}.ForwardBatch",
        "forward_mode",
        "seq_lens",
        "req_pool_indices",
        "out_cache_loc",
        "spec_info",
        "extend_seq_lens_cpu",
    ),
    *_fields(f"{_BATCH}.ForwardMode", "is_decode_or_idle", "is_target_verify"),
    *_fields(_VERIFY, "custom_mask", "draft_token_num", "ragged_verify_layout"),
    *_fields("sglang.srt.speculative.ragged_verify.RaggedVerifyLayout", "verify_lens"),
    *_fields(f"{_LAYER}.AttentionType", "ENCODER_ONLY"),
    *_fields(
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
    *_overrides(_POOL, _init_kv_copy_and_warmup=(), _move_kv_cache_impl=("tgt_loc", "src_loc")),
    *_fields(_POOL, "k_buffer", "v_buffer", "_kv_copy_config"),
)
"""The KV pool."""

HOOK_NEEDS = (
    *_overrides(
        "sglang.srt.arg_groups.model_path_hook", handle_model_source_paths=("server_args",)
    ),
    *_fields(_ARGS, "model_path", "revision"),
    *_fields(_ARGS, "speculative_draft_model_path", "speculative_draft_model_revision"),
    *_overrides("sglang.srt.arg_groups.platform_hook", handle_cpu_backends=("server_args",)),
    *_overrides("sglang.srt.arg_groups.speculative_hook", _handle_dspark=("server_args",)),
    *_overrides(
        "sglang.srt.distributed.bootstrap",
        _init_cpu_threads_env=("local_omp_cpuid", "dist_init_method"),
    ),
    *_overrides(
        f"{_OPS}.speculative.reject_sampling",
        chain_speculative_sampling_triton=(
            "predicts",
            "accept_index",
            "accept_token_num",
            "candidates",
            "retrive_index",
            "retrive_next_token",
            "retrive_next_sibling",
            "uniform_samples",
            "uniform_samples_for_final_sampling",
            "target_probs",
            "draft_probs",
            "threshold_single",
            "threshold_acc",
            "deterministic",
            "block_verification",
        ),
    ),
    *_overrides(
        "sglang.srt.mem_cache.allocation",
        assign_req_to_token_pool_func=(
            "req_pool_indices",
            "req_to_token",
            "start_offset",
            "end_offset",
            "out_cache_loc",
            "batch_size",
        ),
    ),
    *_overrides(
        f"{_OPS}.attention.table_qk_norm_rope",
        table_qk_norm_rope_=(
            "qkv",
            "positions",
            "q_weight",
            "k_weight",
            "cos_sin_cache",
            "num_q_heads",
            "num_k_heads",
            "head_dim",
            "eps",
        ),
    ),
    *_overrides(
        f"{_OPS}.activation.softcap",
        softcap_inplace_logits=("full_logits", "final_logit_softcapping"),
    ),
    *_overrides(
        "sglang.srt.models.dspark.DSparkDraftMixin",
        _fused_kv_write_bundle=("pool",),
        compute_base_logits=("hidden",),
        attach_shared_modules=("embed_tokens", "lm_head"),
    ),
    *_calls(
        f"{_OPS}.speculative.dspark.markov_sample.MarkovSampleStep",
        torch=("temperatures", "has_sampled_rows"),
    ),
    *_overrides(_RUNNER, _extend_forward_kwargs=("forward_batch", "pp_proxy_tensors")),
    *_fields(_RUNNER, "dtype"),
    *_fields(f"{_BATCH}.ForwardBatch", "input_embeds", "replace_embeds"),
    *_overrides(
        _DFLASH,
        is_dflash_sampling_verify_available=(),
        compute_dflash_sampling_correct_drafts_and_bonus=(
            "candidates",
            "next_token_logits",
            "sampling_info",
            "max_top_k",
            "uniform_top_k_value",
            "threshold_single",
            "threshold_acc",
            "uniform_samples",
            "uniform_samples_for_final_sampling",
            "use_sparse_topk",
        ),
    ),
    *_calls(
        _DFLASH,
        build_speculative_verify_target_probs=(
            "next_token_logits",
            "sampling_info",
            "draft_token_num",
            "bs",
            "max_top_k",
            "uniform_top_k_value",
        ),
    ),
    *_calls(_OVERRIDES, resolving_view=("server_args",)),
    *_calls(_OVERRIDES, declare_resolution=("server_args", "source")),
    *_calls(f"{_HOOKS}.HookRegistry", register=("target", "hook", "hook_type")),
    *_fields(_HOOKS, "HookType"),
)
"""What the hooks replace or surround, and what they call."""

WEIGHT_NEEDS = (
    *_overrides(
        "sglang.srt.layers.quantization.unquant.UnquantizedLinearMethod",
        apply=("layer", "x", "bias"),
    ),
    *_overrides(
        "sglang.srt.layers.logits_processor.LogitsProcessor",
        _compute_lm_head=("hidden_states", "lm_head", "embedding_bias", "out"),
    ),
    *_fields(
        "sglang.srt.layers.logits_processor.LogitsProcessor",
        "use_fp32_lm_head",
        "rl_on_policy_target",
    ),
    *_overrides("sglang.srt.models.dspark", project_through_lm_head=("hidden", "lm_head")),
    *_overrides(
        "sglang.srt.models.dspark.VanillaMarkov",
        get_prev_embeddings=("token_ids",),
        project_bias=("latent_states",),
    ),
    *_overrides(
        "sglang.srt.speculative.dspark_components.dspark_draft",
        sample_draft_block=(
            "base_logits",
            "anchor_tokens",
            "draft_hidden",
            "sampling_info",
            "markov_head",
            "noise",
            "device",
            "tp_sync",
            "greedy_draft",
        ),
    ),
    *_fields(
        "sglang.srt.speculative.dspark_components.dspark_draft.DraftBlockResult",
        "draft_tokens",
        "corrected_logits",
    ),
    *_fields("sglang.srt.sampling.sampling_batch_info.SamplingBatchInfo", "is_all_greedy"),
    *_fields(
        "sglang.srt.model_executor.model_runner_components.weight_updater.WeightUpdater",
        "update_weights_from_disk",
        "load_weights_from_distributed",
        "update_weights_from_tensor",
        "update_weights_from_ipc",
    ),
)
"""Products with weights, and what replaces these."""

NEEDS: tuple[Need, ...] = (
    *PLATFORM_NEEDS,
    *ATTENTION_NEEDS,
    *POOL_NEEDS,
    *HOOK_NEEDS,
    *WEIGHT_NEEDS,
)
"""All of them."""
