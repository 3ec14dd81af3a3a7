"""The audit log: gap-free revisions, each hashed together with the one before.

Every write appends here in its own transaction. The head row is locked first, so two
writers can neither share a revision nor leave one out.
"""

import hashlib
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, insert, select, update

from dspark_control.core import canonical_json
from dspark_control.store.errors import Conflict, StoreCorrupt
from dspark_control.store.records import Action, Entry, WriteContext
from dspark_control.store.schema import head, revisions


class Head(NamedTuple):
    """The newest revision and its hash."""

    revision: int
    hash: str


def read_head(connection: Connection) -> Head:
    """The newest revision."""
    return Head(*connection.execute(select(head.c.revision, head.c.hash)).one())


def lock_head(connection: Connection, context: WriteContext) -> Head:
    """The newest revision, held until the transaction ends; Conflict when it is not expected."""
    query = select(head.c.revision, head.c.hash).with_for_update()
    current = Head(*connection.execute(query).one())
    if context.expected_revision not in (0, current.revision):
        raise Conflict(context.expected_revision, current.revision)
    return current


def append(connection: Connection, current: Head, context: WriteContext, action: Action) -> Entry:
    """Add the revision after `current`, which `lock_head` gave."""
    bare = Entry(
        revision=current.revision + 1,
        action=action.name,
        subject=action.subject,
        author=context.author,
        reason=context.reason,
        trace_id=context.trace_id,
        at_us=time.time_ns() // 1000,
        detail_json=canonical_json(action.detail),
        hash="",
    )
    values = {**vars(bare), "hash": entry_hash(bare, current.hash)}
    connection.execute(insert(revisions).values(values))
    connection.execute(update(head).values(revision=bare.revision, hash=values["hash"]))
    return Entry(**values)


def entry_hash(entry: Entry, previous_hash: str) -> str:
    """SHA-256 over the entry and the hash before it, hex."""
    fields = {**vars(entry), "hash": previous_hash}
    return hashlib.sha256(canonical_json(fields).encode()).hexdigest()


def read_entries(connection: Connection, before: int, limit: int) -> tuple[Entry, ...]:
    """Newest first, only revisions below `before` (0: from the newest)."""
    query = select(revisions).order_by(revisions.c.revision.desc()).limit(limit)
    if before:
        query = query.where(revisions.c.revision < before)
    return tuple(map(to_entry, connection.execute(query)))


def read_entries_after(connection: Connection, after: int, limit: int) -> tuple[Entry, ...]:
    """Oldest first, only revisions above `after`."""
    query = select(revisions).where(revisions.c.revision > after)
    rows = connection.execute(query.order_by(revisions.c.revision).limit(limit))
    return tuple(map(to_entry, rows))


def walk_chain(connection: Connection) -> Iterator[Entry]:
    """All entries, oldest first; StoreCorrupt at the first that breaks the chain."""
    previous = Head(0, "")
    query = select(revisions).order_by(revisions.c.revision)
    for row in connection.execution_options(yield_per=1000).execute(query):
        entry = to_entry(row)
        if entry.revision != previous.revision + 1:
            raise StoreCorrupt(f"revision {previous.revision + 1} is missing")
        if entry.hash != entry_hash(entry, previous.hash):
            raise StoreCorrupt(f"revision {entry.revision} does not match its hash")
        previous = Head(entry.revision, entry.hash)
        yield entry
    if read_head(connection) != previous:
        raise StoreCorrupt(f"the head does not match revision {previous.revision}")


def to_entry(row: Row[Any]) -> Entry:
    """The entry in a row of `revisions`."""
    return Entry(**row._mapping)
