"""A scheduler loop that applies what the mailbox holds, and a service that misbehaves."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import grpc

from dspark.control.v1 import worker_pb2 as pb
from dspark.control.v1.worker_pb2_grpc import (
    WorkerServiceServicer,
    add_WorkerServiceServicer_to_server,
)
from dspark_control.codec import snapshot_to_proto
from dspark_control.core import (
    Capabilities,
    DeploymentIdentity,
    SchedulingPolicy,
    Snapshot,
    SpsStepTable,
    StsTable,
)
from dspark_sglang.agent import Mailbox, Outcome, PendingUpdate

IDENTITY = DeploymentIdentity(gamma=7, gpu="cpu", tp_size=2, dtype="float32")
CAPABLE = Capabilities(ragged_verify=True, confidence_head=True, version="0.1.0")


def snapshot(revision: int, temperature: float = 1.5) -> Snapshot:
    return Snapshot(
        revision=revision,
        policy=SchedulingPolicy(),
        sts=StsTable((temperature,) * 7),
        sps=SpsStepTable((8, 16), (100.0, 80.0), 16),
        policy_digest=f"sha256:policy{revision}",
        sts_digest=f"sha256:sts{revision}",
        sps_digest=f"sha256:sps{revision}",
        sts_measured_on=IDENTITY,
    )


def update(revision: int, nonce: str = "") -> pb.WatchResponse:
    message = pb.SnapshotUpdate(
        nonce=nonce or f"n{revision}", snapshot=snapshot_to_proto(snapshot(revision))
    )
    return pb.WatchResponse(update=message)


def heartbeat() -> pb.WatchResponse:
    return pb.WatchResponse(heartbeat=pb.ServerHeartbeat(revision=1))


def eventually(condition: Callable[[], object], seconds: float = 15.0) -> None:
    """Waits until the condition holds; fails the test when it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.005)


class FakeScheduler:
    """Takes from the mailbox in each iteration, as the engine's scheduler does."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.applied: list[Snapshot] = []
        self.taken = 0
        self.answer: Callable[[PendingUpdate, int], Outcome | None] = self.apply
        self.is_paused = False
        self.mailbox = mailbox
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self) -> "FakeScheduler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def apply(self, taken: PendingUpdate, step: int) -> Outcome:
        self.applied.append(taken.snapshot)
        return Outcome(taken.nonce, True, "", (step, step))

    def _loop(self) -> None:
        step = 0
        while not self._is_over.is_set():
            step += 1
            taken = None if self.is_paused else self.mailbox.take()
            outcome = self.answer(taken, step) if taken else None
            self.taken += taken is not None
            if outcome:
                self.mailbox.report(outcome)
            time.sleep(0.0005)


class Connection:
    """One Watch call as the service sees it."""

    def __init__(self, requests: Iterator[pb.WatchRequest], context: grpc.ServicerContext) -> None:
        self.context = context
        self.hello = next(requests).hello
        self.heartbeats: list[int] = []
        self.acks: list[pb.SnapshotAck] = []
        self.opened_at = time.monotonic()
        self.is_over = threading.Event()
        self._acks: SimpleQueue[pb.SnapshotAck] = SimpleQueue()
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()

    def next_ack(self, seconds: float = 15.0) -> pb.SnapshotAck:
        try:
            return self._acks.get(timeout=seconds)
        except Empty:
            raise AssertionError("no ack came") from None

    def _read(self, requests: Iterator[pb.WatchRequest]) -> None:
        try:
            for request in requests:
                if request.HasField("heartbeat"):
                    self.heartbeats.append(request.heartbeat.applied_revision)
                elif request.HasField("ack"):
                    self.acks.append(request.ack)
                    self._acks.put(request.ack)
        except grpc.RpcError:
            pass
        self.is_over.set()


Script = Callable[[Connection], Iterator[pb.WatchResponse | bytes]]
"""What the service does on a connection; may yield raw bytes."""


def stay_quiet(connection: Connection) -> Iterator[pb.WatchResponse]:
    """Wants nothing and sends heartbeats."""
    while not connection.is_over.wait(0.1):
        yield heartbeat()


class HostileService(WorkerServiceServicer):
    """Runs a script per connection, the last one again and again."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = list(scripts)
        self.connections: list[Connection] = []
        self._server = grpc.server(ThreadPoolExecutor(8))
        add_WorkerServiceServicer_to_server(self, _Raw(self._server))
        self.port = self._server.add_insecure_port("127.0.0.1:0")

    def __enter__(self) -> "HostileService":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(0).wait(5)

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def Watch(self, request_iterator, context):
        script = self._scripts[min(len(self.connections), len(self._scripts) - 1)]
        connection = Connection(request_iterator, context)
        self.connections.append(connection)
        yield from script(connection)

    def connection(self, number: int = 0) -> Connection:
        eventually(lambda: len(self.connections) > number)
        return self.connections[number]


class _Raw:
    """Lets scripts send bytes that are no message."""

    def __init__(self, server: grpc.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, _: object) -> None:
        pass

    def add_registered_method_handlers(self, service: str, methods: dict) -> None:
        raw = {name: _raw_method(method) for name, method in methods.items()}
        handler = grpc.method_handlers_generic_handler(service, raw)
        self._server.add_generic_rpc_handlers((handler,))


def _raw_method(method: grpc.RpcMethodHandler) -> grpc.RpcMethodHandler:
    return grpc.stream_stream_rpc_method_handler(
        method.stream_stream,
        request_deserializer=method.request_deserializer,
        response_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
    )
