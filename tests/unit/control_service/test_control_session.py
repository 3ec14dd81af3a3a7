"""The rules of sending: one pending, nothing twice, rejected means quarantined."""

import pytest

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.core import Binding, SnapshotDigests
from dspark_control.service.desired import BindingHistory, Desired
from dspark_control.service.session import (
    ACK_TIMEOUT_SECONDS,
    RETRY_SECONDS,
    WorkerState,
    new_worker,
)
from dspark_control.store import BindingChange, Changes

A = Desired("default", SnapshotDigests("a", "s", ""), 3)
B = Desired("default", SnapshotDigests("b", "s", ""), 5)
C = Desired("default", SnapshotDigests("c", "s", ""), 6)
NOTHING = Desired("", SnapshotDigests(), 0)


def connect(desired: Desired = A, **applied: object) -> WorkerState:
    return new_worker(pb.WorkerHello(worker_id="w", incarnation="1", **applied), desired)


def running(desired: Desired) -> dict[str, object]:
    return {
        "applied_revision": desired.revision,
        "applied_policy_digest": desired.digests.policy,
        "applied_sts_digest": desired.digests.sts,
        "applied_sps_digest": desired.digests.sps,
    }


def answer(worker: WorkerState, result: int = pb.ACK_RESULT_APPLIED) -> bool:
    assert worker.pending is not None
    nonce, revision = worker.pending.nonce, worker.pending.desired.revision
    return worker.acknowledge(
        pb.SnapshotAck(nonce=nonce, revision=revision, result=result), now=0.0
    )


def test_a_new_worker_gets_its_snapshot_even_verify_all() -> None:
    assert connect(A).next_update(0.0) == A
    assert connect(NOTHING).next_update(0.0) == NOTHING


def test_a_failure_to_apply_is_tried_again_later() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    failed = pb.SnapshotAck(
        nonce="n", result=pb.ACK_RESULT_REJECTED, reason=pb.REJECT_REASON_APPLY_FAILED
    )
    assert worker.acknowledge(failed, now=100.0)
    assert worker.next_update(100.0 + RETRY_SECONDS / 2) is None
    assert worker.next_update(100.0 + RETRY_SECONDS) == A
    worker.want(B)
    assert worker.next_update(100.0) == B


def test_a_worker_that_runs_it_gets_nothing() -> None:
    assert connect(A, **running(A)).next_update(0.0) is None
    assert connect(B, **running(A)).next_update(0.0) == B
    again = A._replace(revision=9)  # same contents, later state: its revision must be told
    assert connect(again, **running(A)).next_update(0.0) == again


def test_an_applied_update_is_not_sent_again() -> None:
    for desired in (A, NOTHING):
        worker = connect(desired)
        worker.mark_sent("n", desired, 0.0)
        assert worker.next_update(0.0) is None
        assert answer(worker)
        assert worker.next_update(0.0) is None
        assert worker.reported_revision == desired.revision


def test_newer_updates_coalesce_behind_the_pending_one() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    worker.want(B)
    worker.want(C)
    assert worker.next_update(1.0) is None
    assert answer(worker)
    assert worker.next_update(1.0) == C


def test_a_late_ack_does_not_block_a_newer_update_for_ever() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    assert worker.next_update(ACK_TIMEOUT_SECONDS) is None
    worker.want(B)
    assert worker.next_update(ACK_TIMEOUT_SECONDS - 1) is None
    assert worker.next_update(ACK_TIMEOUT_SECONDS) == B
    worker.mark_sent("m", B, ACK_TIMEOUT_SECONDS)
    assert not worker.acknowledge(pb.SnapshotAck(nonce="n", result=pb.ACK_RESULT_APPLIED), now=0.0)
    assert worker.pending is not None


def test_a_rejected_snapshot_is_quarantined_until_others_are_desired() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    assert answer(worker, pb.ACK_RESULT_REJECTED)
    assert worker.next_update(1.0) is None
    worker.want(A._replace(revision=8))  # written again, same contents
    assert worker.next_update(1.0) is None
    worker.want(B)
    assert worker.next_update(1.0) == B
    worker.want(A)
    assert worker.next_update(1.0) == A


def test_rejecting_what_is_no_longer_desired_does_not_quarantine_the_new() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    worker.want(B)
    assert answer(worker, pb.ACK_RESULT_REJECTED)
    assert worker.next_update(0.0) == B


def test_quarantine_ends_with_the_incarnation() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    answer(worker, pb.ACK_RESULT_REJECTED)
    worker.greet(pb.WorkerHello(worker_id="w", incarnation="1"), A)
    assert worker.next_update(0.0) is None
    worker.greet(pb.WorkerHello(worker_id="w", incarnation="2"), A)
    assert worker.next_update(0.0) == A


def test_a_reconnect_forgets_what_was_pending() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    worker.greet(pb.WorkerHello(worker_id="w", incarnation="1"), A)
    assert worker.next_update(0.0) == A


def test_an_ack_without_a_result_breaks_the_protocol() -> None:
    worker = connect(A)
    worker.mark_sent("n", A, 0.0)
    with pytest.raises(ValueError, match="must be APPLIED or REJECTED"):
        worker.acknowledge(pb.SnapshotAck(nonce="n"), now=0.0)


def binding(name: str, policy: str, **selector: str) -> Binding:
    return Binding(name, selector, policy)


def history(*changes: tuple[int, str, Binding | None, Binding | None]) -> BindingHistory:
    made = BindingHistory()
    made.extend(Changes(100, tuple(BindingChange(*change) for change in changes)))
    return made


def test_a_revision_is_that_of_the_last_change_that_matters() -> None:
    default, gpu = binding("default", "p1"), binding("gpu", "p2", gpu="h200")
    made = history((2, "default", None, default), (5, "gpu", None, gpu))
    assert made.serving({}) == Desired("default", SnapshotDigests("p1"), 2)
    assert made.serving({"gpu": "h200"}) == Desired("gpu", SnapshotDigests("p2"), 5)
    made.extend(Changes(101, (BindingChange(101, "gpu", gpu, None),)))
    assert made.serving({"gpu": "h200"}) == Desired("default", SnapshotDigests("p1"), 101)
    assert made.serving({}) == Desired("default", SnapshotDigests("p1"), 2)


def test_rewriting_the_same_content_changes_no_revision() -> None:
    first = binding("default", "p1")
    made = history((2, "default", None, first), (7, "default", first, binding("default", "p1")))
    assert made.serving({}).revision == 2


def test_going_back_is_a_change() -> None:
    one, two = binding("default", "p1"), binding("default", "p2")
    made = history((1, "default", None, one), (2, "default", one, two), (3, "default", two, one))
    assert made.serving({}) == Desired("default", SnapshotDigests("p1"), 3)


def test_without_bindings_nothing_was_ever_changed() -> None:
    assert history().serving({"a": "b"}) == NOTHING
    gone = binding("x", "p")
    made = history((1, "x", None, gone), (2, "x", gone, None))
    assert made.serving({}) == Desired("", SnapshotDigests(), 2)
