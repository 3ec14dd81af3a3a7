"""Every place where the CPU platform changes SGLang beyond its platform seam, and why.

All go through SGLang's own hook registry, so that they show in its log.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple


class CpuHook(NamedTuple):
    """One hook: upstream target, `HookType` value, our function and the reason for it."""

    target: str
    kind: str
    function: Callable[..., Any]
    reason: str


def register_hooks() -> None:
    """Register the hooks with SGLang, which applies them when all plugins have run.

    Those on model code only where a scheduler lives: they import what they change.
    """
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    hooks = argument_hooks()
    if "sglang.srt.managers.scheduler" in sys.modules:
        hooks += kernel_hooks() + worker_hooks() + weight_hooks() + update_hooks()
    for hook in hooks:
        HookRegistry.register(hook.target, hook.function, HookType(hook.kind))


def argument_hooks() -> tuple[CpuHook, ...]:
    """Hooks on the resolution of server arguments, in any process."""
    from dspark_sglang.platforms.cpu import bundled, startup

    return (
        CpuHook(
            "sglang.srt.arg_groups.model_path_hook.handle_model_source_paths",
            "before",
            bundled.refuse_bundled_draft,
            "nothing else stops a DeepSeek-V4 checkpoint before its weights are loaded",
        ),
        CpuHook(
            "sglang.srt.arg_groups.platform_hook.handle_cpu_backends",
            "before",
            startup.default_attention_backend,
            "it declares intel_amx or torch_native before a platform is asked",
        ),
        CpuHook(
            "sglang.srt.arg_groups.platform_hook.handle_cpu_backends",
            "before",
            startup.wait_passively,
            "the threads of the processes that are spawned next take it from the environment",
        ),
        CpuHook(
            "sglang.srt.arg_groups.speculative_hook._handle_dspark",
            "around",
            startup.present_device,
            "it accepts CUDA, NPU and XPU by name and does not ask the platform",
        ),
    )


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


def worker_hooks() -> tuple[CpuHook, ...]:
    """Hooks on what else a scheduler process does."""
    from dspark_sglang.platforms.cpu import dflash, replacements, threads

    return (
        CpuHook(
            "sglang.srt.distributed.bootstrap._init_cpu_threads_env",
            "replace",
            threads.bind_threads,
            "it binds the threads of a rank only through SGLang's own CPU kernels",
        ),
        CpuHook(
            "sglang.srt.models.dspark.DSparkDraftMixin.attach_shared_modules",
            "before",
            replacements.complete_tied_head,
            "Gemma 4 ties its head to an embedding without the fields that a draft reads",
        ),
        CpuHook(
            "torch.Tensor.record_stream",
            "around",
            replacements.record_stream,
            "torch raises for CPU tensors, and the DSPARK worker calls it each step",
        ),
        CpuHook(
            "sglang.kernels.ops.speculative.dspark.markov_sample.MarkovSampleStep.torch",
            "around",
            replacements.markov_sample_step,
            "it draws Gumbel noise over the vocabulary for greedy rows as well",
        ),
        CpuHook(
            "sglang.srt.model_executor.model_runner.ModelRunner._extend_forward_kwargs",
            "around",
            dflash.extend_forward_kwargs,
            "it rounds input embeddings to bfloat16, which a DFLASH draft in float32 cannot read",
        ),
    )


def weight_hooks() -> tuple[CpuHook, ...]:
    """Hooks that multiply with packed weights, and with few (see `packing`, `vocabulary`)."""
    from dspark_sglang.platforms.cpu import packing, vocabulary

    return (
        CpuHook(
            "sglang.srt.layers.quantization.unquant.UnquantizedLinearMethod.apply",
            "around",
            packing.packed_apply,
            "torch packs a weight anew in every product",
        ),
        CpuHook(
            "sglang.srt.layers.logits_processor.LogitsProcessor._compute_lm_head",
            "around",
            packing.packed_lm_head,
            "the same of the largest weight",
        ),
        CpuHook(
            "sglang.srt.models.dspark.project_through_lm_head",
            "around",
            packing.packed_draft_head,
            "and of its use by the draft",
        ),
        CpuHook(
            "sglang.srt.models.dspark.DSparkDraftMixin.compute_base_logits",
            "around",
            vocabulary.base_logits,
            "a draft that was trained on few tokens needs few rows of the head",
        ),
        CpuHook(
            "sglang.srt.speculative.dspark_components.dspark_draft.sample_draft_block",
            "around",
            vocabulary.sample_block,
            "it drafts places among these tokens",
        ),
    )


def update_hooks() -> tuple[CpuHook, ...]:
    """Hooks on everything that replaces weights: what is derived from them is made anew."""
    from dspark_sglang.platforms.cpu import packing

    return (
        CpuHook(
            "sglang.srt.model_executor.model_runner_components.weight_updater"
            ".WeightUpdater.update_weights_from_disk",
            "before",
            packing.forget_packed,
            "what was packed is of the weights before",
        ),
        CpuHook(
            "sglang.srt.model_executor.model_runner_components.weight_updater"
            ".WeightUpdater.load_weights_from_distributed",
            "before",
            packing.forget_packed,
            "what was packed is of the weights before",
        ),
        CpuHook(
            "sglang.srt.model_executor.model_runner_components.weight_updater"
            ".WeightUpdater.update_weights_from_tensor",
            "before",
            packing.forget_packed,
            "what was packed is of the weights before",
        ),
        CpuHook(
            "sglang.srt.model_executor.model_runner_components.weight_updater"
            ".WeightUpdater.update_weights_from_ipc",
            "before",
            packing.forget_packed,
            "what was packed is of the weights before",
        ),
    )
