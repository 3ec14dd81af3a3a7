"""What defaults and refusals at start need of SGLang."""

from dspark_sglang.contract_types import Need, fields

_DSPARK = "sglang.srt.speculative.dspark_components"
_OVERRIDES = "sglang.srt.arg_groups.overrides"
_ARGS = "sglang.srt.server_args.ServerArgs"

STARTUP_NEEDS: tuple[Need, ...] = (
    Need(
        "sglang.srt.arg_groups.pipeline.run_resolution_pipeline",
        "override",
        ("server_args",),
    ),
    Need(f"{_OVERRIDES}.resolving_view", "call", ("server_args",)),
    Need(f"{_OVERRIDES}.declare_resolution", "call", ("server_args", "source")),
    Need(f"{_OVERRIDES}.attention_backends_of", "call", ("cfg",)),
    Need(f"{_OVERRIDES}.use_mla_backend", "call", ("server_args",)),
    Need("sglang.srt.models.registry.ModelRegistry.is_arch_supported", "call", ("architecture",)),
    *fields("sglang.srt.models.dspark", "EntryClass"),
    *fields("sglang.srt.environ.Envs", "SGLANG_RAGGED_VERIFY_MODE"),
    *fields(_ARGS, "speculative_algorithm", "speculative_draft_model_path", "model_path"),
    *fields(_ARGS, "speculative_draft_attention_backend", "speculative_attention_mode"),
    *fields(_ARGS, "speculative_draft_model_revision", "revision", "trust_remote_code"),
    *fields(_ARGS, "enable_dp_attention", "attn_dp_size", "dcp_size", "disaggregation_mode"),
    *fields(_ARGS, "enable_lora", "lora_paths", "enable_two_batch_overlap", "enable_trace"),
    *fields(_ARGS, "disable_cuda_graph_padding", "enable_linear_replayssm_spec"),
    *fields(_ARGS, "cuda_graph_config", "json_model_override_args", "port"),
    *fields(_ARGS, "speculative_dspark_sps_table_path", "speculative_num_draft_tokens"),
    *fields(_ARGS, "speculative_dspark_confidence_sts_path"),
    Need(f"{_DSPARK}.dspark_config.checkpoint_bundles_dspark_draft", "call", ("hf_config",)),
    Need(
        "sglang.srt.utils.hf_transformers_utils.get_config",
        "call",
        ("trust_remote_code", "revision", "model_override_args"),
    ),
)
"""What defaults and refusals at start rest on."""
