"""Hooks that put torch in place of Triton launches."""

from dspark_sglang.platforms.cpu.hooks.hook import CpuHook


def kernel_hooks() -> tuple[CpuHook, ...]:
    """Hooks that put torch in place of Triton launches."""
    from dspark_kernels.chain_speculative_sampling import chain_speculative_sampling
    from dspark_kernels.softcap import softcap_
    from dspark_kernels.table_qk_norm_rope import table_qk_norm_rope_
    from dspark_sglang.platforms.cpu import dflash, replacements

    return (
        CpuHook(
            "sglang.kernels.ops.speculative.reject_sampling.chain_speculative_sampling_triton",
            "replace",
            chain_speculative_sampling,
            "a Triton launch: verification of sampled drafts",
        ),
        CpuHook(
            "sglang.srt.mem_cache.allocation.assign_req_to_token_pool_func",
            "replace",
            replacements.assign_req_to_token_pool,
            "a Triton launch: slots of a speculative step",
        ),
        CpuHook(
            "sglang.kernels.ops.attention.table_qk_norm_rope.table_qk_norm_rope_",
            "replace",
            table_qk_norm_rope_,
            "a Triton launch: query and key norm of a bfloat16 draft",
        ),
        CpuHook(
            "sglang.kernels.ops.activation.softcap.softcap_inplace_logits",
            "replace",
            softcap_,
            "a Triton launch: the soft-capped logits of Gemma",
        ),
        CpuHook(
            "sglang.srt.models.dspark.DSparkDraftMixin._fused_kv_write_bundle",
            "replace",
            replacements.no_fused_kv_write,
            "its Triton kernel writes through raw pointers; upstream has a torch path as well",
        ),
        CpuHook(
            "sglang.srt.speculative.dflash_utils.is_dflash_sampling_verify_available",
            "replace",
            dflash.sampling_verify_available,
            "without a kernel for it DFLASH answers sampled requests greedily",
        ),
        CpuHook(
            "sglang.srt.speculative.dflash_utils.compute_dflash_sampling_correct_drafts_and_bonus",
            "replace",
            dflash.sampled_verdict,
            "that kernel: verification of DFLASH drafts for sampled requests",
        ),
    )
