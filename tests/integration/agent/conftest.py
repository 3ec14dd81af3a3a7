"""Agents that are always stopped, beside a scheduler loop that always ends."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from agent_helpers import CAPABLE, IDENTITY, FakeScheduler

from dspark_sglang.agent import Agent, Mailbox
from dspark_sglang.settings import Settings


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def scheduler(mailbox: Mailbox) -> Iterator[FakeScheduler]:
    with FakeScheduler(mailbox) as scheduler:
        yield scheduler


@pytest.fixture
def start_agent(mailbox: Mailbox, tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Starts an agent; keywords are settings, `in_mailbox` and `identity` aside."""
    agents: list[Agent] = []
    quick = Settings(state_dir=tmp_path / "state", heartbeat_seconds=0.5, labels={"pool": "chat"})

    def start(endpoint: str, in_mailbox: Mailbox = mailbox, identity=IDENTITY, **changes) -> Agent:
        settings = replace(quick, control_endpoint=endpoint, **changes)
        agent = Agent(settings, identity, CAPABLE, in_mailbox, "engine:1")
        agents.append(agent)
        agent.start()
        return agent

    yield start
    assert all(agent.stop(5.0) for agent in agents), "an agent did not stop"
