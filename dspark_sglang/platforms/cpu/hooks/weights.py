"""Hooks on products with weights, and on what replaces these."""

from dspark_sglang.platforms.cpu.hooks.hook import CpuHook


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
