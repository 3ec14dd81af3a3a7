"""What the agent decides about each snapshot, before and after the engine has seen it."""

import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.codec import snapshot_to_proto
from dspark_control.core import (
    BudgetMode,
    Capabilities,
    DeploymentIdentity,
    SchedulingPolicy,
    Snapshot,
    SpsStepTable,
    StsTable,
    default_snapshot,
)
from dspark_sglang.agent import AgentState, Mailbox, Outcome, Source
from dspark_sglang.agent.board import StatusBoard
from dspark_sglang.agent.cache import SnapshotCache
from dspark_sglang.agent.deliveries import Deliveries
from dspark_sglang.agent.updates import Updates
from dspark_sglang.agent.worker import Worker

IDENTITY = DeploymentIdentity(gamma=7, gpu="cpu", tp_size=2, dtype="float32")
CAPABLE = Capabilities(ragged_verify=True, confidence_head=True, version="1.2.3")
GOOD = Snapshot(
    revision=5,
    policy=SchedulingPolicy(),
    sts=StsTable((1.5,) * 7),
    sps=SpsStepTable((8, 16), (100.0, 80.0), 16),
    binding="all",
    policy_digest="sha256:p",
    sts_digest="sha256:t",
    sps_digest="sha256:s",
    sts_measured_on=IDENTITY,
)


class Parts(NamedTuple):
    updates: Updates
    mailbox: Mailbox
    board: StatusBoard
    cache: SnapshotCache


def build(tmp_path: Path, capabilities: Capabilities = CAPABLE, gamma: int = 7) -> Parts:
    mailbox = Mailbox()
    mailbox.take()
    board = StatusBoard("w", Source.DEFAULT, AgentState.STALE)
    cache = SnapshotCache(tmp_path, "w")
    worker = Worker("w", replace(IDENTITY, gamma=gamma), capabilities, {"pool": "chat"})
    return Parts(Updates(worker, Deliveries(mailbox, 30.0), cache, board), mailbox, board, cache)


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    return build(tmp_path)


def message(snapshot: Snapshot = GOOD, nonce: str = "n1") -> pb.SnapshotUpdate:
    return pb.SnapshotUpdate(nonce=nonce, snapshot=snapshot_to_proto(snapshot))


def apply(parts: Parts, steps: tuple[int, ...] = (9, 9)) -> list:
    update = parts.mailbox.take()
    assert update is not None
    return parts.updates.settle(Outcome(update.nonce, True, "", steps))


def test_a_good_snapshot_reaches_the_engine_as_it_was_sent(parts):
    assert parts.updates.receive(message(), 1) == []
    assert parts.mailbox.take().snapshot == GOOD


def test_the_answer_names_each_rank_and_its_step(parts):
    parts.updates.receive(message(), 1)
    ((stream, ack),) = apply(parts)
    assert stream == 1
    assert (ack.nonce, ack.revision, ack.result) == ("n1", 5, pb.ACK_RESULT_APPLIED)
    assert [(rank.tp_rank, rank.step) for rank in ack.ranks] == [(0, 9), (1, 9)]
    assert parts.board.status.digests == GOOD.digests
    assert parts.board.status.source is Source.SERVICE


def test_it_is_kept_on_disk_only_once_it_runs(parts):
    parts.updates.receive(message(), 1)
    assert parts.cache.load() is None
    apply(parts)
    assert pb.Snapshot.FromString(parts.cache.load()) == snapshot_to_proto(GOOD)


def test_a_full_disk_does_not_change_the_answer(parts, caplog, monkeypatch):
    def full(_: bytes) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(parts.cache, "save", full)
    parts.updates.receive(message(), 1)
    ((_, ack),) = apply(parts)
    assert ack.result == pb.ACK_RESULT_APPLIED
    assert "No space left" in caplog.text


def test_a_failure_in_the_engine_is_answered_and_not_kept(parts):
    parts.updates.receive(message(), 1)
    parts.mailbox.take()
    ((_, ack),) = parts.updates.settle(Outcome("n1", False, "copy failed", ()))
    assert (ack.result, ack.reason) == (pb.ACK_RESULT_REJECTED, pb.REJECT_REASON_APPLY_FAILED)
    assert ack.message == "copy failed"
    assert parts.board.status.state is AgentState.ERROR
    assert parts.cache.load() is None


