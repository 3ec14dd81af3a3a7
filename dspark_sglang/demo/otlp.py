"""A small OTLP/gRPC receiver that keeps spans in memory, and a printer of span trees.

So that the demonstration can show a request's trace, and tests can read it, without a collector.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


class Span(NamedTuple):
    """One finished span; ids in hex, times in Unix nanoseconds, `parent_id` "" for a root."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]


class Receiver(TraceServiceServicer):
    """Collects every span that is exported to it."""

    endpoint: str
    """host:port to give to exporters."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._arrived = threading.Condition()

    def Export(  # noqa: N802 - the name is the protocol's
        self, request: ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> ExportTraceServiceResponse:
        """Takes a batch of spans."""
        del context
        batch = [
            _parse(span)
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        with self._arrived:
            self._spans += batch
            self._arrived.notify_all()
        return ExportTraceServiceResponse()

    def spans(self) -> list[Span]:
        """All spans so far, in the order of arrival."""
        with self._arrived:
            return list(self._spans)

    def wait_for(self, is_enough: Callable[[Sequence[Span]], bool], limit_s: float) -> bool:
        """Waits until the spans satisfy `is_enough`; False when the time is up first."""
        with self._arrived:
            return self._arrived.wait_for(lambda: is_enough(self._spans), limit_s)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver that listens on a free loopback port for the length of the block."""
    collected = Receiver()
    server = grpc.server(ThreadPoolExecutor(4))
    add_TraceServiceServicer_to_server(collected, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    collected.endpoint = f"127.0.0.1:{port}"
    server.start()
    try:
        yield collected
    finally:
        server.stop(grace=1).wait()


def tree_lines(spans: Sequence[Span], attributes: Sequence[str] = ()) -> list[str]:
    """The spans of one trace as an indented tree, with durations and the attributes named.

    Leaves of one name under one parent (a span a step, say) are one line.
    """
    known = {span.span_id for span in spans}
    roots = [span for span in spans if span.parent_id not in known]
    return list(_lines(roots, spans, attributes, 0))


def _lines(
    siblings: Sequence[Span], spans: Sequence[Span], attributes: Sequence[str], depth: int
) -> Iterator[str]:
    indent = "  " * depth
    for alike in _grouped(siblings, spans):
        first = alike[0]
        times = f" x {len(alike)}" if len(alike) > 1 else ""
        total_ms = sum(span.end_ns - span.start_ns for span in alike) / 1e6
        yield f"{indent}{first.name}{times}  {total_ms:.1f} ms"
        for name in attributes:
            if len(alike) == 1 and name in first.attributes:
                yield f"{indent}    {name} = {first.attributes[name]}"
        children = [child for child in spans if child.parent_id == first.span_id]
        yield from _lines(children, spans, attributes, depth + 1)


def _grouped(siblings: Sequence[Span], spans: Sequence[Span]) -> list[list[Span]]:
    """Siblings in the order of time, leaves of one name together."""
    parents = {span.parent_id for span in spans}
    groups: dict[str, list[Span]] = {}
    for span in sorted(siblings, key=lambda each: each.start_ns):
        key = span.span_id if span.span_id in parents else f"leaf {span.name}"
        groups.setdefault(key, []).append(span)
    return list(groups.values())


def _parse(span: Any) -> Span:
    return Span(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes={pair.key: _value(pair.value) for pair in span.attributes},
    )


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None
