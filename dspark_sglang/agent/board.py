"""Keeps the agent's status and logs each change of state once.

Only the agent's thread writes; others read the one frozen object that it replaces.
"""

import logging
from dataclasses import replace

from dspark_control.core import Snapshot
from dspark_sglang.agent.status import AgentState, AgentStatus, Source

logger = logging.getLogger(__name__)


class StatusBoard:
    """Derives the state from three facts: the stream, the last update, the last refusal."""

    def __init__(self, worker_id: str, source: Source, state: AgentState) -> None:
        self._worker_id = worker_id
        self._is_in_step = False
        self._link_error = ""
        self._is_refused = False
        self._fault = ""
        self.status = AgentStatus(state, source)
        """What is known now; read it from any thread."""

    def in_step(self) -> None:
        """The service answers and wants nothing that is not answered."""
        self._is_in_step = True
        self._is_refused = False
        self._link_error = ""
        self._publish(self.status)

    def lost(self, reason: str, is_refused: bool) -> None:
        """The stream ended; `is_refused` when asking again will not help."""
        self._is_in_step = False
        self._is_refused = is_refused
        self._link_error = reason
        self._publish(self.status)

    def applied(self, snapshot: Snapshot, source: Source) -> None:
        """A snapshot runs."""
        self._fault = ""
        self._publish(
            replace(
                self.status,
                source=source,
                applied_revision=snapshot.revision,
                digests=snapshot.digests,
            )
        )

    def rejected(self, message: str) -> None:
        """An update was refused or failed; the previous one still runs."""
        self._fault = message
        self._publish(self.status)

    def _publish(self, status: AgentStatus) -> None:
        before = self.status.state
        error = self._fault or self._link_error
        self.status = replace(status, state=self._state(), last_error=error)
        if self.status.state is not before:
            self._log(self.status)

    def _state(self) -> AgentState:
        if self._fault or self._is_refused:
            return AgentState.ERROR
        if self._is_in_step:
            return AgentState.READY
        return self.status.state if not self._link_error else AgentState.STALE

    def _log(self, status: AgentStatus) -> None:
        logger.log(
            logging.INFO if status.state is AgentState.READY else logging.WARNING,
            "DSpark control of worker %s is %s: runs revision %d from %s%s",
            self._worker_id,
            status.state.upper(),
            status.applied_revision,
            status.source,
            f"; {status.last_error}" if status.last_error else "",
        )
