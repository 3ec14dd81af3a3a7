"""Artifacts: contents by digest, and the versions of each name."""

import json
import re
from typing import Any

from sqlalchemy import Connection, Row, Select, func, insert, select

from dspark_control.core import (
    ArtifactKind,
    Content,
    DeploymentIdentity,
    SchedulingPolicy,
    SpsAdditiveTable,
    SpsStepTable,
    StsTable,
    artifact_digest,
    canonical_json,
    kind_of,
    plain_content,
    plain_identity,
)
from dspark_control.core.digest import DIGEST_PREFIX
from dspark_control.files.building import build
from dspark_control.store.errors import InvalidRef, NotFound, StoreCorrupt
from dspark_control.store.ledger import Head, append
from dspark_control.store.records import Action, Draft, PutResult, StoredArtifact, WriteContext
from dspark_control.store.schema import artifacts, revisions, versions

PUT = "artifact.put"

MIN_PREFIX = 12
"""Fewest characters of a digest prefix that may stand for the digest."""

_FORMS: dict[str, type[Content]] = {
    kind.__name__: kind for kind in (SchedulingPolicy, StsTable, SpsStepTable, SpsAdditiveTable)
}

_HEX_PREFIX = re.compile(rf"[0-9a-f]{{{MIN_PREFIX},64}}")


def put(connection: Connection, current: Head, context: WriteContext, draft: Draft) -> PutResult:
    """Make the draft the newest version of its name; no revision when it already is."""
    kind = kind_of(draft.content)
    digest = artifact_digest(kind, draft.content, draft.measured_on)
    newest = _newest(connection, kind, draft.name)
    if newest is not None and newest.digest == digest:
        return PutResult(newest, False)
    entry = append(connection, current, context, Action(PUT, digest, _detail(kind, digest, draft)))
    _insert_content(connection, digest, draft)
    row = {"revision": entry.revision, "kind": kind.value, "name": draft.name, "digest": digest}
    connection.execute(insert(versions).values(row))
    return PutResult(get(connection, kind, digest), True)


def get(connection: Connection, kind: ArtifactKind, ref: str) -> StoredArtifact:
    """The newest version that `ref` (digest, digest prefix or name) means.

    NotFound when it means none, InvalidRef when it means several.
    """
    if ref.startswith(DIGEST_PREFIX):
        found = _by_prefix(connection, kind, ref)
    else:
        found = _newest(connection, kind, ref)
        if found is None and _HEX_PREFIX.fullmatch(ref):
            found = _by_prefix(connection, kind, DIGEST_PREFIX + ref)
    if found is None:
        raise NotFound(
            f"no {kind.value} artifact is called {ref!r}; see `dsparkctl get {kind.value}`"
        )
    return found


def page(
    connection: Connection, kind: ArtifactKind | None, before: int, limit: int
) -> tuple[StoredArtifact, ...]:
    """Versions, newest first, only revisions below `before` (0: from the newest)."""
    query = _versions().limit(limit)
    if kind is not None:
        query = query.where(versions.c.kind == kind.value)
    if before:
        query = query.where(versions.c.revision < before)
    return tuple(map(_to_artifact, connection.execute(query)))


def version_keys(connection: Connection) -> set[tuple[int, str]]:
    """Revision and digest of every version."""
    rows = connection.execute(select(versions.c.revision, versions.c.digest))
    return {(row[0], row[1]) for row in rows}


def find_content_fault(connection: Connection) -> str | None:
    """The first stored content that does not have its digest, or None."""
    for row in connection.execution_options(yield_per=100).execute(_versions()):
        artifact = _to_artifact(row)
        digest = artifact_digest(artifact.kind, artifact.content, artifact.measured_on)
        if digest != artifact.digest:
            return f"the content of {artifact.digest} does not match its digest"
    return None


def _detail(kind: ArtifactKind, digest: str, draft: Draft) -> dict[str, object]:
    detail: dict[str, object] = {
        "kind": kind.value,
        "name": draft.name,
        "digest": digest,
        "measured_on": plain_identity(draft.measured_on),
    }
    if kind is ArtifactKind.POLICY:  # tables are too large to say twice
        detail["content"] = plain_content(draft.content)
    return detail


def _insert_content(connection: Connection, digest: str, draft: Draft) -> None:
    known = connection.execute(select(artifacts.c.digest).where(artifacts.c.digest == digest))
    if known.first() is not None:  # under another name
        return
    document = {"form": type(draft.content).__name__, "fields": plain_content(draft.content)}
    connection.execute(
        insert(artifacts).values(
            digest=digest,
            kind=kind_of(draft.content).value,
            content_json=canonical_json(document),
            measured_on_json=canonical_json(plain_identity(draft.measured_on)),
        )
    )


def _versions() -> Select[Any]:
    joined = versions.join(artifacts).join(revisions)
    columns = (*versions.c, artifacts.c.content_json, artifacts.c.measured_on_json)
    query = select(*columns, revisions.c.at_us).select_from(joined)
    return query.order_by(versions.c.revision.desc())


def _newest(connection: Connection, kind: ArtifactKind, name: str) -> StoredArtifact | None:
    query = _versions().where(versions.c.kind == kind.value, versions.c.name == name).limit(1)
    row = connection.execute(query).first()
    return _to_artifact(row) if row is not None else None


def _by_prefix(connection: Connection, kind: ArtifactKind, prefix: str) -> StoredArtifact | None:
    if len(prefix) < MIN_PREFIX:
        raise InvalidRef(f"{prefix!r} is too short; give at least {MIN_PREFIX} characters")
    matches = func.substr(versions.c.digest, 1, len(prefix)) == prefix
    query = _versions().where(versions.c.kind == kind.value, matches)
    found = [_to_artifact(row) for row in connection.execute(query)]
    digests = {artifact.digest for artifact in found}
    if len(digests) > 1:
        raise InvalidRef(f"{prefix!r} begins {len(digests)} digests; give more characters")
    return found[0] if found else None


def _to_artifact(row: Row[Any]) -> StoredArtifact:
    values = row._mapping
    return StoredArtifact(
        digest=values["digest"],
        kind=ArtifactKind(values["kind"]),
        name=values["name"],
        content=_decode_content(values["digest"], values["content_json"]),
        measured_on=_decode_identity(values["digest"], values["measured_on_json"]),
        revision=values["revision"],
        created_at_us=values["at_us"],
    )


def _decode_content(digest: str, text: str) -> Content:
    try:
        document = json.loads(text)
        return build(_FORMS[document["form"]], document["fields"], digest, lambda _: None)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"the content of {digest} cannot be decoded ({error})") from error


def _decode_identity(digest: str, text: str) -> DeploymentIdentity | None:
    try:
        document = json.loads(text)
        return build(DeploymentIdentity, document, digest, lambda _: None) if document else None
    except ValueError as error:
        raise StoreCorrupt(f"the identity of {digest} cannot be decoded ({error})") from error