def unknown_field() -> pb.SnapshotUpdate:
    raw = message().SerializeToString() + b"\xfa\x01\x01x"  # field 31
    return pb.SnapshotUpdate.FromString(raw)


def unknown_field_within() -> pb.SnapshotUpdate:
    update = message()
    raw = update.snapshot.policy.SerializeToString() + b"\x48\x01"  # field 9, reserved
    update.snapshot.policy.ParseFromString(raw)
    return update


def without_policy() -> pb.SnapshotUpdate:
    update = message()
    update.snapshot.ClearField("policy")
    return update


def without_form() -> pb.SnapshotUpdate:
    update = message()
    update.snapshot.sps.ClearField("form")
    return update


def unknown_mode() -> pb.SnapshotUpdate:
    update = message()
    update.snapshot.policy.mode = 99
    return update


MALFORMED = pb.REJECT_REASON_MALFORMED
INVALID = pb.REJECT_REASON_INVALID_VALUE


@pytest.mark.parametrize(
    ("update", "reason", "words"),
    [
        (unknown_field(), MALFORMED, "update the worker"),
        (unknown_field_within(), MALFORMED, "update the worker"),
        (without_policy(), MALFORMED, "policy"),
        (without_form(), MALFORMED, "form"),
        (unknown_mode(), MALFORMED, "99"),
        (pb.SnapshotUpdate(nonce="n1"), MALFORMED, "policy"),
        (message(nonce=""), MALFORMED, "nonce"),
        (message(replace(GOOD, sts=StsTable((1.0,) * 5))), pb.REJECT_REASON_GAMMA_MISMATCH, "7"),
        (message(replace(GOOD, sts=StsTable((float("nan"),) * 7))), INVALID, "temperatures"),
        (message(replace(GOOD, sps=SpsStepTable((16, 8), (1.0, 1.0), 16))), INVALID, "increasing"),
        (message(replace(GOOD, sps=SpsStepTable((8,), (-1.0,), 16))), INVALID, "-1.0"),
        (
            message(replace(GOOD, sps_measured_on=replace(IDENTITY, gpu="H200"))),
            pb.REJECT_REASON_IDENTITY_MISMATCH,
            "H200",
        ),
    ],
)
def test_what_cannot_run_is_refused_and_disturbs_nothing(parts, update, reason, words):
    parts.updates.receive(message(replace(GOOD, revision=4), "n0"), 1)
    apply(parts)
    before = (parts.board.status.applied_revision, parts.cache.load())
    ((stream, ack),) = parts.updates.receive(update, 2)
    assert (stream, ack.nonce, ack.revision) == (2, update.nonce, update.snapshot.revision)
    assert (ack.result, ack.reason) == (pb.ACK_RESULT_REJECTED, reason)
    assert words in ack.message
    assert ack.fields
    assert parts.mailbox.take() is None
    assert (parts.board.status.applied_revision, parts.cache.load()) == before
    assert parts.board.status.state is AgentState.ERROR


def test_a_static_worker_takes_no_policy_that_trims_but_always_the_kill_switch(tmp_path):
    parts = build(tmp_path, replace(CAPABLE, ragged_verify=False))
    ((_, ack),) = parts.updates.receive(message(), 1)
    assert ack.reason == pb.REJECT_REASON_UNSUPPORTED
    assert parts.updates.receive(message(default_snapshot(6), "n2"), 1) == []
    ((_, ack),) = apply(parts)
    assert ack.result == pb.ACK_RESULT_APPLIED


def test_a_superseded_update_is_answered_without_an_error(parts):
    parts.updates.receive(message(), 1)
    ((_, ack),) = parts.updates.receive(message(replace(GOOD, revision=6), "n2"), 1)
    assert (ack.nonce, ack.revision, ack.result) == ("n1", 5, pb.ACK_RESULT_REJECTED)
    assert "superseded by revision 6" in ack.message
    assert parts.board.status.state is not AgentState.ERROR
    ((_, ack),) = apply(parts)
    assert (ack.nonce, ack.result) == ("n2", pb.ACK_RESULT_APPLIED)


