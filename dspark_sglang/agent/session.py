"""One Watch stream from hello to its end, as the agent's thread lives it.

A loop over one queue: messages of the service, outcomes of the engine, and time.
"""

import time
from queue import Empty, SimpleQueue
from typing import NamedTuple

from dspark.control.v1 import worker_pb2 as pb
from dspark_sglang.agent.board import StatusBoard
from dspark_sglang.agent.mailbox import Outcome
from dspark_sglang.agent.stream import Ended, Received, Stream
from dspark_sglang.agent.updates import Answer, Updates
from dspark_sglang.agent.worker import Worker

SILENT_HEARTBEATS = 3
"""A stream that is silent for as many heartbeats is dead."""


class Stop(NamedTuple):
    """The event that ends the agent."""


class End(NamedTuple):
    """Why a session is over."""

    reason: str
    is_refused: bool = False
    lived_seconds: float = 0.0
    """Since the first message of the service, 0 without one."""


class Session:
    """Speaks the protocol on an open stream until that ends, falls silent, or `Stop` comes."""

    def __init__(
        self,
        worker: Worker,
        updates: Updates,
        board: StatusBoard,
        events: SimpleQueue[object],
        heartbeat_seconds: float,
    ) -> None:
        self._worker = worker
        self._updates = updates
        self._board = board
        self._events = events
        self._heartbeat = heartbeat_seconds

    def run(self, stream: Stream) -> End:
        """Blocks until the session is over."""
        self._stream = stream
        self._first_heard_at = 0.0
        self._heard_at = time.monotonic()
        self._send(self._worker.hello(self._board.status))
        while True:
            event = next_event(self._events, self._wake_at())
            if (end := self._handle(event)) or (end := self._keep_time(event is None)):
                return end._replace(lived_seconds=self._lived_seconds())
            if self._first_heard_at and self._updates.is_done(stream.number):
                self._board.in_step()

    def _lived_seconds(self) -> float:
        return self._heard_at - self._first_heard_at

    def _wake_at(self) -> float:
        """Monotonic time of the next thing to do when nothing happens before."""
        silent_at = self._heard_at + SILENT_HEARTBEATS * self._heartbeat
        expire_at = self._updates.next_deadline()
        wake_at = min(silent_at, self._said_at + self._heartbeat)
        return wake_at if expire_at is None else min(wake_at, expire_at)

    def _handle(self, event: object) -> End | None:
        number = self._stream.number
        match event:
            case Stop():
                return End("the agent was stopped")
            case Ended(stream, reason, is_refused) if stream == number:
                return End(reason, is_refused)
            case Received(stream, response) if stream == number:
                self._hear(response)
            case Outcome():
                self._answer(self._updates.settle(event))
        return None

    def _hear(self, response: pb.WatchResponse) -> None:
        self._heard_at = time.monotonic()
        self._first_heard_at = self._first_heard_at or self._heard_at
        if response.HasField("update"):
            self._answer(self._updates.receive(response.update, self._stream.number))
        self._stream.handled()

    def _keep_time(self, is_idle: bool) -> End | None:
        """Expires, ends and sends what is due; silence counts only when nothing waits."""
        now = time.monotonic()
        self._answer(self._updates.expire(now))
        if is_idle and now >= self._heard_at + SILENT_HEARTBEATS * self._heartbeat:
            return End(f"no message for {SILENT_HEARTBEATS * self._heartbeat:g} s")
        if now >= self._said_at + self._heartbeat:
            revision = self._board.status.applied_revision
            self._send(pb.WatchRequest(heartbeat=pb.WorkerHeartbeat(applied_revision=revision)))
        return None

    def _answer(self, answers: list[Answer]) -> None:
        """Sends the acks for this stream; those for an earlier one have no one to go to."""
        for stream, ack in answers:
            if stream == self._stream.number:
                self._send(pb.WatchRequest(ack=ack))

    def _send(self, request: pb.WatchRequest) -> None:
        self._said_at = time.monotonic()
        self._stream.send(request)


def next_event(events: SimpleQueue[object], wake_at: float) -> object | None:
    """The next event, or None when there is none until the monotonic time `wake_at`."""
    try:
        return events.get(timeout=max(0.0, wake_at - time.monotonic()))
    except Empty:
        return None
