"""Whether the connected workers would take a binding, asked before it is written."""

from typing import NamedTuple

from dspark_control.core import (
    Binding,
    Capabilities,
    DeploymentIdentity,
    incompatibility,
    would_serve,
)
from dspark_control.service.desired import Desired
from dspark_control.service.fleet import Fleet
from dspark_control.service.snapshots import compose
from dspark_control.store import BindingCheck, StoredArtifact


class _Worker(NamedTuple):
    worker_id: str
    labels: dict[str, str]
    identity: DeploymentIdentity
    capabilities: Capabilities


def binding_check(fleet: Fleet) -> BindingCheck:
    """A check against the fleet as it is now, which may run in another thread."""
    workers = [
        _Worker(w.worker_id, dict(w.labels), w.identity, w.capabilities)
        for w in fleet.workers()
        if w.is_connected
    ]
    bindings = fleet.history.bindings

    def check(
        binding: Binding,
        policy: StoredArtifact,
        sts: StoredArtifact | None,
        sps: StoredArtifact | None,
    ) -> str | None:
        snapshot = compose(Desired(binding.name, binding.digests, 0), policy, sts, sps)
        for worker in workers:
            if not would_serve(binding, bindings, worker.labels):
                continue
            rejection = incompatibility(snapshot, worker.identity, worker.capabilities)
            if rejection is not None:
                return (
                    f"worker {worker.worker_id!r}, which binding {binding.name!r} serves, would "
                    f"reject it ({rejection.reason.value}): {rejection.message}"
                )
        return None

    return check
