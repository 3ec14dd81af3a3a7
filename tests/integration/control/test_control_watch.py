"""Watch over real sockets: hello, update, answers, quarantine, coalescing, heartbeats, ends."""

import asyncio
import time
from pathlib import Path

import grpc
import pytest
from control_helpers import (
    SECONDS,
    Service,
    WatchClient,
    connected,
    context,
    hello,
    running,
    service_here,
    until,
    worker,
)

from dspark.control.v1 import admin_pb2, worker_pb2
from dspark.control.v1.worker_pb2_grpc import WorkerServiceStub
from dspark_control.client import channel_options
from dspark_control.codec import snapshot_from_proto
from dspark_control.core import (
    VERIFY_ALL,
    DeploymentIdentity,
    SchedulingPolicy,
    Snapshot,
    SpsStepTable,
    StsTable,
)

STEEP = SchedulingPolicy(min_predicted_gain=0.5)
FLAT = SchedulingPolicy(min_predicted_gain=0.1)
STS = StsTable((1.0,) * 7)
SPS = SpsStepTable((1, 8), (10.0, 5.0), 64)


def test_without_a_binding_a_worker_verifies_everything(service: Service) -> None:
    with worker(service, hello()) as client:
        update = client.apply()
        assert snapshot_from_proto(update.snapshot) == Snapshot(0, VERIFY_ALL)
        client.assert_quiet()
        known = until(lambda: _applied(service, "w1"))
        assert (known.binding, known.desired_revision, known.applied_revision) == ("", 0, 0)


def test_a_write_reaches_the_workers_that_it_concerns_and_only_those(service: Service) -> None:
    service.put("steep", STEEP)
    service.put("sts", STS, DeploymentIdentity(gpu="H200"))
    service.put("sps", SPS)
    with (
        worker(service, hello("in", labels={"pool": "a"})) as inside,
        worker(service, hello("out", labels={"pool": "b"})) as outside,
    ):
        inside.apply()
        outside.apply()
        written = time.monotonic()
        revision = service.bind("b", "steep", "sts", "sps", pool="a")
        update = inside.apply()
        assert time.monotonic() - written < 5
        snapshot = snapshot_from_proto(update.snapshot)
        assert (snapshot.revision, snapshot.binding) == (revision, "b")
        assert (snapshot.policy, snapshot.sts, snapshot.sps) == (STEEP, STS, SPS)
        assert snapshot.sts_measured_on == DeploymentIdentity(gpu="H200")
        assert snapshot.sps_measured_on is None
        outside.assert_quiet()
        state = until(lambda: _applied(service, "in", revision))
        assert (state.desired_revision, state.sent_revision) == (revision, revision)
        assert state.last_ack.ranks[0].step == 1
        assert service.worker("out").desired_revision == 0


def test_deleting_a_binding_falls_back(service: Service) -> None:
    service.put("steep", STEEP)
    service.bind("default", "steep")
    with worker(service, hello()) as client:
        assert client.apply().snapshot.revision == 2
        request = admin_pb2.DeleteBindingRequest(context=context(), name="default")
        assert service.admin.DeleteBinding(request, timeout=SECONDS).revision == 3
        update = client.apply()
        assert snapshot_from_proto(update.snapshot) == Snapshot(3, VERIFY_ALL)


def test_a_reconnecting_worker_gets_only_what_it_missed(service: Service) -> None:
    service.put("steep", STEEP)
    service.put("flat", FLAT)
    service.bind("default", "steep")
    with worker(service, hello()) as client:
        snapshot = client.apply().snapshot
    until(lambda: not service.worker("w1").connected)
    with worker(service, hello(**running(snapshot))) as client:
        client.assert_quiet()
    service.bind("default", "flat")
    with worker(service, hello(**running(snapshot))) as client:
        assert snapshot_from_proto(client.apply().snapshot).policy == FLAT


def test_a_restarted_service_sends_nothing_to_a_current_worker(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'x.db'}"
    with service_here(database) as service:
        service.put("steep", STEEP)
        service.bind("default", "steep")
        service.bind("default", "steep")  # a revision that changes nothing
        with worker(service, hello()) as client:
            snapshot = client.apply().snapshot
            assert snapshot.revision == 2
    with service_here(database) as service, worker(service, hello(**running(snapshot))) as client:
        client.assert_quiet()
        assert service.worker("w1").desired_revision == 2


