"""Span trees as text."""

from dspark_sglang.demo.otlp import Span, tree_lines
from dspark_sglang.demo.tracing import decode_span, new_trace_id, revisions_of, traceparent


def span(name: str, parent: str, start: int, trace: str = "t", **attributes: object) -> Span:
    return Span(trace, name, parent, name, start, start + 2_000_000, dict(attributes))


def test_children_are_indented_in_the_order_of_time() -> None:
    spans = [
        span("late", "root", 9),
        span("root", "elsewhere", 0, size=3),
        span("early", "root", 1),
    ]
    assert tree_lines(spans, ["size"]) == [
        "root  2.0 ms",
        "    size = 3",
        "  early  2.0 ms",
        "  late  2.0 ms",
    ]


def test_leaves_of_one_name_are_one_line() -> None:
    spans = [span("root", "", 0), span("step", "root", 1), span("step", "root", 2)]
    numbered = [each._replace(span_id=f"{number}") for number, each in enumerate(spans)]
    children = [each._replace(parent_id="0") for each in numbered[1:]]
    assert tree_lines([numbered[0], *children]) == ["root  2.0 ms", "  step x 2  4.0 ms"]


def test_revisions_of_several_traces() -> None:
    spans = [
        span("dspark.decode", "", 0, "a", **{"dspark.revisions": [1, 2]}),
        span("dspark.decode", "", 0, "b", **{"dspark.revisions": [2, 3]}),
        span("other", "", 0, "c"),
    ]
    assert revisions_of(spans, ["a", "b", "c"]) == [1, 2, 3]
    assert decode_span(spans, "c") is None


def test_the_header_is_w3c() -> None:
    trace_id = new_trace_id()
    version, trace, parent, flags = traceparent(trace_id).split("-")
    assert (version, trace, flags, len(parent)) == ("00", trace_id, "01", 16)
