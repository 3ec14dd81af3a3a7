"""Products with weights, and what replaces these."""

from dspark_sglang.contract_types import fields, overrides

WEIGHT_NEEDS = (
    *overrides(
        "sglang.srt.layers.quantization.unquant.UnquantizedLinearMethod",
        apply=("layer", "x", "bias"),
    ),
    *overrides(
        "sglang.srt.layers.logits_processor.LogitsProcessor",
        _compute_lm_head=("hidden_states", "lm_head", "embedding_bias", "out"),
    ),
    *fields(
        "sglang.srt.layers.logits_processor.LogitsProcessor",
        "use_fp32_lm_head",
        "rl_on_policy_target",
    ),
    *overrides("sglang.srt.models.dspark", project_through_lm_head=("hidden", "lm_head")),
    *overrides(
        "sglang.srt.models.dspark.VanillaMarkov",
        get_prev_embeddings=("token_ids",),
        project_bias=("latent_states",),
    ),
    *overrides(
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
    *fields(
        "sglang.srt.speculative.dspark_components.dspark_draft.DraftBlockResult",
        "draft_tokens",
        "corrected_logits",
    ),
    *fields("sglang.srt.sampling.sampling_batch_info.SamplingBatchInfo", "is_all_greedy"),
    *fields(
        "sglang.srt.model_executor.model_runner_components.weight_updater.WeightUpdater",
        "update_weights_from_disk",
        "load_weights_from_distributed",
        "update_weights_from_tensor",
        "update_weights_from_ipc",
    ),
)
"""Products with weights, and what replaces these."""
