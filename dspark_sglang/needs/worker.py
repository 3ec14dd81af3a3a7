"""What the worker, its budget planner and its observers need of SGLang."""

from dspark_sglang.contract_types import Need, fields

_DSPARK = "sglang.srt.speculative.dspark_components"
_WORKER = f"{_DSPARK}.dspark_worker_v2.DSparkWorkerV2"
_PLANNER = f"{_DSPARK}.dspark_planner.DSparkVerifyPlanner"
_BUDGET = f"{_DSPARK}.dspark_planner.HostConfidenceBudgetPlanner"
_OBSERVERS = f"{_DSPARK}.dspark_observability.DsparkStepObservers"
_VERIFY = f"{_DSPARK}.dspark_verify"
_SAMPLING = "sglang.srt.sampling"
_REQ = "sglang.srt.managers.schedule_batch.Req"
_POOL = ("memory_pool_config", "req_to_token_pool", "token_to_kv_pool_allocator")
_RUNNER = "sglang.srt.model_executor.model_runner.ModelRunner"

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
    *fields(f"{_VERIFY}.TargetVerifyExecutor", "accept_and_finalize"),
    *fields(_VERIFY, "verify_logits_adjustments_are_noop"),
    *fields(f"{_VERIFY}.AcceptOuts", "commit_lens"),
    *fields(f"{_VERIFY}.TargetVerifyResult", "logits_output"),
    *fields(f"{_SAMPLING}.sampling_batch_info.SamplingBatchInfo", "acc_additive_penalties"),
    *fields(f"{_SAMPLING}.sampling_batch_info.SamplingBatchInfo", "acc_scaling_penalties"),
    *fields(f"{_SAMPLING}.sampling_batch_info.SamplingBatchInfo", "logit_bias"),
    *fields(
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
    *fields(f"{_SAMPLING}.sampling_params.SamplingParams", "frequency_penalty"),
    *fields(f"{_SAMPLING}.sampling_params.SamplingParams", "presence_penalty"),
    *fields(f"{_SAMPLING}.sampling_params.SamplingParams", "repetition_penalty"),
    *fields(f"{_SAMPLING}.sampling_params.SamplingParams", "min_new_tokens", "stop_token_ids"),
    *fields(_REQ, "kv", "output_ids", "sampling_params", "eos_token_ids", "tokenizer"),
    *fields(_RUNNER, "req_to_token_pool"),
    Need(
        f"{_WORKER}._sampling_graph_eligible",
        "override",
        ("batch", "proposal_folded", "sampling_info", "simulate_bonus_sampling_info"),
    ),
    *fields(_WORKER, "_hosts_draft", "_observers", "_verify_planner", "_simulate_acc_len"),
    *fields(_WORKER, "_verify_executor"),
    *fields(_WORKER, "gamma", "device", "model_runner", "draft_model_runner"),
    *fields(_WORKER, "carries_confidence"),
    Need(
        f"{_PLANNER}._schedule_verify_lens",
        "override",
        ("req_pool_indices", "prefix_lens", "device", "confidence", "budget"),
    ),
    *fields("sglang.srt.models.dspark.DSparkConfidenceHead", "sts_temperatures"),
    *fields(_RUNNER, "decode_cuda_graph_runner", "decode_attention_backend_str"),
    *fields(_RUNNER, "model_config", "dtype"),
    *fields("sglang.srt.configs.model_config.ModelConfig", "model_path", "revision"),
    *fields(f"{_DSPARK}.dspark_observability.DsparkInfoDumper", "enabled"),
    *fields(
        f"{_DSPARK}.dspark_sps.SpsCostTable",
        "sample_batch_tokens",
        "sample_steps_per_sec",
        "max_batch_tokens",
    ),
    *fields(
        f"{_DSPARK}.dspark_sps.SpsAdditiveCostTable",
        "bias_seconds",
        "bs_probes",
        "alpha_seconds",
        "m_probes",
        "theta_seconds",
    ),
    *fields(_PLANNER, "_budget_planner", "_confidence_head", "_is_verify_all", "_schedule_cfg"),
    *fields(_PLANNER, "schedules_verify_budget", "is_compact_mode"),
    *fields(
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
    *fields(_BUDGET, "forced_budget_frac", "last_decision", "sps_table"),
    Need(
        f"{_DSPARK}.dspark_planner.VerifyBudgetDecision",
        "call",
        ("budget", "predicted_step_seconds", "predicted_theta"),
    ),
    Need("sglang.srt.models.dspark.DSparkConfidenceHead.apply_sts", "call", ("confidence_raw",)),
    *fields(f"{_DSPARK}.dspark_sps", "is_uninitialized_sps_table", "SpsAdditiveCostTable"),
    Need(f"{_OBSERVERS}.begin_step", "override"),
    Need(f"{_OBSERVERS}.segment", "override", ("name",)),
    *fields(_OBSERVERS, "observe_verify_step", "note_prefill_step", "note_idle_decode_step"),
    *fields(_OBSERVERS, "_info_dumper", "_block_accept_recorder", "_sts_collect_path"),
)
"""What the worker, its budget planner and its observers rest on."""
