"""The real control service as a process, and an operator who writes to it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import grpc
from agent_helpers import IDENTITY, eventually

from dspark.control.v1 import admin_pb2 as admin
from dspark.control.v1 import artifacts_pb2 as artifacts
from dspark.control.v1.admin_pb2_grpc import AdminServiceStub
from dspark_control.codec import identity_to_proto, policy_to_proto, sts_to_proto
from dspark_control.core import DeploymentIdentity, SchedulingPolicy, StsTable


class ControlService:
    """The service on one database and one port, so that it can die and come back."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._folder = folder
        self._arguments = arguments
        self._port_file = folder / "port"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> "ControlService":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self._port_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "dspark_control.service.main"]
        command += ["--listen", f"127.0.0.1:{self.port}", "--port-file", str(self._port_file)]
        command += ["--database", f"sqlite:///{self._folder / 'control.db'}", *self._arguments]
        with (self._folder / "service.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ)
        eventually(self._is_ready, 60.0)
        self.port = int(self._port_file.read_text())

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "service.log").read_text()
        return self._port_file.exists()

    def kill(self) -> None:
        """SIGKILL: no goodbye to anyone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Operator:
    """Writes artifacts and the binding of one pool of workers."""

    def __init__(self, service: ControlService, pool: str) -> None:
        self._pool = pool
        self._channel = grpc.insecure_channel(service.endpoint)
        self._stub = AdminServiceStub(self._channel)
        self._context = admin.WriteContext(author="tester", reason="test")

    def __enter__(self) -> "Operator":
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def put(self, kind: str, content, measured_on: DeploymentIdentity | None = None) -> str:
        number = artifacts.ArtifactKind.Value(f"ARTIFACT_KIND_{kind.upper()}")
        artifact = artifacts.Artifact(
            kind=number,
            name=kind,
            measured_on=identity_to_proto(measured_on) if measured_on else None,
            **{kind: content},
        )
        request = admin.PutArtifactRequest(context=self._context, artifact=artifact)
        return self._stub.PutArtifact(request, timeout=20).artifact.digest

    def bind(
        self,
        temperature: float,
        gain: float = 0.0,
        measured_on: DeploymentIdentity | None = IDENTITY,
    ) -> int:
        """Binds a policy and an STS table to the pool; the revision of the binding."""
        policy = self.put("policy", policy_to_proto(SchedulingPolicy(min_predicted_gain=gain)))
        sts = self.put("sts", sts_to_proto(StsTable((temperature,) * 7)), measured_on)
        binding = admin.Binding(
            name=self._pool, selector={"pool": self._pool}, policy_digest=policy, sts_digest=sts
        )
        request = admin.PutBindingRequest(context=self._context, binding=binding)
        return self._stub.PutBinding(request, timeout=20).binding.revision

    def worker(self) -> admin.Worker:
        """The only worker."""
        (worker,) = self._stub.ListWorkers(admin.ListWorkersRequest(), timeout=20).workers
        return worker


def seconds_until(condition, seconds: float = 15.0) -> float:
    before = time.monotonic()
    eventually(condition, seconds)
    return time.monotonic() - before
