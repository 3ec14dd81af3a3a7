"""The operator's side of the demonstration: writes artifacts and bindings over gRPC.

`dsparkctl` does the same from a shell; here the writes are timed.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import NamedTuple

import grpc

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark.control.v1.admin_pb2_grpc import AdminServiceStub
from dspark_control.codec import set_content
from dspark_control.core import Content
from dspark_control.files import load_policy, load_sps, load_sts

ARTIFACTS = files("dspark_sglang.demo") / "artifacts"
LOADERS: dict[str, Callable[[bytes, str], Content]] = {
    "policy": load_policy,
    "sts": load_sts,
    "sps": load_sps,
}
POLL_S = 0.01


class Schedule(NamedTuple):
    """The files (in `artifacts/`) of one complete schedule."""

    policy: str
    sts: str
    sps: str


VERIFIES_ALL = Schedule("policy-scheduled.yaml", "sts-identity.json", "sps-flat.json")
"""On a flat cost curve every token that may be accepted is worth its verification."""

VERIFIES_LITTLE = Schedule("policy-capped.yaml", "sts-soft.json", "sps-steep.json")
"""Where each further token costs as much as the first, hardly any is."""


CYCLE = (
    VERIFIES_ALL,
    VERIFIES_LITTLE,
    Schedule("policy-fraction.yaml", "sts-soft.json", "sps-flat.json"),
    Schedule("policy-scheduled.yaml", "sts-soft.json", "sps-steep.json"),
    Schedule("policy-verify-all.yaml", "sts-identity.json", "sps-steep.json"),
)
"""Schedules that differ in policy, STS and SPS, for changing them in mid-run."""


class Admin:
    """A connection to the control service, for writes and for what its workers do with them."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._stub = AdminServiceStub(channel)  # type: ignore[no-untyped-call]

    def put(self, file: str) -> str:
        """Stores an artifact file under its own name; gives its digest."""
        request = admin_pb2.PutArtifactRequest(context=_context(f"demo: {file}"))
        request.artifact.CopyFrom(artifact_of(file))
        return str(self._stub.PutArtifact(request).artifact.digest)

    def bind(self, schedule: Schedule, reason: str) -> int:
        """Makes a schedule the one of every worker; gives the revision of the write."""
        digests = [self.put(file) for file in schedule]
        binding = admin_pb2.Binding(
            name="default", policy_digest=digests[0], sts_digest=digests[1], sps_digest=digests[2]
        )
        request = admin_pb2.PutBindingRequest(context=_context(reason), binding=binding)
        return int(self._stub.PutBinding(request).binding.revision)

    def workers(self) -> list[admin_pb2.Worker]:
        """What the service knows of its workers."""
        return list(self._stub.ListWorkers(admin_pb2.ListWorkersRequest()).workers)

    def wait_applied(self, worker_id: str, revision: int, limit_s: float) -> int:
        """Returns when the worker runs what it should since the revision: what it runs then.

        That is an older revision after a write that changes nothing for the worker.

        Raises RuntimeError when it rejects it, TimeoutError when the time is up.
        """
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            for worker in self.workers():
                if worker.worker_id == worker_id and _runs(worker, revision):
                    return int(worker.applied_revision)
            time.sleep(POLL_S)
        raise TimeoutError(f"{worker_id} did not apply revision {revision} in {limit_s:.0f} s")


@contextmanager
def admin(endpoint: str) -> Iterator[Admin]:
    """A connection for the length of the block."""
    with grpc.insecure_channel(endpoint) as channel:
        yield Admin(channel)


def artifact_of(file: str) -> artifacts_pb2.Artifact:
    """The artifact that a shipped file describes; its kind is the first part of the file's name."""
    kind, name = file.split("-", 1)[0], file.rsplit(".", 1)[0]
    artifact = artifacts_pb2.Artifact(name=name)
    set_content(artifact, LOADERS[kind]((ARTIFACTS / file).read_bytes(), file))
    return artifact


def _context(reason: str) -> admin_pb2.WriteContext:
    return admin_pb2.WriteContext(author="demo", reason=reason)


def _runs(worker: admin_pb2.Worker, revision: int) -> bool:
    ack = worker.last_ack
    if ack.result == worker_pb2.ACK_RESULT_REJECTED and ack.revision >= revision:
        raise RuntimeError(f"{worker.worker_id} rejected revision {ack.revision}: {ack.message}")
    return bool(worker.applied_revision >= min(revision, worker.desired_revision))
