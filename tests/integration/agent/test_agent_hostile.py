"""What a correct service never does: garbage, silence, floods, endless ends. The agent lives."""

import socket
import time

import grpc
import pytest
from agent_helpers import (
    FakeScheduler,
    HostileService,
    eventually,
    heartbeat,
    snapshot,
    stay_quiet,
    update,
)

from dspark.control.v1 import worker_pb2 as pb
from dspark_sglang.agent import AgentState, Mailbox, Outcome, Source
from dspark_sglang.agent.cache import SnapshotCache

APPLIED, REJECTED = pb.ACK_RESULT_APPLIED, pb.ACK_RESULT_REJECTED


def updates(*responses):
    """A script that sends these and then heartbeats."""

    def script(connection):
        yield from responses
        yield from stay_quiet(connection)

    return script


def test_hello_names_the_worker_and_its_state(start_agent, scheduler):
    with HostileService(stay_quiet) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: agent.status.state is AgentState.READY)
        hello = service.connection().hello
        assert hello.worker_id == "engine:1"
        assert hello.incarnation
        assert hello.identity.gamma == 7
        assert dict(hello.labels) == {"pool": "chat"}
        assert hello.capabilities.ragged_verify
        assert (hello.applied_revision, hello.applied_policy_digest) == (0, "")
        eventually(lambda: service.connection().heartbeats)


def test_an_applied_update_is_answered_and_runs(start_agent, scheduler):
    with HostileService(updates(update(5))) as service:
        agent = start_agent(service.endpoint)
        ack = service.connection().next_ack()
        assert (ack.nonce, ack.revision, ack.result) == ("n5", 5, APPLIED)
        assert [rank.tp_rank for rank in ack.ranks] == [0, 1]
        assert ack.ranks[0].step == ack.ranks[1].step > 0
        assert scheduler.applied == [snapshot(5)]
        eventually(lambda: agent.status.state is AgentState.READY)
        assert agent.status.source is Source.SERVICE
        eventually(lambda: 5 in service.connection().heartbeats)


def test_the_second_hello_names_what_runs(start_agent, scheduler):
    def send_and_end(connection):
        yield update(5)
        connection.next_ack()

    with HostileService(send_and_end, stay_quiet) as service:
        agent = start_agent(service.endpoint)
        hello = service.connection(1).hello
        assert hello.applied_revision == 5
        assert hello.applied_policy_digest == "sha256:policy5"
        assert hello.applied_sts_digest == "sha256:sts5"
        assert hello.applied_sps_digest == "sha256:sps5"
        assert hello.incarnation == service.connection(0).hello.incarnation
        eventually(lambda: agent.status.state is AgentState.READY)
        assert scheduler.applied == [snapshot(5)]


def test_garbage_is_refused_and_the_running_one_stays(start_agent, scheduler):
    unknown = pb.WatchResponse.FromString(update(6).SerializeToString())
    unknown.update.snapshot.ParseFromString(
        unknown.update.snapshot.SerializeToString() + b"\xfa\x01\x01x"
    )
    wrong_gamma = update(7)
    wrong_gamma.update.snapshot.sts.temperatures.pop()
    empty = pb.WatchResponse(update=pb.SnapshotUpdate(nonce="n8"))
    not_a_number = update(9)
    not_a_number.update.snapshot.sps.step.sample_steps_per_sec[0] = float("nan")
    script = updates(update(5), unknown, wrong_gamma, empty, not_a_number, pb.WatchResponse())
    with HostileService(script) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: len(service.connection().acks) == 5)
        acks = {ack.nonce: ack for ack in service.connection().acks}
        assert acks["n5"].result == APPLIED
        reasons = [acks[nonce].reason for nonce in ("n6", "n7", "n8", "n9")]
        assert reasons == [
            pb.REJECT_REASON_MALFORMED,
            pb.REJECT_REASON_GAMMA_MISMATCH,
            pb.REJECT_REASON_MALFORMED,
            pb.REJECT_REASON_INVALID_VALUE,
        ]
        assert scheduler.applied == [snapshot(5)]
        assert agent.status.applied_revision == 5


