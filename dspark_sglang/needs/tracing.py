"""What the spans need of SGLang."""

from dspark_sglang.contract_types import Need, fields

_COMPONENTS = "sglang.srt.managers.scheduler_components"
_REQ = "sglang.srt.managers.schedule_batch.Req"
_STATS = "sglang.srt.observability.req_time_stats.SchedulerReqTimeStats"

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
    *fields(_STATS, "trace_ctx", "last_prefill_finished_time", "forward_entry_time"),
    *fields(_REQ, "spec_num_correct_drafts", "spec_num_cap_tokens", "time_stats"),
    *fields(_REQ, "spec_correct_drafts_histogram", "spec_cap_lens_histogram", "finished", "rid"),
    *fields("sglang.srt.managers.schedule_batch.ScheduleBatch", "forward_iter", "forward_mode"),
    *fields("sglang.srt.observability.trace.TraceReqContext", "tracing_enable"),
    *fields(f"{_COMPONENTS}.batch_result_processor.SchedulerBatchResultProcessor", "draft_worker"),
)
"""What the spans rest on."""
