"""What the hooks replace or surround, and what they call."""

from dspark_sglang.contract_types import calls, fields, overrides

_BATCH = "sglang.srt.model_executor.forward_batch_info"
_DFLASH = "sglang.srt.speculative.dflash_utils"
_RUNNER = "sglang.srt.model_executor.model_runner.ModelRunner"
_OVERRIDES = "sglang.srt.arg_groups.overrides"
_OPS = "sglang.kernels.ops"
_ARGS = "sglang.srt.server_args.ServerArgs"
_HOOKS = "sglang.srt.plugins.hook_registry"

HOOK_NEEDS = (
    *overrides("sglang.srt.arg_groups.model_path_hook", handle_model_source_paths=("server_args",)),
    *fields(_ARGS, "model_path", "revision"),
    *fields(_ARGS, "speculative_draft_model_path", "speculative_draft_model_revision"),
    *overrides("sglang.srt.arg_groups.platform_hook", handle_cpu_backends=("server_args",)),
    *overrides("sglang.srt.arg_groups.speculative_hook", _handle_dspark=("server_args",)),
    *overrides(
        "sglang.srt.distributed.bootstrap",
        _init_cpu_threads_env=("local_omp_cpuid", "dist_init_method"),
    ),
    *overrides(
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
    *overrides(
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
    *overrides(
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
    *overrides(
        f"{_OPS}.activation.softcap",
        softcap_inplace_logits=("full_logits", "final_logit_softcapping"),
    ),
    *overrides(
        "sglang.srt.models.dspark.DSparkDraftMixin",
        _fused_kv_write_bundle=("pool",),
        compute_base_logits=("hidden",),
        attach_shared_modules=("embed_tokens", "lm_head"),
    ),
    *calls(
        f"{_OPS}.speculative.dspark.markov_sample.MarkovSampleStep",
        torch=("temperatures", "has_sampled_rows"),
    ),
    *overrides(_RUNNER, _extend_forward_kwargs=("forward_batch", "pp_proxy_tensors")),
    *fields(_RUNNER, "dtype"),
    *fields(f"{_BATCH}.ForwardBatch", "input_embeds", "replace_embeds"),
    *overrides(
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
    *calls(
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
    *calls(_OVERRIDES, resolving_view=("server_args",)),
    *calls(_OVERRIDES, declare_resolution=("server_args", "source")),
    *calls(f"{_HOOKS}.HookRegistry", register=("target", "hook", "hook_type")),
    *fields(_HOOKS, "HookType"),
)
"""What the hooks replace or surround, and what they call."""
