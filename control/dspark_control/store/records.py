"""What goes into the store and comes out of it."""

from dataclasses import dataclass
from typing import NamedTuple

from dspark_control.core import ArtifactKind, Binding, Content, DeploymentIdentity


@dataclass(frozen=True)
class WriteContext:
    """Who writes, why, and what they had seen (0: anything)."""

    author: str
    reason: str
    expected_revision: int = 0
    trace_id: str = ""


@dataclass(frozen=True)
class StoredArtifact:
    """One version of a named artifact; `revision` and `created_at_us` are the version's."""

    digest: str
    kind: ArtifactKind
    name: str
    content: Content
    measured_on: DeploymentIdentity | None
    revision: int
    created_at_us: int
    """Microseconds since the epoch, UTC."""


@dataclass(frozen=True)
class Entry:
    """One row of the append-only, hash-chained audit log."""

    revision: int
    action: str
    subject: str
    author: str
    reason: str
    trace_id: str
    at_us: int
    detail_json: str
    hash: str


class Draft(NamedTuple):
    """An artifact to store."""

    name: str
    content: Content
    measured_on: DeploymentIdentity | None = None


class Action(NamedTuple):
    """What a write does, for the audit log; `detail` is JSON values."""

    name: str
    subject: str
    detail: object


class PutResult(NamedTuple):
    """A stored artifact and whether this call stored it."""

    artifact: StoredArtifact
    is_new: bool


class BindingChange(NamedTuple):
    """What one revision did to one binding."""

    revision: int
    name: str
    before: Binding | None
    after: Binding | None


class Changes(NamedTuple):
    """The binding changes up to a revision."""

    revision: int
    bindings: tuple[BindingChange, ...]
