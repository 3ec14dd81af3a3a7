"""Two tensor-parallel ranks take every snapshot at the same step, while requests run.

Their spans go out by SGLang's asynchronous exporter, so that this way is tested too.
"""

import pytest

from dspark.control.v1 import worker_pb2
from dspark_sglang.demo.admin import VERIFIES_ALL, VERIFIES_LITTLE, admin
from dspark_sglang.demo.client import generate_all
from dspark_sglang.demo.otlp import receiver
from dspark_sglang.demo.servers import EngineOptions, control_service, engine

from ..tiny_models import tiny_models
from .load import steady_load

pytestmark = pytest.mark.timeout(600)
TP2 = ("--tp-size", "2")


def is_of_a_change(span) -> bool:
    """A request's span that names more than one revision."""
    return span.name == "dspark.decode" and len(span.attributes["dspark.revisions"]) > 1


def test_both_ranks_apply_in_the_same_iteration(setting, tmp_path):
    models = tiny_models(tmp_path, setting.models.target)
    with receiver() as spans, control_service(tmp_path) as control:
        control.wait_ready(print)
        options = EngineOptions(
            name="tp2",
            models=models,
            control_endpoint=control.endpoint,
            worker_id="tp2",
            trace_endpoint=spans.endpoint,
            environ={"SGLANG_CPU_OMP_THREADS_BIND": "0|1", "SGLANG_TRACE_ASYNC": "1"},
            flags=TP2,
        )
        with engine(options, tmp_path) as server, admin(control.endpoint) as operator:
            server.wait_ready(print)
            texts = setting.texts[:4]
            expected = [a.token_ids for a in generate_all(server.url, texts, 32, concurrency=4)]
            steps = []
            with steady_load(server.url, texts, max_tokens=32, concurrency=4) as load:
                for number in range(8):
                    schedule = VERIFIES_ALL if number % 2 else VERIFIES_LITTLE
                    revision = operator.bind(schedule, f"change {number}")
                    operator.wait_applied("tp2", revision, 20)
                    (worker,) = operator.workers()
                    assert worker.last_ack.result == worker_pb2.ACK_RESULT_APPLIED
                    steps.append([rank.step for rank in worker.last_ack.ranks])
                    assert [rank.tp_rank for rank in worker.last_ack.ranks] == [0, 1]
                    load.wait_for(len(load.done) + 1, started_after=0.0)
        assert spans.wait_for(lambda all_spans: any(map(is_of_a_change, all_spans)), 30)
    assert all(first == second for first, second in steps), steps
    firsts = [first for first, _ in steps]
    assert firsts == sorted(set(firsts)), "requests ran, so every change came at a later step"
    assert {each.answer.token_ids for each in load.done} <= set(expected)
    assert min(each.answer.verified_per_step for each in load.done) < 8
