"""Own times of operators, from traces made by hand."""

from dspark_sglang.demo.step_profile import (
    OTHER,
    OUTSIDE,
    Event,
    busiest_thread,
    kind_of,
    milliseconds,
    own_times,
)

EVENTS = [
    Event("aten::linear", 0, 100),
    Event("aten::t", 5, 10),
    Event("aten::addmm", 20, 70),
    Event("aten::copy_", 30, 20),
    Event("aten::add", 150, 50),
]


def test_a_kind_is_known_by_the_name() -> None:
    assert kind_of("mkldnn::_linear_pointwise") == "matrix products"
    assert kind_of("aten::scaled_dot_product_attention") == "attention"
    assert kind_of("aten::index_select") == "copies"
    assert kind_of("aten::add") == OTHER


def test_operators_count_without_those_inside_them() -> None:
    assert own_times(EVENTS) == {"matrix products": 70, OTHER: 60, "copies": 20}


def test_what_is_outside_of_operators_makes_the_step_whole() -> None:
    found = milliseconds(EVENTS, 2)
    assert found[OUTSIDE] == 0.03  # 50 of 200 microseconds, rounded, in two steps
    assert found["attention"] == 0


def test_the_busiest_thread_is_taken() -> None:
    def event(name: str, thread: int, category: str = "cpu_op") -> dict[str, object]:
        return {
            "ph": "X",
            "cat": category,
            "name": name,
            "ts": 1,
            "dur": 1,
            "pid": 1,
            "tid": thread,
        }

    trace = {"traceEvents": [event("a", 1), event("b", 2), event("c", 2), event("d", 1, "python")]}
    assert [each.name for each in busiest_thread(trace)] == ["b", "c"]