def test_an_error_ends_with_the_next_good_update(start_agent, scheduler):
    def bad_then_good(connection):
        bad = update(5)
        bad.update.snapshot.sts.temperatures.pop()
        yield bad
        connection.next_ack()
        eventually(lambda: agent.status.state is AgentState.ERROR)
        yield heartbeat()
        yield update(6)
        yield from stay_quiet(connection)

    with HostileService(bad_then_good) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: agent.status.state is AgentState.READY)
        assert agent.status.applied_revision == 6
        assert agent.status.last_error == ""


def test_bytes_that_are_no_message_end_the_stream_and_not_the_agent(start_agent, scheduler):
    def garbage(connection):
        yield b"\xff\xff\xff\xff"

    with HostileService(garbage, garbage, updates(update(5))) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: agent.status.state is AgentState.READY)
        assert len(service.connections) == 3
        assert agent.status.applied_revision == 5


def test_a_message_too_large_ends_the_stream_and_not_the_agent(start_agent, scheduler):
    def oversized(connection):
        yield b"\x00" * (9 << 20)

    with HostileService(oversized, stay_quiet) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: agent.status.state is AgentState.READY)


def test_a_flood_coalesces_and_each_update_is_answered_once(start_agent, scheduler):
    count = 400
    with HostileService(updates(*(update(number) for number in range(1, count + 1)))) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: len(service.connection().acks) == count)
        acks = service.connection().acks
        assert sorted(ack.nonce for ack in acks) == sorted(f"n{n}" for n in range(1, count + 1))
        applied = [ack.revision for ack in acks if ack.result == APPLIED]
        assert applied == [each.revision for each in scheduler.applied]
        assert applied == sorted(applied)
        assert applied[-1] == count
        assert len(applied) < count  # some were superseded
        assert all("superseded" in ack.message for ack in acks if ack.result == REJECTED)
        eventually(lambda: agent.status.state is AgentState.READY)
        assert agent.status.applied_revision == count


def test_silence_is_taken_for_a_dead_stream(start_agent, scheduler):
    def silent(connection):
        yield heartbeat()
        connection.is_over.wait(30)

    with HostileService(silent, stay_quiet) as service:
        agent = start_agent(service.endpoint, heartbeat_seconds=0.2)
        waited = service.connection(1).opened_at - service.connection(0).opened_at
        assert 0.6 <= waited < 10.0
        assert service.connection(0).is_over.wait(5)
        eventually(lambda: agent.status.state is AgentState.READY)


def test_a_service_that_never_says_a_word_is_left_too(start_agent, scheduler):
    def mute(connection):
        connection.is_over.wait(30)
        yield from ()

    with HostileService(mute, stay_quiet) as service:
        agent = start_agent(service.endpoint, heartbeat_seconds=0.2)
        eventually(lambda: agent.status.state is AgentState.READY)


def test_clean_ends_are_backed_off_from(start_agent, scheduler):
    def end_at_once(connection):
        yield heartbeat()

    with HostileService(end_at_once) as service:
        start_agent(service.endpoint, backoff_initial_seconds=0.2, backoff_max_seconds=5.0)
        time.sleep(3.0)
        assert 1 <= len(service.connections) < 40


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.FAILED_PRECONDITION]
)
def test_a_service_that_refuses_the_worker_is_an_error_until_it_does_not(
    start_agent, scheduler, code
):
    def refuse(connection):
        connection.context.abort(code, "this worker is not known here")
        yield from ()

    def refuse_until_seen(connection):
        eventually(lambda: agent.status.state is AgentState.ERROR)
        assert "this worker is not known here" in agent.status.last_error
        yield from refuse(connection)

    with HostileService(refuse, refuse_until_seen, stay_quiet) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: len(service.connections) == 3)
        eventually(lambda: agent.status.state is AgentState.READY)


def test_an_engine_that_fails_to_apply_is_answered_for(start_agent, scheduler):
    scheduler.answer = lambda taken, step: Outcome(taken.nonce, False, "copy failed", ())
    with HostileService(updates(update(5))) as service:
        agent = start_agent(service.endpoint)
        ack = service.connection().next_ack()
        assert (ack.result, ack.reason) == (REJECTED, pb.REJECT_REASON_APPLY_FAILED)
        assert ack.message == "copy failed"
        eventually(lambda: agent.status.state is AgentState.ERROR)
        assert agent.status.applied_revision == 0


