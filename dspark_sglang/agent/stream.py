"""One Watch call as events: what the service sends, and that the call has ended.

gRPC's synchronous iterator can only block, so a small thread reads it and puts what it
gets where the agent's thread also finds the engine's outcomes.
"""

import threading
from queue import SimpleQueue
from typing import NamedTuple

import grpc

from dspark.control.v1.worker_pb2 import WatchRequest, WatchResponse
from dspark.control.v1.worker_pb2_grpc import WorkerServiceStub

WINDOW = 64
"""Messages that may wait for the agent before gRPC's flow control stops the service."""

REFUSALS = frozenset(
    {
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
"""Ends that mean that this worker, as it is set up, is not wanted.

ABORTED: another engine with the same id took over."""


class Received(NamedTuple):
    """A message of the service on the stream with this number."""

    stream: int
    response: WatchResponse


class Ended(NamedTuple):
    """The stream with this number is over."""

    stream: int
    reason: str
    is_refused: bool


class Stream:
    """A Watch call that is open from construction to `close`."""

    def __init__(self, channel: grpc.Channel, number: int, events: SimpleQueue[object]) -> None:
        self.number = number
        """Tells its events from those of an earlier stream."""
        self._events = events
        self._requests: SimpleQueue[WatchRequest | None] = SimpleQueue()
        self._window = threading.Semaphore(WINDOW)
        self._call = WorkerServiceStub(channel).Watch(iter(self._requests.get, None))  # type: ignore[no-untyped-call]
        name = f"dspark-watch-{number}"
        threading.Thread(target=self._read, name=name, daemon=True).start()

    def send(self, request: WatchRequest) -> None:
        """Queues a message; never blocks."""
        self._requests.put(request)

    def handled(self) -> None:
        """A message was dealt with, so another may come in."""
        self._window.release()

    def close(self) -> None:
        """Ends the call and both of its threads; returns at once."""
        self._call.cancel()
        self._requests.put(None)
        self._window.release(WINDOW)

    def _read(self) -> None:
        ended = Ended(self.number, "the service ended the stream", False)
        try:
            for response in self._call:
                self._window.acquire()
                self._events.put(Received(self.number, response))
        except grpc.RpcError as error:
            ended = _ended(self.number, error)
        except Exception as error:  # a bug in gRPC must not leave the agent waiting
            ended = Ended(self.number, f"{type(error).__name__}: {error}", False)
        self._events.put(ended)


def _ended(number: int, error: grpc.RpcError) -> Ended:
    code = error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN
    details = error.details() if isinstance(error, grpc.Call) else str(error)
    return Ended(number, f"{code.name}: {details}", code in REFUSALS)
