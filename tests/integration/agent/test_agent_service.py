"""The agent and the real control service, which dies and comes back."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from agent_helpers import IDENTITY, FakeScheduler, eventually
from service_helpers import ControlService, Operator, seconds_until

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.core import BudgetMode
from dspark_sglang.agent import Agent, AgentState, Mailbox, Source
from dspark_sglang.settings import Settings


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory) -> Iterator[ControlService]:
    with ControlService(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def service(shared_service) -> ControlService:
    if not shared_service.is_running:
        shared_service.start()
    return shared_service


@pytest.fixture
def pool() -> str:
    """A label of its own, so that what other tests bound does not concern this one."""
    return f"pool-{secrets.token_hex(4)}"


@pytest.fixture
def operator(service, pool) -> Iterator[Operator]:
    with Operator(service, pool) as operator:
        yield operator


@pytest.fixture
def join(service, pool, start_agent) -> Callable[..., Agent]:
    """Starts an agent of the pool with the settings that a worker has by default."""

    def join(mailbox: Mailbox | None = None, **changes) -> Agent:
        others = {"in_mailbox": mailbox} if mailbox else {}
        others |= {"heartbeat_seconds": Settings().heartbeat_seconds}
        return start_agent(service.endpoint, labels={"pool": pool}, **others, **changes)

    return join


def is_ready_at(agent, revision: int) -> bool:
    return agent.status.state is AgentState.READY and agent.status.applied_revision == revision


def test_a_write_reaches_the_engine_and_the_answer_the_service(join, operator, pool, scheduler):
    agent = join()
    eventually(lambda: agent.status.state is AgentState.READY)
    assert scheduler.applied[-1].policy.mode is BudgetMode.VERIFY_ALL  # nothing is bound
    revision = operator.bind(temperature=1.5)
    eventually(lambda: is_ready_at(agent, revision))
    assert scheduler.applied[-1].sts.temperatures == (1.5,) * 7
    assert agent.status.source is Source.SERVICE
    eventually(lambda: operator.worker().applied_revision == revision)
    worker = operator.worker()
    assert worker.connected
    assert worker.labels == {"pool": pool}
    assert worker.last_ack.result == pb.ACK_RESULT_APPLIED
    assert len({rank.step for rank in worker.last_ack.ranks}) == 1


def test_a_killed_service_changes_nothing_and_is_found_again(service, join, operator, scheduler):
    agent = join()
    revision = operator.bind(temperature=1.5)
    eventually(lambda: is_ready_at(agent, revision))
    service.kill()
    eventually(lambda: agent.status.state is AgentState.STALE)
    assert agent.status.applied_revision == revision
    count = len(scheduler.applied)
    service.start()
    assert seconds_until(lambda: is_ready_at(agent, revision)) < 10.0
    assert len(scheduler.applied) == count  # what runs is not sent again


def test_what_was_missed_arrives_after_the_service_is_back(service, join, operator, scheduler):
    agent = join()
    before = operator.bind(temperature=1.5)
    eventually(lambda: is_ready_at(agent, before))
    scheduler.answer = lambda taken, step: None  # the engine loses what comes now
    missed = operator.bind(temperature=2.5)
    service.kill()
    eventually(lambda: agent.status.state is AgentState.STALE)
    scheduler.answer = scheduler.apply
    service.start()
    assert seconds_until(lambda: is_ready_at(agent, missed)) < 10.0
    assert scheduler.applied[-1].sts.temperatures == (2.5,) * 7


def test_a_write_of_its_second_life_reaches_a_worker_that_waited(
    service, join, operator, scheduler
):
    agent = join()
    eventually(lambda: agent.status.state is AgentState.READY)
    service.kill()
    eventually(lambda: agent.status.state is AgentState.STALE)
    service.start()
    revision = operator.bind(temperature=2.0)
    assert seconds_until(lambda: is_ready_at(agent, revision)) < 10.0


def test_a_table_of_another_deployment_is_refused_and_the_old_one_runs_on(
    join, operator, scheduler
):
    here, elsewhere = (replace(IDENTITY, gpu=f"NVIDIA {gpu}") for gpu in ("H200", "H100"))
    first = join(identity=here)
    good = operator.bind(1.5, measured_on=None)
    eventually(lambda: is_ready_at(first, good))
    assert first.stop()
    count = len(scheduler.applied)
    eventually(lambda: not operator.worker().connected)
    wrong = operator.bind(2.5, measured_on=elsewhere)  # no worker is there to object
    second = join(identity=here)
    eventually(lambda: second.status.state is AgentState.ERROR)
    assert "gpu" in second.status.last_error
    eventually(lambda: operator.worker().last_ack.revision == wrong)
    ack = operator.worker().last_ack
    assert ack.reason == pb.REJECT_REASON_IDENTITY_MISMATCH
    assert list(ack.fields) == ["sts_measured_on.gpu"]
    assert {each.revision for each in scheduler.applied[count:]} <= {good}
    better = operator.bind(3.5, measured_on=None)
    eventually(lambda: is_ready_at(second, better))


def test_writes_in_quick_succession_end_with_the_last(join, operator, scheduler):
    agent = join()
    eventually(lambda: agent.status.state is AgentState.READY)
    temperatures = [1.0 + number / 10 for number in range(30)]
    revisions = [operator.bind(temperature) for temperature in temperatures]
    eventually(lambda: is_ready_at(agent, revisions[-1]))
    assert scheduler.applied[-1].sts.temperatures == (temperatures[-1],) * 7
    applied = [each.revision for each in scheduler.applied]
    assert applied == sorted(applied)


def test_a_restart_without_the_service_runs_what_ran_last(service, join, operator, scheduler):
    first_mailbox = Mailbox()
    with FakeScheduler(first_mailbox):
        first = join(first_mailbox)
        revision = operator.bind(temperature=1.5)
        eventually(lambda: is_ready_at(first, revision))
        assert first.stop()
    service.kill()
    second = join()
    eventually(lambda: second.status.source is Source.LAST_KNOWN_GOOD)
    assert scheduler.applied[-1].sts.temperatures == (1.5,) * 7
    service.start()
    assert seconds_until(lambda: is_ready_at(second, revision)) < 10.0
