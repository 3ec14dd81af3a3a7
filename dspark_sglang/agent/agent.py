"""The worker's side of the control plane: one thread per engine that never gets in its way.

Start returns at once, a lost service changes nothing that runs, and the thread ends only
when it is stopped: whatever goes wrong in it is logged, shown in the status and retried.
"""

import logging
import threading
import time
from collections.abc import Callable

from dspark_control.core import Capabilities, DeploymentIdentity
from dspark_sglang.agent.backoff import Backoff
from dspark_sglang.agent.board import StatusBoard
from dspark_sglang.agent.cache import SnapshotCache
from dspark_sglang.agent.channel import open_worker_channel
from dspark_sglang.agent.deliveries import Deliveries
from dspark_sglang.agent.mailbox import Mailbox, Outcome
from dspark_sglang.agent.session import Session, Stop, next_event
from dspark_sglang.agent.status import AgentState, AgentStatus, Source
from dspark_sglang.agent.stream import Stream
from dspark_sglang.agent.updates import Updates
from dspark_sglang.agent.worker import Worker
from dspark_sglang.settings import Settings

logger = logging.getLogger(__name__)


class Agent:
    """Keeps one engine in step with the control service.

    `source` says what the engine runs before any snapshot. Without a control endpoint there
    is nothing to do: no thread is started, and the state is READY.
    """

    def __init__(  # noqa: PLR0913  (six independent collaborators, each named)
        self,
        settings: Settings,
        identity: DeploymentIdentity,
        capabilities: Capabilities,
        mailbox: Mailbox,
        worker_id: str,
        *,
        source: Source = Source.DEFAULT,
    ) -> None:
        worker = Worker(worker_id, identity, capabilities, settings.labels)
        is_alone = not settings.control_endpoint
        state = AgentState.READY if is_alone else AgentState.STALE
        self._settings = settings
        self._events = mailbox.events
        self._board = StatusBoard(worker_id, source, state)
        deliveries = Deliveries(mailbox, settings.apply_timeout_seconds)
        cache = SnapshotCache(settings.state_dir, worker_id)
        self._updates = Updates(worker, deliveries, cache, self._board)
        self._session = Session(
            worker, self._updates, self._board, self._events, settings.heartbeat_seconds
        )
        self._backoff = Backoff(settings.backoff_initial_seconds, settings.backoff_max_seconds)
        self._streams = 0
        self._failure = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dspark-agent", daemon=True)

    @property
    def status(self) -> AgentStatus:
        """What the agent knows now; one frozen object, safe to read from any thread."""
        return self._board.status

    def start(self) -> None:
        """Starts the thread and returns at once; to be called once."""
        if not self._settings.control_endpoint:
            logger.info("no control service is set: runs what the engine was started with")
            return
        self._thread.start()

    def stop(self, timeout: float = 5.0) -> bool:
        """Ends the thread; False when it has not ended within `timeout` seconds."""
        self._stopping.set()
        self._events.put(Stop())
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        self._guarded(self._updates.load_last_known_good)
        while not self._stopping.is_set():
            self._guarded(self._connect)
            self._guarded(self._pause)

    def _guarded(self, action: Callable[[], None]) -> None:
        """Runs a part of the thread; an error is shown in the status and logged once."""
        try:
            action()
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            if message != self._failure:
                logger.exception("the control agent failed and goes on")
            self._failure = message
            self._board.lost(message, is_refused=True)
            self._stopping.wait(self._settings.backoff_initial_seconds)

    def _connect(self) -> None:
        """One connection, from opening it to its end."""
        self._streams += 1
        channel = open_worker_channel(self._settings)
        stream = Stream(channel, self._streams, self._events)
        try:
            end = self._session.run(stream)
        finally:
            stream.close()
            channel.close()
        self._failure = ""
        self._backoff.note_lived(end.lived_seconds)
        if not self._stopping.is_set():
            self._board.lost(end.reason, end.is_refused)

    def _pause(self) -> None:
        """Waits before the next connection; outcomes of the engine are noted meanwhile."""
        wake_at = time.monotonic() + self._backoff.next_wait()
        while not self._stopping.is_set() and time.monotonic() < wake_at:
            event = next_event(self._events, wake_at)
            if isinstance(event, Outcome):
                self._updates.settle(event)
            self._updates.expire(time.monotonic())
