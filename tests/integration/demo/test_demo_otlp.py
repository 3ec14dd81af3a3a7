"""The receiver takes what OpenTelemetry's own exporter sends."""

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from dspark_sglang.demo.otlp import receiver, tree_lines


def test_spans_arrive_with_their_attributes() -> None:
    with receiver() as spans:
        provider = TracerProvider()
        exporter = OTLPSpanExporter(endpoint=spans.endpoint, insecure=True)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        tracer = provider.get_tracer("test")
        with (
            tracer.start_as_current_span("outer", attributes={"size": 3}),
            tracer.start_as_current_span("inner") as inner,
        ):
            inner.set_attributes({"revisions": [1, 2], "rate": 0.5, "name": "x", "on": True})
        assert provider.force_flush()
        assert spans.wait_for(lambda found: len(found) == 2, 20)
        provider.shutdown()
    by_name = {span.name: span for span in spans.spans()}
    assert by_name["inner"].parent_id == by_name["outer"].span_id
    assert by_name["inner"].trace_id == by_name["outer"].trace_id
    assert by_name["outer"].attributes == {"size": 3}
    assert by_name["inner"].attributes == {
        "revisions": [1, 2],
        "rate": 0.5,
        "name": "x",
        "on": True,
    }
    lines = tree_lines(spans.spans(), ["size"])
    assert [line.split()[0] for line in lines] == ["outer", "size", "inner"]


def test_waiting_for_what_never_comes_ends() -> None:
    with receiver() as spans:
        assert not spans.wait_for(bool, 0.1)
