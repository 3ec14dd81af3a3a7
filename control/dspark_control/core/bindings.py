"""Bindings: which artifacts serve which workers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dspark_control.core.snapshot import SnapshotDigests


@dataclass(frozen=True)
class Binding:
    """Artifacts for the workers whose labels include `selector`; an empty one matches all."""

    name: str
    selector: Mapping[str, str] = field(default_factory=dict)
    policy_digest: str = ""
    sts_digest: str = ""
    sps_digest: str = ""
    revision: int = 0

    @property
    def digests(self) -> SnapshotDigests:
        """The three digests as one value."""
        return SnapshotDigests(self.policy_digest, self.sts_digest, self.sps_digest)


def selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether a worker with `labels` has every label of `selector`."""
    return all(labels.get(key) == value for key, value in selector.items())


def resolve(bindings: Iterable[Binding], labels: Mapping[str, str]) -> Binding | None:
    """The binding that serves a worker: most selector labels, then the first by name."""
    matching = [binding for binding in bindings if selects(binding.selector, labels)]
    return min(matching, key=lambda b: (-len(b.selector), b.name), default=None)


def would_serve(binding: Binding, others: Iterable[Binding], labels: Mapping[str, str]) -> bool:
    """Whether `binding`, written next to `others`, would be the one for a worker with `labels`."""
    rest = [other for other in others if other.name != binding.name]
    return resolve([*rest, binding], labels) is binding
