"""The store: every call is one transaction, and every write is one revision.

Blocking; the service calls it from threads. All errors are `StoreError`s.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection, Engine

from dspark_control.core import ArtifactKind, Binding
from dspark_control.store import artifacts, bindings, ledger
from dspark_control.store.database import open_engine, reading, writing
from dspark_control.store.errors import Refused, StoreCorrupt
from dspark_control.store.migrate import migrate
from dspark_control.store.records import (
    Changes,
    Draft,
    Entry,
    PutResult,
    StoredArtifact,
    WriteContext,
)

BindingCheck = Callable[
    [Binding, StoredArtifact, StoredArtifact | None, StoredArtifact | None], str | None
]
"""Why a binding with these artifacts must not be written, or None; runs in the transaction."""


class Store:
    """Artifacts, bindings and their history in one database."""

    def __init__(self, url: str) -> None:
        """Open `url` and bring its schema up to date; ValueError for a URL that cannot work."""
        self._engine: Engine = open_engine(url)
        migrate(self._engine)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def put_artifact(self, context: WriteContext, draft: Draft) -> PutResult:
        """Make the draft the newest version of its name; no revision when it already is."""
        with writing(self._engine) as connection:
            head = ledger.lock_head(connection, context)
            return artifacts.put(connection, head, context, draft)

    def get_artifact(self, kind: ArtifactKind, ref: str) -> StoredArtifact:
        """What a digest, a digest prefix or a name means; NotFound or InvalidRef otherwise."""
        with reading(self._engine) as connection:
            return artifacts.get(connection, kind, ref)

    def list_artifacts(
        self, kind: ArtifactKind | None = None, before: int = 0, limit: int = 100
    ) -> tuple[StoredArtifact, ...]:
        """Versions, newest first, only revisions below `before` (0: from the newest)."""
        with reading(self._engine) as connection:
            return artifacts.page(connection, kind, before, limit)

    def put_binding(
        self, context: WriteContext, binding: Binding, check: BindingCheck | None = None
    ) -> Binding:
        """Write `binding`, its digests given as refs; Refused with what `check` says."""
        with writing(self._engine) as connection:
            head = ledger.lock_head(connection, context)
            policy = artifacts.get(connection, ArtifactKind.POLICY, binding.policy_digest)
            sts = _get_optional(connection, ArtifactKind.STS, binding.sts_digest)
            sps = _get_optional(connection, ArtifactKind.SPS, binding.sps_digest)
            resolved = replace(
                binding,
                policy_digest=policy.digest,
                sts_digest=sts.digest if sts else "",
                sps_digest=sps.digest if sps else "",
            )
            if check and (fault := check(resolved, policy, sts, sps)):
                raise Refused(fault)
            return bindings.put(connection, head, context, resolved)

    def delete_binding(self, context: WriteContext, name: str) -> int:
        """Remove a binding; the revision of the removal, or NotFound."""
        with writing(self._engine) as connection:
            head = ledger.lock_head(connection, context)
            return bindings.remove(connection, head, context, name)

    def list_bindings(self) -> tuple[int, tuple[Binding, ...]]:
        """The current revision and all bindings by name."""
        with reading(self._engine) as connection:
            return ledger.read_head(connection).revision, bindings.list_all(connection)

    def binding_changes(self, after: int = 0) -> Changes:
        """The current revision and what happened to bindings since revision `after`."""
        with reading(self._engine) as connection:
            revision = ledger.read_head(connection).revision
            return Changes(revision, bindings.read_changes(connection, after))

    def history(self, before: int = 0, limit: int = 100) -> tuple[Entry, ...]:
        """The audit log, newest first, only revisions below `before` (0: from the newest)."""
        with reading(self._engine) as connection:
            return ledger.read_entries(connection, before, limit)

    def history_after(self, after: int, limit: int = 100) -> tuple[Entry, ...]:
        """The audit log, oldest first, only revisions above `after`."""
        with reading(self._engine) as connection:
            return ledger.read_entries_after(connection, after, limit)

    def verify_chain(self) -> str | None:
        """What is wrong with the log, the bindings or the contents, or None.

        Checks that revisions have no gap, that every hash fits, that the bindings are those
        that the log leads to, that each artifact revision has its version and the other way
        round, and that contents have their digests.
        """
        with reading(self._engine) as connection:
            try:
                return _find_chain_fault(connection) or artifacts.find_content_fault(connection)
            except StoreCorrupt as error:
                return str(error)


def _get_optional(connection: Connection, kind: ArtifactKind, ref: str) -> StoredArtifact | None:
    return artifacts.get(connection, kind, ref) if ref else None


def _find_chain_fault(connection: Connection) -> str | None:
    expected: dict[str, Binding] = {}
    logged = set()
    for entry in ledger.walk_chain(connection):
        if entry.action == artifacts.PUT:
            logged.add((entry.revision, entry.subject))
            continue
        change = bindings.to_change(entry)
        if change.after:
            expected[change.name] = change.after
        else:
            expected.pop(change.name, None)
    if {b.name: b for b in bindings.list_all(connection)} != expected:
        return "the bindings are not those that the log leads to"
    if artifacts.version_keys(connection) != logged:
        return "the artifact versions are not those that the log names"
    return None
