"""From files and flags to what a write carries."""

from pathlib import Path
from typing import NamedTuple

from dspark.control.v1 import admin_pb2, artifacts_pb2
from dspark_control.codec import identity_from_proto, identity_to_proto, set_content
from dspark_control.core import ArtifactKind, Content, DeploymentIdentity
from dspark_control.core.names import name_fault
from dspark_control.ctl.connection import Admin
from dspark_control.ctl.errors import CtlError
from dspark_control.files import load_identity, load_policy, load_sps, load_sts, read_limited


class Who(NamedTuple):
    """Who writes, why, and the revision that they have seen (0: any)."""

    author: str
    reason: str
    expected_revision: int

    def context(self, expected_revision: int | None = None) -> admin_pb2.WriteContext:
        """The message, with another expected revision if given."""
        expected = self.expected_revision if expected_revision is None else expected_revision
        return admin_pb2.WriteContext(
            expected_revision=expected, author=self.author, reason=self.reason
        )


def load_content(kind: ArtifactKind, path: Path) -> Content:
    """The validated content of a file; FileFault otherwise."""
    data = read_limited(path)
    if kind is ArtifactKind.POLICY:
        return load_policy(data, str(path))
    return load_sts(data, str(path)) if kind is ArtifactKind.STS else load_sps(data, str(path))


def artifact_name(name: str | None, path: Path) -> str:
    """The name to store under: the one given, else that of the file."""
    chosen = path.stem.lower() if name is None else name
    if fault := name_fault("name", chosen):
        hint = "" if name is not None else " (it comes from the file; give --name)"
        raise CtlError(fault + hint)
    return chosen


def measured_identity(
    admin: Admin, path: Path | None, worker_id: str | None
) -> DeploymentIdentity | None:
    """The deployment that a table was measured on, from a file or a known worker."""
    if path is not None and worker_id is not None:
        raise CtlError("give --measured-on or --measured-on-worker, not both")
    if path is not None:
        return load_identity(read_limited(path), str(path))
    if worker_id is None:
        return None
    workers = admin.call("ListWorkers", admin_pb2.ListWorkersRequest()).workers
    for worker in workers:
        if worker.worker_id == worker_id:
            return identity_from_proto(worker.identity)
    raise CtlError(f"the service knows no worker {worker_id!r}; see `dsparkctl workers`")


def artifact_message(
    name: str, content: Content, measured_on: DeploymentIdentity | None
) -> artifacts_pb2.Artifact:
    """The artifact to store."""
    message = artifacts_pb2.Artifact(
        name=name,
        measured_on=identity_to_proto(measured_on) if measured_on else None,
    )
    set_content(message, content)
    return message


def parse_selector(pairs: list[str]) -> dict[str, str]:
    """Labels from `key=value` texts."""
    selector: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise CtlError(f"--selector is {pair!r}, but must be key=value")
        if key in selector:
            raise CtlError(f"--selector names {key!r} twice; keep one")
        selector[key] = value
    return selector
