"""One span `dspark.decode` a request: what was drafted, verified and accepted.

Written when the request finishes, from counters that the scheduler keeps on the host
anyway, through the request's own trace context, so that it is a child of SGLang's
request trace and works with asynchronous export too. Nothing happens in a step.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any

from sglang.srt.observability.req_time_stats import convert_time_to_realtime_ns
from sglang.srt.observability.trace import TraceSliceContext
from sglang.srt.plugins.hook_registry import HookRegistry, HookType

logger = logging.getLogger(__name__)

SPAN = "dspark.decode"
"""Name of the span."""

_FINISH = (
    "sglang.srt.managers.scheduler_components.batch_result_processor"
    ".SchedulerBatchResultProcessor._handle_finish_state_updated_req"
)


def install() -> None:
    """Write spans in this scheduler process; called only where tracing is on."""
    HookRegistry.register(_FINISH, write_span, HookType.BEFORE)
    HookRegistry.apply_hooks()


def write_span(processor: Any, req: Any, batch: Any, *_args: Any, **_kwargs: Any) -> None:
    """Before SGLang closes a finished request: write its span. Never fails the request."""
    if not req.finished() or not req.spec_verify_ct or not req.time_stats.trace_ctx.tracing_enable:
        return
    try:
        req.time_stats.trace_ctx.trace_slice(_span(processor.draft_worker, req, batch))
    except Exception:
        logger.exception("The span of request %s could not be written", req.rid)


def _span(worker: Any, req: Any, batch: Any) -> TraceSliceContext:
    stats = req.time_stats
    start = stats.last_prefill_finished_time or stats.forward_entry_time
    revision = worker.revision_at(batch.forward_iter)
    return TraceSliceContext(
        slice_name=SPAN,
        start_time_ns=convert_time_to_realtime_ns(start),
        end_time_ns=convert_time_to_realtime_ns(time.perf_counter()),
        level=1,
        attrs=attributes(req, gamma=worker.gamma, revision=revision),
    )


def attributes(req: Any, *, gamma: int, revision: int) -> Mapping[str, Any]:
    """Span attributes of a request that decoded `req.spec_verify_ct` rounds.

    `dspark.revisions` are those that served it in order, the last being `revision`.
    """
    totals = totals_of(
        rounds=req.spec_verify_ct,
        accepted=req.spec_num_correct_drafts,
        verified=req.spec_num_cap_tokens,
        trimmable=sum(req.spec_cap_lens_histogram),
        gamma=gamma,
    )
    served = (*getattr(req, "dspark_revisions", ()), revision)
    histogram = list(req.spec_correct_drafts_histogram)
    return {
        **totals,
        "dspark.accepted_histogram": histogram + [0] * (gamma + 1 - len(histogram)),
        "dspark.revisions": list(dict.fromkeys(served)),
    }


def totals_of(
    *, rounds: int, accepted: int, verified: int, trimmable: int, gamma: int
) -> dict[str, Any]:
    """Totals over `rounds` verify steps; tokens `verified` include each step's anchor.

    SGLang counts `verified` only in the `trimmable` rounds that had a ragged layout; the
    others (static mode, a batch past the captured graphs) verified the whole block.
    """
    full = rounds * (gamma + 1)
    verified += (rounds - trimmable) * (gamma + 1)
    return {
        "dspark.rounds": rounds,
        "dspark.gamma": gamma,
        "dspark.drafted": rounds * gamma,
        "dspark.verified": verified,
        "dspark.trimmed": full - verified,
        "dspark.accepted": accepted,
        "dspark.accept_length": 1 + accepted / rounds,
        "dspark.accept_rate": accepted / (rounds * gamma),
    }
