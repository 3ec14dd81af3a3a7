"""The API's messages against the core: enums, absent parts, unknown fields."""

import pytest

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark_control.codec import (
    has_unknown_fields,
    kind_from_proto,
    policy_from_proto,
    policy_to_proto,
    reject_reason_to_proto,
    rejection_to_proto,
    set_content,
    snapshot_from_proto,
    snapshot_to_proto,
    sps_from_proto,
)
from dspark_control.core import (
    VERIFY_ALL,
    ArtifactKind,
    BudgetMode,
    BudgetSearch,
    Content,
    Rejection,
    RejectReason,
    SchedulingPolicy,
    Snapshot,
    SpsStepTable,
    StsTable,
    kind_of,
)

UNKNOWN = b"\xa2\x3f\x03abc"  # field 1012, three bytes


@pytest.mark.parametrize("mode", list(BudgetMode))
@pytest.mark.parametrize("search", list(BudgetSearch))
def test_every_enum_value_travels(mode: BudgetMode, search: BudgetSearch) -> None:
    policy = SchedulingPolicy(mode=mode, search=search)
    assert policy_from_proto(policy_to_proto(policy)) == policy


def test_core_enums_mirror_the_api() -> None:
    for wrapper, kind in (
        (artifacts_pb2.BudgetMode, BudgetMode),
        (artifacts_pb2.BudgetSearch, BudgetSearch),
        (artifacts_pb2.ArtifactKind, ArtifactKind),
        (worker_pb2.RejectReason, RejectReason),
    ):
        assert len(wrapper.values()) == len(kind) + 1
    reasons = [reject_reason_to_proto(reason) for reason in RejectReason]
    assert sorted(reasons) == worker_pb2.RejectReason.values()[1:]


@pytest.mark.parametrize(("value", "text"), [(0, "not set"), (77, "77")])
def test_unset_and_unknown_enums_are_refused(value: int, text: str) -> None:
    with pytest.raises(ValueError, match=f"mode is {text}.*must be one of scheduled"):
        policy_from_proto(artifacts_pb2.SchedulingPolicy(mode=value, search=1))
    with pytest.raises(ValueError, match=f"search is {text}"):
        policy_from_proto(artifacts_pb2.SchedulingPolicy(mode=1, search=value))
    with pytest.raises(ValueError, match=f"kind is {text}"):
        kind_from_proto(value)


def test_a_snapshot_needs_a_policy_and_a_table_its_form() -> None:
    with pytest.raises(ValueError, match=r"snapshot\.policy is not set"):
        snapshot_from_proto(worker_pb2.Snapshot(revision=1))
    with pytest.raises(ValueError, match=r"sps\.form is not set"):
        sps_from_proto(artifacts_pb2.SpsTable())


@pytest.mark.parametrize(
    ("content", "held"),
    [
        (VERIFY_ALL, "policy"),
        (StsTable((1.5,)), "sts"),
        (SpsStepTable((1,), (1.0,), 1), "sps"),
    ],
)
def test_the_kind_of_an_artifact_is_that_of_its_content(content: Content, held: str) -> None:
    message = artifacts_pb2.Artifact()
    set_content(message, content)
    assert message.WhichOneof("content") == held
    assert kind_from_proto(message.kind) is kind_of(content)


def test_absent_tables_stay_absent() -> None:
    message = snapshot_to_proto(Snapshot(1, VERIFY_ALL))
    assert not message.HasField("sts")
    assert not message.HasField("sts_measured_on")
    assert snapshot_from_proto(message) == Snapshot(1, VERIFY_ALL)


def test_a_rejection_travels_as_an_ack() -> None:
    rejection = Rejection(RejectReason.GAMMA_MISMATCH, "why", ("sts.temperatures",))
    ack = rejection_to_proto(rejection, nonce="n", revision=7)
    assert (ack.nonce, ack.revision, ack.result) == ("n", 7, worker_pb2.ACK_RESULT_REJECTED)
    assert (ack.reason, ack.message) == (worker_pb2.REJECT_REASON_GAMMA_MISMATCH, "why")
    assert list(ack.fields) == ["sts.temperatures"]


def test_unknown_fields_are_found_at_any_depth() -> None:
    table = SpsStepTable((1,), (1.0,), 1)
    update = worker_pb2.SnapshotUpdate(
        nonce="n", snapshot=snapshot_to_proto(Snapshot(1, VERIFY_ALL, sps=table))
    )
    assert not has_unknown_fields(update)
    deep = worker_pb2.SnapshotUpdate()
    deep.CopyFrom(update)
    deep.snapshot.sps.step.MergeFromString(UNKNOWN)
    assert has_unknown_fields(deep)
    top = worker_pb2.SnapshotUpdate()
    top.CopyFrom(update)
    top.MergeFromString(UNKNOWN)
    assert has_unknown_fields(top)
    listed = admin_pb2.ListBindingsResponse(bindings=[admin_pb2.Binding(selector={"a": "b"})])
    assert not has_unknown_fields(listed)
    listed.bindings[0].MergeFromString(UNKNOWN)
    assert has_unknown_fields(listed)
