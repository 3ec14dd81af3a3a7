"""What the service knows of one worker, and when it owes it an update.

A pure state machine: no sockets, no clock of its own. The rules: at most one update is
pending; what the worker already runs is not sent; what it rejected is not sent again until
something else is desired or the worker restarts, but a failure to apply is tried again.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.codec import capabilities_from_proto, identity_from_proto
from dspark_control.core import Capabilities, DeploymentIdentity, SnapshotDigests
from dspark_control.service.desired import Desired

ACK_TIMEOUT_SECONDS = 30.0
"""After this long without an ack a pending update no longer holds back a newer one."""

RETRY_SECONDS = 30.0
"""After this long an update that the engine failed to apply is sent again."""


class Applied(NamedTuple):
    """What a worker says it runs."""

    revision: int
    digests: SnapshotDigests


class Pending(NamedTuple):
    """An update that was sent and not yet answered; `sent_at` is monotonic seconds."""

    nonce: str
    desired: Desired
    sent_at: float


@dataclass
class WorkerState:
    """One worker, connected or not."""

    worker_id: str
    incarnation: str
    labels: dict[str, str]
    identity: DeploymentIdentity
    capabilities: Capabilities
    desired: Desired
    is_connected: bool = True
    applied: Applied | None = None
    sent_revision: int = 0
    pending: Pending | None = None
    quarantined: SnapshotDigests | None = None
    retry_at: float = 0.0
    """Monotonic seconds before which nothing is sent again, after a failure to apply."""
    last_ack: pb.SnapshotAck | None = None
    last_seen_us: int = 0
    reported_revision: int = field(default=0)
    """Revision of the last heartbeat, hello or APPLIED."""

    def greet(self, hello: pb.WorkerHello, desired: Desired) -> None:
        """Take over what a (re)connecting worker says."""
        if hello.incarnation != self.incarnation:
            self.quarantined = None
            self.last_ack = None
            self.sent_revision = 0
        self.incarnation = hello.incarnation
        self.labels = dict(hello.labels)
        self.identity = identity_from_proto(hello.identity)
        self.capabilities = capabilities_from_proto(hello.capabilities)
        self.applied = _applied(hello)
        self.reported_revision = hello.applied_revision
        self.pending = None
        self.retry_at = 0.0
        self.is_connected = True
        self.want(desired)

    def want(self, desired: Desired) -> None:
        """Set what the worker should run."""
        if self.quarantined != desired.digests:
            self.quarantined = None
        if desired != self.desired:
            self.retry_at = 0.0
        self.desired = desired

    def next_update(self, now: float) -> Desired | None:
        """What must be sent at `now` (monotonic seconds), or None."""
        if self.pending is not None and not self._may_supersede(self.pending, now):
            return None
        if self.applied == Applied(self.desired.revision, self.desired.digests):
            return None
        if now < self.retry_at:
            return None
        return None if self.quarantined == self.desired.digests else self.desired

    def _may_supersede(self, pending: Pending, now: float) -> bool:
        is_late = now - pending.sent_at >= ACK_TIMEOUT_SECONDS
        return is_late and pending.desired != self.desired

    def mark_sent(self, nonce: str, desired: Desired, now: float) -> None:
        """Note that an update went out."""
        self.pending = Pending(nonce, desired, now)
        self.sent_revision = desired.revision

    def acknowledge(self, ack: pb.SnapshotAck, now: float) -> bool:
        """Take over an answer at `now`; False when it answers nothing that is pending.

        ValueError when it neither applies nor rejects.
        """
        if ack.result not in (pb.ACK_RESULT_APPLIED, pb.ACK_RESULT_REJECTED):
            raise ValueError(f"ack.result is {ack.result}, but must be APPLIED or REJECTED")
        if self.pending is None or ack.nonce != self.pending.nonce:
            return False
        desired = self.pending.desired
        self.pending, self.last_ack = None, ack
        if ack.result == pb.ACK_RESULT_APPLIED:
            self.applied = Applied(desired.revision, desired.digests)
            self.reported_revision = desired.revision
        elif ack.reason == pb.REJECT_REASON_APPLY_FAILED:
            self.retry_at = now + RETRY_SECONDS
        elif desired.digests == self.desired.digests:
            self.quarantined = desired.digests
        return True


def new_worker(hello: pb.WorkerHello, desired: Desired) -> WorkerState:
    """The state of a worker that connects for the first time."""
    state = WorkerState(
        worker_id=hello.worker_id,
        incarnation=hello.incarnation,
        labels={},
        identity=DeploymentIdentity(),
        capabilities=Capabilities(False, False, ""),
        desired=desired,
    )
    state.greet(hello, desired)
    return state


def _applied(hello: pb.WorkerHello) -> Applied | None:
    if hello.applied_revision == 0:  # nothing that came from the service
        return None
    digests = SnapshotDigests(
        hello.applied_policy_digest, hello.applied_sts_digest, hello.applied_sps_digest
    )
    return Applied(hello.applied_revision, digests)
