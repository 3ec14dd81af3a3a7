"""The hand-off between the agent's thread and the scheduler's, without a lock.

The scheduler asks in every loop iteration, so an empty `take` must cost next to
nothing. A deque's `append`, `pop` and truth value are atomic, so whoever pops an
update owns it alone: either the scheduler takes it or the agent gets it back.
"""

from collections import deque
from queue import SimpleQueue
from typing import NamedTuple

from dspark_control.core import Snapshot


class PendingUpdate(NamedTuple):
    """A snapshot to apply; picklable, since the scheduler broadcasts it to its ranks."""

    nonce: str
    """Ties the outcome to this update."""
    snapshot: Snapshot
    """What to run."""


class Outcome(NamedTuple):
    """What became of an update in the engine."""

    nonce: str
    """That of the update."""
    applied: bool
    """True when every rank uses it, False when none does."""
    message: str
    """Why not, in one sentence; empty when applied."""
    rank_steps: tuple[int, ...]
    """[tp_size]: the scheduler step from which each tensor-parallel rank uses it."""


class Mailbox:
    """Holds at most one update that the scheduler has not taken.

    The agent's thread calls `post`, `withdraw` and reads `events`; the scheduler's calls
    `take` and `report`. One thread on each side.
    """

    def __init__(self) -> None:
        self._slot: deque[PendingUpdate] = deque()
        self.events: SimpleQueue[object] = SimpleQueue()
        """All that the agent's thread waits for: outcomes, and what the agent itself puts."""
        self.is_polled = False
        """True once the scheduler has asked; before, it is still starting up."""

    def post(self, update: PendingUpdate) -> PendingUpdate | None:
        """Leaves an update; returns the one it replaced, which will never be applied."""
        replaced = self.withdraw()
        self._slot.append(update)
        return replaced

    def withdraw(self) -> PendingUpdate | None:
        """Takes back the update that the scheduler has not taken, if there is one."""
        try:
            return self._slot.pop()
        except IndexError:
            return None

    def take(self) -> PendingUpdate | None:
        """The update to apply now, or None; called by the scheduler in each iteration."""
        self.is_polled = True
        return self.withdraw() if self._slot else None

    def report(self, outcome: Outcome) -> None:
        """Tells the agent what became of a taken update; called by the scheduler."""
        self.events.put(outcome)
