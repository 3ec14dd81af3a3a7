"""A service in this process or its own, and a worker that speaks the real protocol."""

import asyncio
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark.control.v1.admin_pb2_grpc import AdminServiceStub
from dspark.control.v1.worker_pb2_grpc import WorkerServiceStub
from dspark_control.client import open_channel
from dspark_control.codec import (
    capabilities_to_proto,
    identity_to_proto,
    set_content,
)
from dspark_control.core import (
    Capabilities,
    Content,
    DeploymentIdentity,
)
from dspark_control.service.server import ControlServer
from dspark_control.service.settings import ServiceSettings
from dspark_control.store import Store

SECONDS = 20.0
"""How long anything may take before a test fails; far more than it takes."""

ABLE = Capabilities(ragged_verify=True, confidence_head=True, version="test")


@dataclass(frozen=True)
class Service:
    """A running service."""

    target: str
    channel: grpc.Channel
    admin: Any
    pid: int

    def put(self, name: str, content: Content, identity: DeploymentIdentity | None = None) -> Any:
        return self.admin.PutArtifact(put_request(name, content, identity), timeout=SECONDS)

    def bind(
        self, name: str, policy: str, sts: str = "", sps: str = "", expect: int = 0, **selector: str
    ) -> int:
        binding = admin_pb2.Binding(
            name=name, selector=selector, policy_digest=policy, sts_digest=sts, sps_digest=sps
        )
        request = admin_pb2.PutBindingRequest(context=context(expect), binding=binding)
        return int(self.admin.PutBinding(request, timeout=SECONDS).binding.revision)

    def revision(self) -> int:
        request = admin_pb2.ListBindingsRequest()
        return int(self.admin.ListBindings(request, timeout=SECONDS).revision)

    def worker(self, worker_id: str) -> admin_pb2.Worker:
        request = admin_pb2.ListWorkersRequest()
        workers = self.admin.ListWorkers(request, timeout=SECONDS).workers
        return next(w for w in workers if w.worker_id == worker_id)


def context(expect: int = 0) -> admin_pb2.WriteContext:
    return admin_pb2.WriteContext(expected_revision=expect, author="test", reason="because")


def put_request(
    name: str, content: Content, identity: DeploymentIdentity | None = None
) -> admin_pb2.PutArtifactRequest:
    artifact = artifacts_pb2.Artifact(name=name)
    set_content(artifact, content)
    if identity is not None:
        artifact.measured_on.CopyFrom(identity_to_proto(identity))
    return admin_pb2.PutArtifactRequest(context=context(), artifact=artifact)


@contextmanager
def service_here(database: str, **settings: Any) -> Iterator[Service]:
    """A service on a thread of this process."""
    chosen = ServiceSettings(
        listen="127.0.0.1:0",
        database=database,
        drain_seconds=1.0,
        **{"heartbeat_seconds": 5.0, "poll_seconds": 0.3, **settings},
    )
    started: queue.Queue[int | BaseException] = queue.Queue()
    stop: list[Callable[[], object]] = []

    async def serve() -> None:
        stopping, loop = asyncio.Event(), asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(stopping.set))
        try:
            server = ControlServer(chosen, Store(database))
            started.put(await server.start())
        except BaseException as error:
            started.put(error)
            raise
        await stopping.wait()
        await server.stop()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    port = started.get(timeout=SECONDS)
    if isinstance(port, BaseException):
        thread.join()
        raise port
    with connected(f"127.0.0.1:{port}", os.getpid()) as service:
        try:
            yield service
        finally:
            stop[0]()
            thread.join(SECONDS)
            assert not thread.is_alive()


@contextmanager
def connected(target: str, pid: int) -> Iterator[Service]:
    with open_channel(target) as channel:
        yield Service(target, channel, AdminServiceStub(channel), pid)


def start_process(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    """`dspark-control` as a process of its own; its port is in `directory`/port when ready."""
    directory.mkdir(exist_ok=True)
    (directory / "port").unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "dspark_control.service.main"),
        *("--listen", "127.0.0.1:0", "--port-file", str(directory / "port")),
        *("--database", f"sqlite:///{directory / 'control.db'}", "--poll-seconds", "0.3"),
        *arguments,
    ]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def read_port(process: subprocess.Popen[str], directory: Path) -> int:
    """The port, once the service is ready."""
    until(lambda: (directory / "port").exists() or process.poll() is not None, 60.0)
    if process.poll() is not None:
        raise AssertionError(f"the service did not start: {process.stderr.read()}")
    return int((directory / "port").read_text())