def test_updates_coalesce_behind_a_pending_one(service: Service) -> None:
    for number in range(6):
        service.put(f"p{number}", SchedulingPolicy(min_predicted_gain=float(number)))
    with worker(service, hello()) as client:
        first = client.update()
        for number in range(6):
            last = service.bind("default", f"p{number}")
        client.assert_quiet()
        client.apply(first)
        update = client.apply()
        assert update.snapshot.revision == last
        client.assert_quiet()


def test_a_rejected_snapshot_is_quarantined(service: Service) -> None:
    service.put("steep", STEEP)
    service.put("flat", FLAT)
    service.bind("default", "steep")
    with worker(service, hello()) as client:
        client.reject(client.update())
        client.assert_quiet()
        service.bind("default", "steep")  # the same again
        client.assert_quiet()
        state = service.worker("w1")
        assert state.last_ack.message == "test says no"
        assert (state.sent_revision, state.applied_revision) == (3, 0)
    with worker(service, hello()) as client:  # the same process reconnects
        client.assert_quiet()
        service.bind("default", "flat")
        assert snapshot_from_proto(client.apply().snapshot).policy == FLAT
    service.bind("default", "steep")
    with worker(service, hello()) as client:
        client.reject(client.update())
    with worker(service, hello(incarnation="two")) as client:  # a new process may do better
        assert snapshot_from_proto(client.apply().snapshot).policy == STEEP


def test_heartbeats_flow_when_idle(service: Service) -> None:
    service.put("steep", STEEP)
    with worker(service, hello()) as client:
        client.apply()
        for _ in range(3):
            beat = client.next().heartbeat
            assert beat.revision == 1
            assert abs(beat.now.ToSeconds() - time.time()) < 60
        before = service.worker("w1").last_seen.ToNanoseconds()
        client.send(heartbeat=worker_pb2.WorkerHeartbeat(applied_revision=42))
        state = until(lambda: _reported(service, 42))
        assert state.last_seen.ToNanoseconds() > before


def test_a_second_stream_takes_over(service: Service) -> None:
    with worker(service, hello()) as first:
        first.apply()
        with worker(service, hello(incarnation="two")) as second:
            code, message = first.end()
            assert code is grpc.StatusCode.ABORTED
            assert "w1" in message
            second.apply()
            first.close()
            second.assert_quiet()
            assert service.worker("w1").connected
            service.put("steep", STEEP)
            service.bind("default", "steep")
            assert second.apply().snapshot.revision == 2


def test_streams_end_when_either_side_ends_them(tmp_path: Path) -> None:
    with service_here(f"sqlite:///{tmp_path / 'x.db'}") as service:
        polite = WatchClient(service, hello("polite"))
        polite.apply()
        polite.send_nothing_more()
        assert polite.end() == (grpc.StatusCode.OK, "")
        until(lambda: not service.worker("polite").connected)
        client = WatchClient(service, hello())
        client.apply()
    code, message = client.end()
    assert code is grpc.StatusCode.UNAVAILABLE
    assert "stopping" in message


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ({"heartbeat": worker_pb2.WorkerHeartbeat()}, "first message must be a hello"),
        ({}, "first message must be a hello"),
        ({"hello": hello("")}, "worker_id"),
        ({"hello": hello("a\nb")}, "worker_id"),
        ({"hello": hello(incarnation="")}, "incarnation"),
        ({"hello": hello(gamma=65)}, "gamma is 65"),
        ({"hello": hello(labels={"a b": "c"})}, "labels"),
    ],
)
def test_bad_first_messages(service: Service, first: dict[str, object], expected: str) -> None:
    client = WatchClient(service, None)
    client.send(**first)
    code, message = client.end()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert expected in message
    client.close()
    assert list(service.admin.ListWorkers(admin_pb2.ListWorkersRequest()).workers) == []


@pytest.mark.parametrize(
    "second", [{"hello": hello()}, {}, {"ack": worker_pb2.SnapshotAck(nonce="x")}]
)
def test_bad_later_messages_end_the_stream(service: Service, second: dict[str, object]) -> None:
    with worker(service, hello()) as client:
        client.update()
        client.send(**second)
        assert client.end()[0] is grpc.StatusCode.INVALID_ARGUMENT
    until(lambda: not service.worker("w1").connected)


