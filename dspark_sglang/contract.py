"""Every name of SGLang that we rely on, by the part of ours that relies on it.

A plugin that subclasses and hooks another project breaks silently when that project
moves. This table is checked by reflection (`contract_check`) before anything is registered,
so that a new SGLang gives one list of differences at start instead of a fault in a step.
Each part stands or falls by its own rows.
"""

from collections.abc import Sequence

from dspark_sglang.contract_types import Need, Part

ENGINE_VERSION = "0.5.23"
"""The SGLang release that the table below was read from."""

_DSPARK = "sglang.srt.speculative.dspark_components"
_WORKER = f"{_DSPARK}.dspark_worker_v2.DSparkWorkerV2"
_PLANNER = f"{_DSPARK}.dspark_planner.DSparkVerifyPlanner"
_BUDGET = f"{_DSPARK}.dspark_planner.HostConfidenceBudgetPlanner"
_OBSERVERS = f"{_DSPARK}.dspark_observability.DsparkStepObservers"
_VERIFY = f"{_DSPARK}.dspark_verify"
_SAMPLING = "sglang.srt.sampling"
_SCHEDULER = "sglang.srt.managers.scheduler.Scheduler"
_COMPONENTS = "sglang.srt.managers.scheduler_components"
_OVERRIDES = "sglang.srt.arg_groups.overrides"
_REQ = "sglang.srt.managers.schedule_batch.Req"
_POOL = ("memory_pool_config", "req_to_token_pool", "token_to_kv_pool_allocator")
_HOOKS = "sglang.srt.plugins.hook_registry"
_RUNNER = "sglang.srt.model_executor.model_runner.ModelRunner"
_ARGS = "sglang.srt.server_args.ServerArgs"
_STATS = "sglang.srt.observability.req_time_stats.SchedulerReqTimeStats"


def _fields(owner: str, *names: str) -> tuple[Need, ...]:
    return tuple(Need(f"{owner}.{name}", "field") for name in names)


