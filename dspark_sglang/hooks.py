"""The places where SGLang calls us, in one table.

Each row is a seam of SGLang's own plugin registry. Handlers are thin; what they do
lives in `startup`, `worker` and `tracing`. Kept few, since every row is a promise
about somebody else's code (see `contract`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sglang.srt.arg_groups.overrides import resolving_view
from sglang.srt.plugins.hook_registry import HookRegistry, HookType


class Hook(NamedTuple):
    """One handler on one upstream function."""

    target: str
    kind: HookType
    handler: Callable[..., Any]


def register() -> None:
    """Register all hooks with SGLang; it applies them once every plugin has run."""
    for hook in _hooks():
        HookRegistry.register(hook.target, hook.handler, hook.kind)


def _hooks() -> tuple[Hook, ...]:
    from dspark_sglang import startup
    from dspark_sglang.tracing import root
    from dspark_sglang.worker import control, server_info

    return (
        Hook(
            "sglang.srt.speculative.spec_info.SpeculativeAlgorithm.create_worker",
            HookType.AROUND,
            _create_worker,
        ),
        Hook(
            "sglang.srt.arg_groups.pipeline.run_resolution_pipeline",
            HookType.AROUND,
            startup.resolve,
        ),
        Hook(
            "sglang.srt.managers.scheduler.Scheduler.init_request_dispatcher",
            HookType.AFTER,
            control.add_to_dispatcher,
        ),
        Hook(
            "sglang.srt.managers.scheduler.Scheduler.run_event_loop",
            HookType.BEFORE,
            control.start_agent,
        ),
        Hook(
            "sglang.srt.managers.scheduler_components.request_receiver"
            ".SchedulerRequestReceiver._pull_raw_reqs",
            HookType.AFTER,
            control.append_update,
        ),
        Hook(
            "sglang.srt.managers.scheduler.Scheduler.get_internal_state",
            HookType.AFTER,
            server_info.add_status,
        ),
        Hook(
            "sglang.srt.managers.tokenizer_manager.TokenizerManager.convert_to_span_attrs",
            HookType.AFTER,
            root.add_totals,
        ),
    )


def _create_worker(original: Callable[..., Any], algorithm: Any, server_args: Any) -> Any:
    """Our worker for DSPARK, SGLang's for everything else."""
    worker_class = original(algorithm, server_args)
    from dspark_sglang.settings import load_settings

    if not algorithm.is_dspark() or load_settings().upstream_worker:
        return worker_class
    from dspark_sglang.tracing import decode
    from dspark_sglang.worker.worker import DSparkControlWorker

    if resolving_view(server_args).enable_trace:
        decode.install()
    return DSparkControlWorker