@contextmanager
def service_process(directory: Path, *arguments: str) -> Iterator[Service]:
    """A service in its own process, ended at the end."""
    process = start_process(directory, *arguments)
    try:
        port = read_port(process, directory)
        with connected(f"127.0.0.1:{port}", process.pid) as service:
            yield service
    finally:
        process.terminate()
        try:
            process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def until(condition: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """The first true value of `condition`; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


class WatchClient:
    """A worker's side of one Watch stream."""

    def __init__(self, service: Service, hello: worker_pb2.WorkerHello | None) -> None:
        self._requests: queue.Queue[worker_pb2.WatchRequest | None] = queue.Queue()
        self.answers: queue.Queue[worker_pb2.WatchResponse | grpc.RpcError | None] = queue.Queue()
        if hello is not None:
            self.send(hello=hello)
        stub = WorkerServiceStub(service.channel)
        self.call = stub.Watch(iter(self._requests.get, None))
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def send(self, **message: Any) -> None:
        self._requests.put(worker_pb2.WatchRequest(**message))

    def send_nothing_more(self) -> None:
        self._requests.put(None)

    def next(self, seconds: float = SECONDS) -> worker_pb2.WatchResponse:
        answer = self.answers.get(timeout=seconds)
        assert isinstance(answer, worker_pb2.WatchResponse), answer
        return answer

    def update(self, seconds: float = SECONDS) -> worker_pb2.SnapshotUpdate:
        """The next update, heartbeats skipped."""
        while True:
            answer = self.next(seconds)
            if answer.WhichOneof("message") == "update":
                return answer.update

    def apply(self, update: worker_pb2.SnapshotUpdate | None = None) -> worker_pb2.SnapshotUpdate:
        """Acknowledge an update (else the next one) as applied."""
        update = update or self.update()
        ranks = [worker_pb2.RankApplied(tp_rank=0, step=1)]
        ack = worker_pb2.SnapshotAck(
            nonce=update.nonce,
            revision=update.snapshot.revision,
            result=worker_pb2.ACK_RESULT_APPLIED,
            ranks=ranks,
        )
        self.send(ack=ack)
        return update

    def reject(self, update: worker_pb2.SnapshotUpdate) -> None:
        ack = worker_pb2.SnapshotAck(
            nonce=update.nonce,
            revision=update.snapshot.revision,
            result=worker_pb2.ACK_RESULT_REJECTED,
            reason=worker_pb2.REJECT_REASON_INVALID_VALUE,
            message="test says no",
        )
        self.send(ack=ack)

    def assert_quiet(self, seconds: float = 0.4) -> None:
        """Fail when an update comes."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                answer = self.answers.get(timeout=left)
            except queue.Empty:
                return
            assert isinstance(answer, worker_pb2.WatchResponse), answer
            assert answer.WhichOneof("message") == "heartbeat", answer

    def end(self, seconds: float = SECONDS) -> tuple[grpc.StatusCode, str]:
        """How the stream ended, once it has."""
        while True:
            answer = self.answers.get(timeout=seconds)
            if answer is None:
                return grpc.StatusCode.OK, ""
            if isinstance(answer, grpc.RpcError):
                return answer.code(), answer.details()

    def close(self) -> None:
        self._requests.put(None)
        self.call.cancel()
        self._thread.join(SECONDS)

    def _receive(self) -> None:
        try:
            for answer in self.call:
                self.answers.put(answer)
            self.answers.put(None)
        except grpc.RpcError as error:
            self.answers.put(error)


def hello(
    worker_id: str = "w1",
    gamma: int = 7,
    capabilities: Capabilities = ABLE,
    incarnation: str = "one",
    **fields: Any,
) -> worker_pb2.WorkerHello:
    return worker_pb2.WorkerHello(
        worker_id=worker_id,
        incarnation=incarnation,
        identity=identity_to_proto(DeploymentIdentity(gamma=gamma, gpu="H200")),
        capabilities=capabilities_to_proto(capabilities),
        **fields,
    )


def running(snapshot: worker_pb2.Snapshot) -> dict[str, Any]:
    """The hello fields of a worker that runs `snapshot`."""
    return {
        "applied_revision": snapshot.revision,
        "applied_policy_digest": snapshot.policy_digest,
        "applied_sts_digest": snapshot.sts_digest,
        "applied_sps_digest": snapshot.sps_digest,
    }


@contextmanager
def worker(service: Service, greeting: worker_pb2.WorkerHello) -> Iterator[WatchClient]:
    client = WatchClient(service, greeting)
    try:
        yield client
    finally:
        client.close()