WORKER_NEEDS: tuple[Need, ...] = (
    Need(
        f"{_WORKER}.__init__",
        "override",
        ("server_args", "gpu_id", "nccl_port", "target_worker", "draft_worker_cls"),
    ),
    Need(f"{_WORKER}.alloc_memory_pool", "override", _POOL),
    Need(f"{_WORKER}._forward_prefill", "override", ("batch", "on_publish", "pp_proxy_tensors")),
    Need(
        f"{_WORKER}._forward_decode",
        "override",
        ("batch", "on_publish", "grammar_barrier", "coordination_plan"),
    ),
    Need(
        f"{_VERIFY}.TargetVerifyExecutor.run_compact",
        "override",
        (
            "batch",
            "layout",
            "draft_block_ids",
            "draft_tokens",
            "bs",
            "device",
            "sampling_info",
            "verify_window",
            "inject_gate",
        ),
    ),
    Need(
        f"{_VERIFY}.TargetVerifyExecutor.run_non_compact",
        "override",
        ("batch", "draft_input", "verify_ids_2d", "verify_window", "sampling_info"),
    ),
    *_fields(f"{_VERIFY}.TargetVerifyExecutor", "accept_and_finalize"),
    *_fields(_VERIFY, "verify_logits_adjustments_are_noop"),
    *_fields(f"{_VERIFY}.AcceptOuts", "commit_lens"),
    *_fields(f"{_VERIFY}.TargetVerifyResult", "logits_output"),
    *_fields(f"{_SAMPLING}.sampling_batch_info.SamplingBatchInfo", "acc_additive_penalties"),
    *_fields(f"{_SAMPLING}.sampling_batch_info.SamplingBatchInfo", "acc_scaling_penalties"),
    *_fields(f"{_SAMPLING}.sampling_batch_info.SamplingBatchInfo", "logit_bias"),
    *_fields(
        f"{_SAMPLING}.sampling_batch_info.SamplingBatchInfo",
        "is_all_greedy",
        "temperatures",
        "top_ks",
        "top_ps",
        "min_ps",
        "need_top_k_sampling",
        "need_top_p_sampling",
        "need_min_p_sampling",
    ),
    *_fields(f"{_SAMPLING}.sampling_params.SamplingParams", "frequency_penalty"),
    *_fields(f"{_SAMPLING}.sampling_params.SamplingParams", "presence_penalty"),
    *_fields(f"{_SAMPLING}.sampling_params.SamplingParams", "repetition_penalty"),
    *_fields(f"{_SAMPLING}.sampling_params.SamplingParams", "min_new_tokens", "stop_token_ids"),
    *_fields(_REQ, "kv", "output_ids", "sampling_params", "eos_token_ids", "tokenizer"),
    *_fields(_RUNNER, "req_to_token_pool"),
    Need(
        f"{_WORKER}._sampling_graph_eligible",
        "override",
        ("batch", "proposal_folded", "sampling_info", "simulate_bonus_sampling_info"),
    ),
    *_fields(_WORKER, "_hosts_draft", "_observers", "_verify_planner", "_simulate_acc_len"),
    *_fields(_WORKER, "_verify_executor"),
    *_fields(_WORKER, "gamma", "device", "model_runner", "draft_model_runner"),
    *_fields(_WORKER, "carries_confidence"),
    Need(
        f"{_PLANNER}._schedule_verify_lens",
        "override",
        ("req_pool_indices", "prefix_lens", "device", "confidence", "budget"),
    ),
    *_fields("sglang.srt.models.dspark.DSparkConfidenceHead", "sts_temperatures"),
    *_fields(_RUNNER, "decode_cuda_graph_runner", "decode_attention_backend_str"),
    *_fields(_RUNNER, "model_config", "dtype"),
    *_fields("sglang.srt.configs.model_config.ModelConfig", "model_path", "revision"),
    *_fields(f"{_DSPARK}.dspark_observability.DsparkInfoDumper", "enabled"),
    *_fields(
        f"{_DSPARK}.dspark_sps.SpsCostTable",
        "sample_batch_tokens",
        "sample_steps_per_sec",
        "max_batch_tokens",
    ),
    *_fields(
        f"{_DSPARK}.dspark_sps.SpsAdditiveCostTable",
        "bias_seconds",
        "bs_probes",
        "alpha_seconds",
        "m_probes",
        "theta_seconds",
    ),
    *_fields(_PLANNER, "_budget_planner", "_confidence_head", "_is_verify_all", "_schedule_cfg"),
    *_fields(_PLANNER, "schedules_verify_budget", "is_compact_mode"),
    *_fields(
        f"{_DSPARK}.dspark_planner.DSparkScheduleConfig",
        "min_verify_len",
        "max_verify_len",
        "survival_eps",
    ),
    Need(
        f"{_BUDGET}.compute_budget",
        "override",
        ("confidence", "generation", "current_generation", "req_pool_indices_cpu"),
    ),
    Need(
        f"{_BUDGET}._shift_to_lag",
        "call",
        ("confidence", "generation", "req_pool_indices_cpu"),
    ),
    *_fields(_BUDGET, "forced_budget_frac", "last_decision", "sps_table"),
    Need(
        f"{_DSPARK}.dspark_planner.VerifyBudgetDecision",
        "call",
        ("budget", "predicted_step_seconds", "predicted_theta"),
    ),
    Need("sglang.srt.models.dspark.DSparkConfidenceHead.apply_sts", "call", ("confidence_raw",)),
    *_fields(f"{_DSPARK}.dspark_sps", "is_uninitialized_sps_table", "SpsAdditiveCostTable"),
    Need(f"{_OBSERVERS}.begin_step", "override"),
    Need(f"{_OBSERVERS}.segment", "override", ("name",)),
    *_fields(_OBSERVERS, "observe_verify_step", "note_prefill_step", "note_idle_decode_step"),
    *_fields(_OBSERVERS, "_info_dumper", "_block_accept_recorder", "_sts_collect_path"),
)
"""What the worker, its budget planner and its observers rest on."""

