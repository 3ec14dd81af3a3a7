"""Asks, before `apply --bind` stores anything, whether the connected workers would take it.

The service checks again when the binding is written; this only keeps a refused change
from leaving its artifact behind.
"""

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark_control.codec import (
    capabilities_from_proto,
    identity_from_proto,
    kind_from_proto,
    kind_to_proto,
    snapshot_from_proto,
)
from dspark_control.core import ArtifactKind, Binding, incompatibility, would_serve
from dspark_control.ctl.connection import Admin
from dspark_control.ctl.errors import CtlError


def check_workers(
    admin: Admin,
    target: admin_pb2.Binding,
    artifact: artifacts_pb2.Artifact,
    bindings: list[admin_pb2.Binding],
) -> None:
    """CtlError when a worker that `target` serves would reject it with `artifact` in it."""
    workers = admin.call("ListWorkers", admin_pb2.ListWorkersRequest()).workers
    candidate = Binding(target.name, dict(target.selector))
    others = [Binding(b.name, dict(b.selector)) for b in bindings]
    served = [w for w in workers if w.connected and would_serve(candidate, others, w.labels)]
    if not served:
        return
    snapshot = snapshot_from_proto(_snapshot(admin, target, artifact))
    for worker in served:
        rejection = incompatibility(
            snapshot,
            identity_from_proto(worker.identity),
            capabilities_from_proto(worker.capabilities),
        )
        if rejection is not None:
            raise CtlError(
                f"worker {worker.worker_id!r}, which binding {target.name!r} serves, would reject "
                f"it ({rejection.reason.value}): {rejection.message}; nothing was stored"
            )


def _snapshot(
    admin: Admin, target: admin_pb2.Binding, artifact: artifacts_pb2.Artifact
) -> worker_pb2.Snapshot:
    parts = {kind_from_proto(artifact.kind): artifact}
    for kind, ref in (
        (ArtifactKind.POLICY, target.policy_digest),
        (ArtifactKind.STS, target.sts_digest),
        (ArtifactKind.SPS, target.sps_digest),
    ):
        if kind not in parts and ref:
            request = admin_pb2.GetArtifactRequest(kind=kind_to_proto(kind), ref=ref)
            parts[kind] = admin.call("GetArtifact", request).artifact
    snapshot = worker_pb2.Snapshot(policy=parts[ArtifactKind.POLICY].policy)
    for kind, table, measured_on in (
        (ArtifactKind.STS, snapshot.sts, snapshot.sts_measured_on),
        (ArtifactKind.SPS, snapshot.sps, snapshot.sps_measured_on),
    ):
        if kind in parts:
            table.CopyFrom(getattr(parts[kind], kind.value))
            measured_on.CopyFrom(parts[kind].measured_on)
    return snapshot
