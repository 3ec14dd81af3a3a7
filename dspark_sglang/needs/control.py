"""What bringing a snapshot to all ranks needs of SGLang."""

from dspark_sglang.contract_types import Need, fields

_SCHEDULER = "sglang.srt.managers.scheduler.Scheduler"
_COMPONENTS = "sglang.srt.managers.scheduler_components"
_REQ = "sglang.srt.managers.schedule_batch.Req"
_HOOKS = "sglang.srt.plugins.hook_registry"

CONTROL_NEEDS: tuple[Need, ...] = (
    Need(
        "sglang.srt.speculative.spec_info.SpeculativeAlgorithm.create_worker",
        "override",
        ("server_args",),
    ),
    Need(f"{_SCHEDULER}.init_request_dispatcher", "override"),
    Need(f"{_SCHEDULER}.run_event_loop", "override"),
    Need(f"{_SCHEDULER}.get_internal_state", "override", ("recv_req",)),
    *fields("sglang.srt.managers.io_struct.GetInternalStateReqOutput", "internal_state"),
    *fields(_SCHEDULER, "_request_dispatcher", "draft_worker", "running_batch"),
    *fields(_SCHEDULER, "forward_ct", "forward_stream_ctx", "tp_cpu_group"),
    *fields(_SCHEDULER, "last_batch", "waiting_queue"),
    Need(f"{_HOOKS}.HookRegistry.register", "call", ("target", "hook", "hook_type")),
    Need(f"{_HOOKS}.HookRegistry.apply_hooks", "call"),
    *fields("sglang.utils.TypeBasedDispatcher", "_mapping"),
    Need(f"{_COMPONENTS}.request_receiver.SchedulerRequestReceiver._pull_raw_reqs", "override"),
    *fields("sglang.srt.runtime_context", "get_parallel", "get_spec", "get_server_args"),
    *fields(_REQ, "spec_verify_ct"),
)
"""What brings a snapshot to all ranks in one loop iteration."""