CONTROL_NEEDS: tuple[Need, ...] = (
    Need(
        "sglang.srt.speculative.spec_info.SpeculativeAlgorithm.create_worker",
        "override",
        ("server_args",),
    ),
    Need(f"{_SCHEDULER}.init_request_dispatcher", "override"),
    Need(f"{_SCHEDULER}.run_event_loop", "override"),
    Need(f"{_SCHEDULER}.get_internal_state", "override", ("recv_req",)),
    *_fields("sglang.srt.managers.io_struct.GetInternalStateReqOutput", "internal_state"),
    *_fields(_SCHEDULER, "_request_dispatcher", "draft_worker", "running_batch"),
    *_fields(_SCHEDULER, "forward_ct", "forward_stream_ctx", "tp_cpu_group"),
    *_fields(_SCHEDULER, "last_batch", "waiting_queue"),
    Need(f"{_HOOKS}.HookRegistry.register", "call", ("target", "hook", "hook_type")),
    Need(f"{_HOOKS}.HookRegistry.apply_hooks", "call"),
    *_fields("sglang.utils.TypeBasedDispatcher", "_mapping"),
    Need(f"{_COMPONENTS}.request_receiver.SchedulerRequestReceiver._pull_raw_reqs", "override"),
    *_fields("sglang.srt.runtime_context", "get_parallel", "get_spec", "get_server_args"),
    *_fields(_REQ, "spec_verify_ct"),
)
"""What brings a snapshot to all ranks in one loop iteration."""

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
    *_fields("sglang.srt.models.dspark", "EntryClass"),
    *_fields("sglang.srt.environ.Envs", "SGLANG_RAGGED_VERIFY_MODE"),
    *_fields(_ARGS, "speculative_algorithm", "speculative_draft_model_path", "model_path"),
    *_fields(_ARGS, "speculative_draft_attention_backend", "speculative_attention_mode"),
    *_fields(_ARGS, "speculative_draft_model_revision", "revision", "trust_remote_code"),
    *_fields(_ARGS, "enable_dp_attention", "attn_dp_size", "dcp_size", "disaggregation_mode"),
    *_fields(_ARGS, "enable_lora", "lora_paths", "enable_two_batch_overlap", "enable_trace"),
    *_fields(_ARGS, "disable_cuda_graph_padding", "enable_linear_replayssm_spec"),
    *_fields(_ARGS, "cuda_graph_config", "json_model_override_args", "port"),
    *_fields(_ARGS, "speculative_dspark_sps_table_path", "speculative_num_draft_tokens"),
    *_fields(_ARGS, "speculative_dspark_confidence_sts_path"),
    Need(f"{_DSPARK}.dspark_config.checkpoint_bundles_dspark_draft", "call", ("hf_config",)),
    Need(
        "sglang.srt.utils.hf_transformers_utils.get_config",
        "call",
        ("trust_remote_code", "revision", "model_override_args"),
    ),
)
"""What defaults and refusals at start rest on."""

TRACING_NEEDS: tuple[Need, ...] = (
    Need(
        f"{_COMPONENTS}.batch_result_processor"
        ".SchedulerBatchResultProcessor._handle_finish_state_updated_req",
        "override",
        ("req", "batch", "result", "i", "logits_output"),
    ),
    Need(
        "sglang.srt.managers.tokenizer_manager.TokenizerManager.convert_to_span_attrs",
        "override",
        ("state", "recv_obj", "i"),
    ),
    Need(
        "sglang.srt.observability.trace.TraceSliceContext",
        "call",
        ("slice_name", "start_time_ns", "end_time_ns", "level", "attrs"),
    ),
    Need("sglang.srt.observability.trace.TraceReqContext.trace_slice", "call", ("slice",)),
    Need(
        "sglang.srt.observability.req_time_stats.convert_time_to_realtime_ns",
        "call",
        ("time_value",),
    ),
    *_fields(_STATS, "trace_ctx", "last_prefill_finished_time", "forward_entry_time"),
    *_fields(_REQ, "spec_num_correct_drafts", "spec_num_cap_tokens", "time_stats"),
    *_fields(_REQ, "spec_correct_drafts_histogram", "spec_cap_lens_histogram", "finished", "rid"),
    *_fields("sglang.srt.managers.schedule_batch.ScheduleBatch", "forward_iter", "forward_mode"),
    *_fields("sglang.srt.observability.trace.TraceReqContext", "tracing_enable"),
    *_fields(f"{_COMPONENTS}.batch_result_processor.SchedulerBatchResultProcessor", "draft_worker"),
)
"""What the spans rest on."""


CONTROL_LOSS = "DSPARK runs as SGLang's own worker, without run-time control"
"""What is missing where the rows above do not hold."""

CPU_LOSS = "DSPARK and DFLASH do not run on a machine without an accelerator"
"""What is missing where the rows of the CPU platform do not hold."""


def parts() -> tuple[Part, ...]:
    """What this process registers, in the order of registration."""
    from dspark_sglang.platforms import cpu

    own = (*WORKER_NEEDS, *CONTROL_NEEDS, *STARTUP_NEEDS, *TRACING_NEEDS)
    control = Part("run-time control of DSPARK", own, CONTROL_LOSS, _register_control)
    platform = Part("the CPU platform", cpu.NEEDS, CPU_LOSS, cpu.register_hooks)
    return (platform, control) if cpu.is_active() else (control,)


def report(part: Part, found: Sequence[str]) -> str:
    """The differences `found` for `part` and what to do about them, for one log record."""
    installed = _installed_version()
    return "\n".join(
        [
            f"dspark-sglang: {part.name} is inactive: SGLang {installed} is not what it was "
            f"written for ({ENGINE_VERSION}).",
            *(f"  - {text}" for text in found),
            f"Install sglang=={ENGINE_VERSION}, or a dspark-sglang release for {installed}; "
            f"until then {part.loss}.",
        ]
    )


def _register_control() -> None:
    from dspark_sglang import hooks

    hooks.register()


def _installed_version() -> str:
    from sglang.version import __version__

    return str(__version__)
