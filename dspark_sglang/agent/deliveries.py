"""Updates on their way to the engine, each of which ends in exactly one verdict.

It outlives the streams: an update may come by one stream and be applied during the next.
"""

from enum import Enum, auto
from typing import NamedTuple

from dspark_sglang.agent.mailbox import Mailbox, Outcome, PendingUpdate

MAX_LATE = 16
"""How many unanswered updates are remembered after their time is up."""


class Verdict(Enum):
    """How an update ended."""

    APPLIED = auto()
    FAILED = auto()
    SUPERSEDED = auto()
    """A newer one replaced it before the engine took it."""


class Delivery(NamedTuple):
    """An update and what the agent needs to know when it ends."""

    update: PendingUpdate
    payload: bytes
    """The snapshot as it came, for the disk."""
    stream: int
    """Number of the stream that it came by, 0 for the disk."""


class Settled(NamedTuple):
    """A delivery that has ended."""

    delivery: Delivery
    verdict: Verdict
    message: str = ""
    """Why not, in one sentence."""
    rank_steps: tuple[int, ...] = ()
    """[tp_size], when applied."""
    is_late: bool = False
    """True when it was applied after it had been given up as failed."""


class Deliveries:
    """Posts updates to the mailbox and matches outcomes to them by nonce."""

    def __init__(self, mailbox: Mailbox, timeout: float) -> None:
        self._mailbox = mailbox
        self._timeout = timeout
        self._open: dict[str, Delivery] = {}
        self._deadlines: dict[str, float] = {}
        self._late: dict[str, Delivery] = {}
        self._newest = ""

    def is_done(self, stream: int) -> bool:
        """True when every update that came by this stream has its verdict."""
        return all(delivery.stream != stream for delivery in self._open.values())

    def adopt(self, nonce: str, stream: int) -> bool:
        """Whether this update is on its way already; if so, its answer goes to `stream`."""
        if nonce not in self._open:
            return False
        self._open[nonce] = self._open[nonce]._replace(stream=stream)
        return True

    def next_deadline(self) -> float | None:
        """Monotonic time at which `expire` has something to do, None for never."""
        return min(self._deadlines.values(), default=None)

    def post(self, delivery: Delivery, now: float) -> Settled | None:
        """Hands an update to the engine; returns the one that it replaced, if any."""
        nonce = self._newest = delivery.update.nonce
        self._open[nonce] = delivery
        self._deadlines[nonce] = now + self._timeout
        replaced = self._mailbox.post(delivery.update)
        if replaced is None:
            return None
        message = (
            f"superseded by revision {delivery.update.snapshot.revision} before it was applied"
        )
        return Settled(self._close(replaced.nonce), Verdict.SUPERSEDED, message)

    def settle(self, outcome: Outcome) -> Settled | None:
        """The delivery that an outcome ends; None for one that nobody waits for."""
        if outcome.nonce in self._open:
            delivery = self._close(outcome.nonce)
            verdict = Verdict.APPLIED if outcome.applied else Verdict.FAILED
            return Settled(delivery, verdict, outcome.message, outcome.rank_steps)
        late = self._late.pop(outcome.nonce, None)
        if late is None or not outcome.applied:
            return None
        return Settled(late, Verdict.APPLIED, "", outcome.rank_steps, is_late=True)

    def expire(self, now: float) -> list[Settled]:
        """Gives up what the engine has not answered in time, oldest first.

        The time runs only once the scheduler loop does: loading a model and capturing
        graphs takes minutes.
        """
        if not self._mailbox.is_polled:
            self._deadlines = dict.fromkeys(self._deadlines, now + self._timeout)
        overdue = [nonce for nonce, deadline in self._deadlines.items() if deadline <= now]
        return [self._give_up(nonce) for nonce in overdue]

    def _give_up(self, nonce: str) -> Settled:
        is_untaken = nonce == self._newest and self._mailbox.withdraw() is not None
        delivery = self._close(nonce)
        if not is_untaken:
            self._remember_late(nonce, delivery)
        what = "take" if is_untaken else "answer"
        message = f"the scheduler did not {what} it within {self._timeout:g} s"
        return Settled(delivery, Verdict.FAILED, message)

    def _remember_late(self, nonce: str, delivery: Delivery) -> None:
        self._late[nonce] = delivery
        while len(self._late) > MAX_LATE:
            del self._late[next(iter(self._late))]

    def _close(self, nonce: str) -> Delivery:
        del self._deadlines[nonce]
        return self._open.pop(nonce)