def test_an_engine_that_answers_too_late_is_answered_for_and_then_believed(start_agent, scheduler):
    late = []
    scheduler.answer = lambda taken, step: late.append(taken)
    with HostileService(updates(update(5))) as service:
        agent = start_agent(service.endpoint, apply_timeout_seconds=0.3)
        connection = service.connection()
        assert connection.next_ack().reason == pb.REJECT_REASON_APPLY_FAILED
        scheduler.mailbox.report(scheduler.apply(late[0], 3))
        eventually(lambda: 5 in connection.heartbeats)
        assert agent.status.applied_revision == 5
        assert len(connection.acks) == 1


def test_an_engine_that_still_starts_has_all_the_time_it_needs(start_agent):
    starting = Mailbox()
    with HostileService(updates(update(5))) as service:
        start_agent(service.endpoint, starting, apply_timeout_seconds=0.2)
        service.connection()
        time.sleep(0.8)
        assert service.connection().acks == []
        with FakeScheduler(starting):
            assert service.connection().next_ack().result == APPLIED


def test_an_update_is_noted_even_when_its_stream_is_gone(start_agent, scheduler, tmp_path):
    scheduler.is_paused = True
    with HostileService(lambda connection: iter([update(5)]), stay_quiet) as service:
        agent = start_agent(service.endpoint)
        service.connection(1)
        scheduler.is_paused = False
        eventually(lambda: agent.status.applied_revision == 5)
        eventually(lambda: 5 in service.connection(1).heartbeats)
        assert service.connection(1).acks == []  # it never asked
        assert SnapshotCache(tmp_path / "state", "engine:1").load()


def test_start_returns_at_once_and_stop_too_whatever_the_network_does(start_agent):
    with socket.socket() as deaf:  # accepts connections and never speaks
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        before = time.monotonic()
        agent = start_agent(f"127.0.0.1:{deaf.getsockname()[1]}")
        assert time.monotonic() - before < 0.5
        time.sleep(0.3)
        assert agent.status.state is AgentState.STALE
        before = time.monotonic()
        assert agent.stop(5.0)
        assert time.monotonic() - before < 2.0


def test_stop_is_prompt_while_connected_and_while_waiting(start_agent, scheduler):
    with HostileService(stay_quiet) as service:
        connected = start_agent(service.endpoint)
        eventually(lambda: connected.status.state is AgentState.READY)
        before = time.monotonic()
        assert connected.stop(5.0)
        assert time.monotonic() - before < 2.0
        assert service.connection().is_over.wait(5)
    waiting = start_agent("127.0.0.1:1", backoff_initial_seconds=600.0, backoff_max_seconds=600.0)
    eventually(lambda: waiting.status.last_error)
    before = time.monotonic()
    assert waiting.stop(5.0)
    assert time.monotonic() - before < 2.0


def test_an_error_of_the_agent_itself_is_shown_and_survived(start_agent, tmp_path):
    agent = start_agent("127.0.0.1:1", tls_ca=tmp_path / "removed.pem")
    eventually(lambda: agent.status.state is AgentState.ERROR)
    assert "removed.pem" in agent.status.last_error
    time.sleep(0.5)
    assert agent._thread.is_alive()


def test_without_an_endpoint_there_is_no_thread(start_agent):
    agent = start_agent("")
    assert agent.status.state is AgentState.READY
    assert not agent._thread.is_alive()


def test_a_second_engine_of_the_same_name_is_an_error(start_agent, scheduler):
    def taken_over(connection):
        connection.context.abort(grpc.StatusCode.ABORTED, "a newer stream took over")
        yield from ()

    with HostileService(taken_over) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: agent.status.state is AgentState.ERROR)
        assert "took over" in agent.status.last_error


def test_an_update_lost_in_the_engine_does_not_spoil_the_next_stream(start_agent, scheduler):
    scheduler.answer = lambda taken, step: None  # takes it and never answers
    lost = []

    def send_and_end(connection):
        yield update(5, nonce="lost")
        eventually(lambda: scheduler.taken)
        lost.append(connection)

    with HostileService(send_and_end, updates(update(5, nonce="again"))) as service:
        agent = start_agent(service.endpoint)
        eventually(lambda: lost)
        scheduler.answer = scheduler.apply
        assert service.connection(1).next_ack().nonce == "again"
        eventually(lambda: agent.status.state is AgentState.READY)
