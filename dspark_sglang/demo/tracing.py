"""Ties a request to its spans: a trace id of our own goes out, the spans come back under it."""

import secrets
from collections.abc import Sequence

from dspark_sglang.demo.otlp import Receiver, Span

DECODE_SPAN = "dspark.decode"
SHOWN = (
    "dspark.rounds",
    "dspark.drafted",
    "dspark.verified",
    "dspark.accepted",
    "dspark.trimmed",
    "dspark.accept_length",
    "dspark.accept_rate",
    "dspark.accepted_histogram",
    "dspark.revisions",
)


def new_trace_id() -> str:
    """A random W3C trace id, 32 hex digits."""
    return secrets.token_hex(16)


def traceparent(trace_id: str) -> str:
    """The W3C header that makes a server's spans part of the trace."""
    return f"00-{trace_id}-{secrets.token_hex(8)}-01"


def spans_of(spans: Sequence[Span], trace_id: str) -> list[Span]:
    """The spans of one trace."""
    return [span for span in spans if span.trace_id == trace_id]


def decode_span(spans: Sequence[Span], trace_id: str) -> Span | None:
    """The span `dspark.decode` of a trace, None while it has not arrived."""
    found = (span for span in spans_of(spans, trace_id) if span.name == DECODE_SPAN)
    return next(found, None)


def wait_for_decode(receiver: Receiver, trace_ids: Sequence[str], limit_s: float) -> bool:
    """Waits until every trace has its `dspark.decode`; False when the time is up first."""
    return receiver.wait_for(
        lambda spans: all(decode_span(spans, trace_id) for trace_id in trace_ids), limit_s
    )


def revisions_of(spans: Sequence[Span], trace_ids: Sequence[str]) -> list[int]:
    """The revisions that served these traces, in order, each once."""
    decoded = (decode_span(spans, trace_id) for trace_id in trace_ids)
    served = (span.attributes.get("dspark.revisions") or [] for span in decoded if span)
    return list(dict.fromkeys(revision for each in served for revision in each))
