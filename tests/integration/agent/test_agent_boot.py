"""What an engine runs when it starts and the control service is not there."""

import logging
from dataclasses import replace

from agent_helpers import (
    IDENTITY,
    FakeScheduler,
    HostileService,
    eventually,
    snapshot,
    stay_quiet,
    update,
)

from dspark_sglang.agent import AgentState, Mailbox, Source
from dspark_sglang.agent.cache import SnapshotCache

NOBODY = "127.0.0.1:1"


def run_once(start_agent, revision: int) -> None:
    """A first life of the engine, which applies a revision of the service."""
    mailbox = Mailbox()

    def send(connection):
        yield update(revision)
        yield from stay_quiet(connection)

    with HostileService(send) as service, FakeScheduler(mailbox):
        agent = start_agent(service.endpoint, mailbox)
        eventually(lambda: agent.status.state is AgentState.READY)
        assert agent.stop()


def test_the_last_known_good_runs_before_any_connection(start_agent, scheduler, caplog):
    run_once(start_agent, 5)
    with caplog.at_level(logging.INFO):
        agent = start_agent(NOBODY)
        eventually(lambda: agent.status.source is Source.LAST_KNOWN_GOOD)
        eventually(lambda: agent.status.last_error)
    assert scheduler.applied == [snapshot(5)]
    assert (agent.status.state, agent.status.applied_revision) == (AgentState.STALE, 5)
    assert "last known good revision 5" in caplog.text


def test_without_one_nothing_is_applied(start_agent, scheduler):
    agent = start_agent(NOBODY)
    eventually(lambda: agent.status.last_error)
    assert (agent.status.state, agent.status.source) == (AgentState.STALE, Source.DEFAULT)
    assert scheduler.applied == []


def test_a_service_that_is_back_hears_what_runs(start_agent, scheduler):
    run_once(start_agent, 5)
    agent = start_agent(NOBODY)
    eventually(lambda: agent.status.applied_revision == 5)
    assert agent.stop()
    with HostileService(stay_quiet) as service:
        again = start_agent(service.endpoint)
        eventually(lambda: again.status.state is AgentState.READY)
        eventually(lambda: 5 in service.connection().heartbeats)
        assert again.status.source is Source.LAST_KNOWN_GOOD


def test_a_damaged_one_is_ignored(start_agent, scheduler, tmp_path, caplog):
    run_once(start_agent, 5)
    path = SnapshotCache(tmp_path / "state", "engine:1").path
    path.write_bytes(path.read_bytes()[:-1])
    agent = start_agent(NOBODY)
    eventually(lambda: agent.status.last_error)
    assert scheduler.applied == []
    assert path.with_suffix(".bad").exists()
    assert "checksum" in caplog.text


def test_one_of_another_deployment_is_ignored(start_agent, scheduler):
    run_once(start_agent, 5)
    agent = start_agent(NOBODY, identity=replace(IDENTITY, gpu="NVIDIA H200"))
    eventually(lambda: agent.status.last_error)
    assert scheduler.applied == []


def test_a_lost_service_is_logged_once_not_at_every_attempt(start_agent, scheduler, caplog):
    with HostileService(stay_quiet) as service, caplog.at_level(logging.INFO):
        agent = start_agent(
            service.endpoint, backoff_initial_seconds=0.01, backoff_max_seconds=0.02
        )
        eventually(lambda: agent.status.state is AgentState.READY)
    eventually(lambda: agent._streams > 20)
    states = [r.message for r in caplog.records if r.name.endswith("agent.board")]
    assert len(states) == 2
    assert "READY" in states[0]
    assert "STALE" in states[1]
