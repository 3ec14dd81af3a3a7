"""What dsparkctl prints, and how it reads its command line."""

import json

import pytest
import yaml

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark_control.ctl.errors import CtlError
from dspark_control.ctl.loading import parse_selector
from dspark_control.ctl.main import hoist
from dspark_control.ctl.output import Format, print_document, print_table, short_digest
from dspark_control.ctl.plain import to_plain
from dspark_control.ctl.rows import WORKER_COLUMNS, worker_line, worker_row, worker_state

DIGEST = "sha256:" + "ab" * 32


def test_plain_values_keep_their_types() -> None:
    artifact = artifacts_pb2.Artifact(
        digest=DIGEST,
        kind=artifacts_pb2.ARTIFACT_KIND_POLICY,
        revision=2**53,
        policy=artifacts_pb2.SchedulingPolicy(mode=2, search=1, survival_floor=0.5),
    )
    artifact.created_at.FromMilliseconds(1_500)
    plain = to_plain(artifact)
    assert plain["kind"] == "policy"
    assert plain["revision"] == 2**53
    assert plain["created_at"] == "1970-01-01T00:00:01.500Z"
    assert plain["policy"]["mode"] == "verify_all"
    assert plain["policy"]["search"] == "global"
    assert plain["policy"]["survival_floor"] == 0.5
    assert "sts" not in plain
    assert json.loads(json.dumps(plain)) == plain


def test_maps_lists_and_details() -> None:
    entry = admin_pb2.HistoryEntry(detail_json='{"before":null}')
    assert to_plain(entry)["detail"] == {"before": None}
    worker = admin_pb2.Worker(labels={"b": "2", "a": "1"})
    worker.last_ack.CopyFrom(
        worker_pb2.SnapshotAck(result=1, ranks=[worker_pb2.RankApplied(tp_rank=1, step=9)])
    )
    plain = to_plain(worker)
    assert list(plain["labels"]) == ["a", "b"]
    assert plain["last_ack"]["result"] == "applied"
    assert plain["last_ack"]["ranks"] == [{"tp_rank": 1, "step": 9}]
    assert to_plain(worker_pb2.SnapshotAck(reason=99))["reason"] == "99"


def test_json_and_yaml_hold_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"a": [1, 2.5], "b": {"c": "sha256:0"}}
    print_document(document, Format.JSON)
    assert json.loads(capsys.readouterr().out) == document
    print_document(document, Format.YAML)
    assert yaml.safe_load(capsys.readouterr().out) == document


def test_tables_show_everything_and_no_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("A", "B"), [("x" * 100, "[bold]y\x1b[31m\n")])
    out = capsys.readouterr().out
    assert "x" * 100 in out
    assert "[bold]y" in out
    assert "\x1b" not in out


def test_short_digests_are_refs() -> None:
    assert short_digest(DIGEST) == "sha256:" + "ab" * 6
    assert short_digest("") == "-"


@pytest.mark.parametrize(
    ("worker", "state"),
    [
        (admin_pb2.Worker(connected=False), "gone"),
        (admin_pb2.Worker(connected=True), "pending"),
        (admin_pb2.Worker(connected=True, desired_revision=2, applied_revision=1), "pending"),
        (admin_pb2.Worker(connected=True, desired_revision=2, applied_revision=2), "in sync"),
        (
            admin_pb2.Worker(connected=True, last_ack=worker_pb2.SnapshotAck(result=1)),
            "in sync",
        ),
        (
            admin_pb2.Worker(
                connected=True,
                sent_revision=4,
                last_ack=worker_pb2.SnapshotAck(revision=4, result=2, message="gamma"),
            ),
            "rejected 4: gamma",
        ),
    ],
)
def test_worker_states(worker: admin_pb2.Worker, state: str) -> None:
    assert worker_state(worker) == state
    assert len(worker_row(worker)) == len(WORKER_COLUMNS)
    assert worker_line(worker).endswith(state)


def test_top_level_options_may_stand_anywhere() -> None:
    assert hoist(["get", "sts", "-o", "json", "x"]) == ["-o", "json", "get", "sts", "x"]
    assert hoist(["history", "--server=h:1"]) == ["--server=h:1", "history"]
    assert hoist(["get", "--", "-o"]) == ["get", "--", "-o"]
    assert hoist(["history", "-o"]) == ["-o", "history"]


def test_selectors() -> None:
    assert parse_selector(["a=b", "c=d=e", "f="]) == {"a": "b", "c": "d=e", "f": ""}
    for bad in (["a"], ["=b"], ["a=1", "a=2"]):
        with pytest.raises(CtlError):
            parse_selector(bad)