def test_the_same_update_again_is_answered_once_where_it_was_asked_last(parts):
    parts.updates.receive(message(), 1)
    assert parts.updates.receive(message(), 2) == []
    assert [answer.stream for answer in apply(parts)] == [2]


def test_an_update_applied_too_late_is_known_but_not_answered_twice(parts):
    parts.updates.receive(message(), 1)
    update = parts.mailbox.take()
    ((_, ack),) = parts.updates.expire(float("inf"))
    assert ack.reason == pb.REJECT_REASON_APPLY_FAILED
    assert parts.updates.settle(Outcome(update.nonce, True, "", (9, 9))) == []
    assert parts.board.status.applied_revision == 5
    assert parts.cache.load() is not None


def save(parts: Parts, payload: bytes | None = None) -> None:
    parts.cache.save(snapshot_to_proto(GOOD).SerializeToString() if payload is None else payload)


def test_the_last_known_good_goes_to_the_engine(parts):
    save(parts)
    parts.updates.load_last_known_good()
    assert parts.board.status.source is Source.DEFAULT  # not before it runs
    assert [answer.stream for answer in apply(parts)] == [0]
    assert parts.board.status.source is Source.LAST_KNOWN_GOOD
    assert parts.board.status.applied_revision == 5


def test_nothing_on_disk_is_nothing_to_run(parts):
    parts.updates.load_last_known_good()
    assert parts.mailbox.take() is None


def test_one_that_does_not_fit_this_deployment_is_ignored_but_kept(tmp_path, caplog):
    parts = build(tmp_path, gamma=5)
    save(parts)
    parts.updates.load_last_known_good()
    assert parts.mailbox.take() is None
    assert "gamma" in caplog.text
    assert parts.cache.load() is not None


@pytest.mark.parametrize("payload", [b"\xff\xff\xff", b"", b"\x08\x05"])
def test_one_that_is_no_snapshot_is_put_aside(parts, payload, caplog):
    save(parts, payload)
    parts.updates.load_last_known_good()
    assert parts.mailbox.take() is None
    assert parts.cache.path.with_suffix(".bad").exists()


def test_one_of_a_newer_version_is_ignored_but_kept(parts, caplog):
    save(parts, snapshot_to_proto(GOOD).SerializeToString() + b"\xfa\x01\x01x")
    parts.updates.load_last_known_good()
    assert parts.mailbox.take() is None
    assert "newer version" in caplog.text
    assert parts.cache.load() is not None


def test_an_update_of_the_service_replaces_the_one_from_disk_unanswered(parts):
    save(parts)
    parts.updates.load_last_known_good()
    answers = parts.updates.receive(message(replace(GOOD, revision=6)), 1)
    assert [answer.stream for answer in answers] == [0]  # goes to no stream
    assert parts.mailbox.take().snapshot.revision == 6


def test_what_is_refused_is_logged_once_with_the_reason(parts, caplog):
    with caplog.at_level(logging.INFO):
        parts.updates.receive(message(replace(GOOD, sts=StsTable((1.0,)))), 1)
    refusals = [r for r in caplog.records if "refused" in r.message and r.name.endswith("updates")]
    assert len(refusals) == 1
    assert "gamma_mismatch" in refusals[0].message


def test_a_worker_without_a_scheduling_mode_accepts_verify_all(tmp_path):
    parts = build(tmp_path, replace(CAPABLE, confidence_head=False))
    policy = SchedulingPolicy(mode=BudgetMode.VERIFY_ALL)
    assert parts.updates.receive(message(replace(GOOD, policy=policy)), 1) == []


def test_neither_torch_nor_sglang_is_imported():
    code = (
        "import sys, dspark_sglang.agent, dspark_sglang.settings;"
        "sys.exit(bool({'torch', 'sglang', 'numpy'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert result.returncode == 0
