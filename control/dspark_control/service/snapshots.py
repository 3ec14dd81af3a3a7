"""Snapshot messages, built once for all the workers that should run the same."""

import asyncio
from collections import OrderedDict

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.codec import snapshot_to_proto
from dspark_control.core import (
    ArtifactKind,
    SchedulingPolicy,
    Snapshot,
    SpsAdditiveTable,
    SpsStepTable,
    StsTable,
    default_snapshot,
)
from dspark_control.service.async_store import AsyncStore
from dspark_control.service.desired import Desired
from dspark_control.store import Store, StoreCorrupt, StoredArtifact

CACHED = 64
"""Snapshots kept; each may hold two tables of a megabyte."""


class SnapshotCache:
    """Loads snapshots; equal requests at the same time load once."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._loading: OrderedDict[Desired, asyncio.Future[pb.Snapshot]] = OrderedDict()

    async def get(self, desired: Desired) -> pb.Snapshot:
        """The message; StoreError when it cannot be loaded now."""
        if desired not in self._loading:
            self._loading[desired] = asyncio.ensure_future(self._load(desired))
            while len(self._loading) > CACHED:
                self._loading.popitem(last=False)
        future = self._loading[desired]
        try:
            return await asyncio.shield(future)
        except Exception:
            if self._loading.get(desired) is future:
                del self._loading[desired]
            raise

    async def _load(self, desired: Desired) -> pb.Snapshot:
        return await self._store.read(_load_message, self._store.store, desired)


def _load_message(store: Store, desired: Desired) -> pb.Snapshot:
    return snapshot_to_proto(load_snapshot(store, desired))


def load_snapshot(store: Store, desired: Desired) -> Snapshot:
    """The snapshot that `desired` names; blocking."""
    if not desired.digests.policy:
        return default_snapshot(desired.revision)
    return compose(
        desired,
        store.get_artifact(ArtifactKind.POLICY, desired.digests.policy),
        _get(store, ArtifactKind.STS, desired.digests.sts),
        _get(store, ArtifactKind.SPS, desired.digests.sps),
    )


def compose(
    desired: Desired,
    policy: StoredArtifact,
    sts: StoredArtifact | None,
    sps: StoredArtifact | None,
) -> Snapshot:
    """The snapshot of the three artifacts."""
    sts_table = sts.content if sts else None
    sps_table = sps.content if sps else None
    if (
        not isinstance(policy.content, SchedulingPolicy)
        or not isinstance(sts_table, StsTable | None)
        or not isinstance(sps_table, SpsStepTable | SpsAdditiveTable | None)
    ):
        raise StoreCorrupt(f"an artifact of {desired.binding!r} has the content of another kind")
    return Snapshot(
        revision=desired.revision,
        policy=policy.content,
        sts=sts_table,
        sps=sps_table,
        binding=desired.binding,
        policy_digest=desired.digests.policy,
        sts_digest=desired.digests.sts,
        sps_digest=desired.digests.sps,
        sts_measured_on=sts.measured_on if sts else None,
        sps_measured_on=sps.measured_on if sps else None,
    )


def _get(store: Store, kind: ArtifactKind, digest: str) -> StoredArtifact | None:
    return store.get_artifact(kind, digest) if digest else None