def test_an_answer_to_no_update_changes_nothing(service: Service) -> None:
    with worker(service, hello()) as client:
        update = client.update()
        client.send(
            ack=worker_pb2.SnapshotAck(
                nonce="other", revision=9, result=worker_pb2.ACK_RESULT_APPLIED
            )
        )
        client.assert_quiet()
        assert not service.worker("w1").HasField("last_ack")
        client.apply(update)
        until(lambda: _applied(service, "w1"))


def test_a_write_by_another_service_on_the_same_database_is_noticed(database: str) -> None:
    with (
        service_here(database) as one,
        service_here(database) as other,
        worker(one, hello()) as client,
    ):
        client.apply()
        other.put("steep", STEEP)
        revision = other.bind("default", "steep")
        assert client.apply().snapshot.revision == revision


def test_a_few_hundred_streams_each_get_every_change(service: Service) -> None:
    for number in range(3):
        service.put(f"p{number}", SchedulingPolicy(min_predicted_gain=float(number)))
    service.bind("default", "p0")
    seen = asyncio.run(_follow(service, streams=300, changes=("p1", "p2")))
    assert len(seen) == 300
    assert {revisions[-1] for revisions in seen} == {6}
    listed = service.admin.ListWorkers(admin_pb2.ListWorkersRequest(), timeout=SECONDS).workers
    assert len(listed) == 300
    assert {w.applied_revision for w in listed} == {6}


async def _follow(service: Service, streams: int, changes: tuple[str, ...]) -> list[list[int]]:
    """Hold `streams` streams while `changes` are bound; the revisions that each applied."""
    channels = [grpc.aio.insecure_channel(service.target, channel_options()) for _ in range(6)]
    first = [asyncio.Event() for _ in range(streams)]

    async def one(index: int) -> list[int]:
        call = WorkerServiceStub(channels[index % len(channels)]).Watch()
        await call.write(worker_pb2.WatchRequest(hello=hello(f"w{index}")))
        applied: list[int] = []
        async for answer in call:
            if answer.WhichOneof("message") != "update":
                continue
            revision = answer.update.snapshot.revision
            ack = worker_pb2.SnapshotAck(
                nonce=answer.update.nonce, revision=revision, result=worker_pb2.ACK_RESULT_APPLIED
            )
            await call.write(worker_pb2.WatchRequest(ack=ack))
            applied.append(revision)
            first[index].set()
            if revision == 4 + len(changes):
                break
        await call.done_writing()
        async for _ in call:  # the service ends the stream once it has read everything
            pass
        return applied

    followers = [asyncio.create_task(one(index)) for index in range(streams)]
    await asyncio.gather(*(event.wait() for event in first))
    for change in changes:
        await asyncio.to_thread(service.bind, "default", change)
    seen = await asyncio.wait_for(asyncio.gather(*followers), 60)
    for channel in channels:
        await channel.close()
    return seen


def test_a_slow_reader_does_not_hold_up_the_others(service: Service) -> None:
    probes = tuple(range(1, 60_001))
    service.put("p", STEEP)
    for number in range(4):
        table = SpsStepTable(probes, (1.0 + number,) * len(probes), 60_000)
        service.put(f"big{number}", table)
    with connected(service.target, 0) as other:
        stuck = WorkerServiceStub(other.channel).Watch(iter([_first_message("stuck")]))
        with worker(service, hello()) as client:
            client.apply()
            for number in range(4):
                revision = service.bind("default", "p", sps=f"big{number}")
                assert client.apply().snapshot.revision == revision
        stuck.cancel()


def _first_message(worker_id: str) -> worker_pb2.WatchRequest:
    return worker_pb2.WatchRequest(hello=hello(worker_id))


def _applied(service: Service, worker_id: str, revision: int = 0) -> admin_pb2.Worker | None:
    state = service.worker(worker_id)
    is_applied = state.last_ack.result == worker_pb2.ACK_RESULT_APPLIED
    return state if is_applied and state.applied_revision == revision else None


def _reported(service: Service, revision: int, worker_id: str = "w1") -> admin_pb2.Worker | None:
    state = service.worker(worker_id)
    return state if state.applied_revision == revision else None
