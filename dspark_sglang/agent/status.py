"""What the agent tells others: one frozen object, replaced and never changed."""

from dataclasses import dataclass
from enum import StrEnum

from dspark_control.core import SnapshotDigests

NO_DIGESTS = SnapshotDigests()
"""The digests of the built-in default."""


class AgentState(StrEnum):
    """How far what runs can be trusted to be what the service wants."""

    READY = "ready"
    """The stream is open and what the service wants runs; or there is no service to ask."""
    STALE = "stale"
    """No stream: what runs may be older than what the service wants."""
    ERROR = "error"
    """The last update was refused or failed, or the service refuses this worker."""


class Source(StrEnum):
    """Where what runs came from."""

    SERVICE = "service"
    LAST_KNOWN_GOOD = "last_known_good"
    FILES = "files"
    """The table files of SGLang's own flags."""
    DEFAULT = "default"
    """Nothing was given: verify-all."""


@dataclass(frozen=True)
class AgentStatus:
    """The agent at one moment; safe to read from any thread."""

    state: AgentState
    source: Source
    applied_revision: int = 0
    """Revision that runs, 0 for none from the service."""
    digests: SnapshotDigests = NO_DIGESTS
    """Digests of what runs."""
    last_error: str = ""
    """Why the state is STALE or ERROR; empty when READY."""

    def to_plain(self) -> dict[str, object]:
        """The status in the types of JSON."""
        return {
            "state": self.state.value,
            "source": self.source.value,
            "applied_revision": self.applied_revision,
            "digests": self.digests._asdict(),
            "last_error": self.last_error,
        }
