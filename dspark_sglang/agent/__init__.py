"""The agent: keeps one engine in step with the control service, off the step path."""

from dspark_sglang.agent.agent import Agent
from dspark_sglang.agent.mailbox import Mailbox, Outcome, PendingUpdate
from dspark_sglang.agent.status import AgentState, AgentStatus, Source

__all__ = [
    "Agent",
    "AgentState",
    "AgentStatus",
    "Mailbox",
    "Outcome",
    "PendingUpdate",
    "Source",
]
