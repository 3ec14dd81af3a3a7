"""Which binding serves which labels, and since which revision.

A worker's revision is that of the last write that changed what it should run. Writes that
do not concern it leave it alone, and a restarted service comes to the same answer, because
it is computed from the log of binding changes.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dspark_control.core import Binding, SnapshotDigests, resolve, selects
from dspark_control.store import BindingChange, Changes

MAX_KNOWN = 4096
"""Label sets whose answer is kept until the next binding change."""


class Desired(NamedTuple):
    """What a worker should run: `binding` is empty when none selects it (verify-all)."""

    binding: str
    digests: SnapshotDigests
    revision: int


class BindingHistory:
    """All binding changes up to `revision`, oldest first."""

    def __init__(self) -> None:
        self.revision = 0
        self._bindings: dict[str, Binding] = {}
        self._changes: list[BindingChange] = []
        self._known: dict[frozenset[tuple[str, str]], Desired] = {}

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The bindings in force."""
        return tuple(self._bindings.values())

    def extend(self, changes: Changes) -> None:
        """Add what happened since `revision`."""
        for change in changes.bindings:
            self._changes.append(change)
            _set(self._bindings, change.name, change.after)
        if changes.bindings:
            self._known.clear()
        self.revision = changes.revision

    def serving(self, labels: Mapping[str, str]) -> Desired:
        """What a worker with `labels` should run."""
        key = frozenset(labels.items())
        if key not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = self._resolve(labels)
        return self._known[key]

    def _resolve(self, labels: Mapping[str, str]) -> Desired:
        state = {b.name: b for b in self._bindings.values() if selects(b.selector, labels)}
        now = resolve(state.values(), labels)
        name = now.name if now else ""
        for change in reversed(self._changes):
            if not _concerns(change, labels):
                continue
            _set(state, change.name, change.before)
            if _digests(resolve(state.values(), labels)) != _digests(now):
                return Desired(name, _digests(now), change.revision)
        return Desired(name, _digests(now), 0)


def _set(state: dict[str, Binding], name: str, binding: Binding | None) -> None:
    if binding is None:
        state.pop(name, None)
    else:
        state[name] = binding


def _concerns(change: BindingChange, labels: Mapping[str, str]) -> bool:
    sides = (change.before, change.after)
    return any(side is not None and selects(side.selector, labels) for side in sides)


def _digests(binding: Binding | None) -> SnapshotDigests:
    return binding.digests if binding else SnapshotDigests()
