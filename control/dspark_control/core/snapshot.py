"""What one worker runs, and whether a given worker can run it.

`incompatibility` is the one place that decides this. The service asks it before a write
and the worker asks it when a snapshot arrives, so that both give the same answer.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dspark_control.core.checks import Fault
from dspark_control.core.identity import (
    DeploymentIdentity,
    find_identity_fault,
    identity_differences,
)
from dspark_control.core.policy import (
    VERIFY_ALL,
    BudgetMode,
    SchedulingPolicy,
    could_trim,
    find_policy_fault,
    find_policy_gamma_fault,
)
from dspark_control.core.tables import (
    SpsTable,
    StsTable,
    find_sps_fault,
    find_sts_fault,
    find_sts_gamma_fault,
)


class RejectReason(StrEnum):
    """Why a worker refuses a snapshot, in terms a program can act on."""

    GAMMA_MISMATCH = "gamma_mismatch"
    IDENTITY_MISMATCH = "identity_mismatch"
    INVALID_VALUE = "invalid_value"
    UNSUPPORTED = "unsupported"
    MALFORMED = "malformed"
    APPLY_FAILED = "apply_failed"


class Rejection(NamedTuple):
    """A refusal: the reason, one sentence for people and the fields at fault."""

    reason: RejectReason
    message: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Capabilities:
    """What a worker can do."""

    ragged_verify: bool
    confidence_head: bool
    version: str


class SnapshotDigests(NamedTuple):
    """The three digests that say which snapshot this is; empty for built-in or absent."""

    policy: str = ""
    sts: str = ""
    sps: str = ""


@dataclass(frozen=True)
class Snapshot:
    """Policy and tables of one worker at one revision."""

    revision: int
    policy: SchedulingPolicy
    sts: StsTable | None = None
    """None means identity temperatures."""
    sps: SpsTable | None = None
    """None means no cost model: a scheduled policy verifies everything."""
    binding: str = ""
    cohort: str = "stable"
    policy_digest: str = ""
    sts_digest: str = ""
    sps_digest: str = ""
    sts_measured_on: DeploymentIdentity | None = None
    sps_measured_on: DeploymentIdentity | None = None

    @property
    def digests(self) -> SnapshotDigests:
        """What makes two snapshots the same to a worker, revision aside."""
        return SnapshotDigests(self.policy_digest, self.sts_digest, self.sps_digest)


def default_snapshot(revision: int) -> Snapshot:
    """What a worker runs when no binding selects it."""
    return Snapshot(revision=revision, policy=VERIFY_ALL)


def is_kill_switch(snapshot: Snapshot) -> bool:
    """Whether the snapshot verifies everything, for which a worker needs no table at all."""
    return snapshot.policy.mode is BudgetMode.VERIFY_ALL


def incompatibility(
    snapshot: Snapshot, identity: DeploymentIdentity, capabilities: Capabilities
) -> Rejection | None:
    """Why the worker cannot run `snapshot`, or None.

    The kill switch always runs: a worker ignores the tables that come with it.
    """
    if is_kill_switch(snapshot):
        return None
    return (
        _invalid_value(snapshot)
        or _gamma_mismatch(snapshot, identity.gamma)
        or _identity_mismatch("sts", snapshot.sts_measured_on, identity)
        or _identity_mismatch("sps", snapshot.sps_measured_on, identity)
        or _unsupported(snapshot.policy, capabilities)
    )


def _invalid_value(snapshot: Snapshot) -> Rejection | None:
    faults = (
        ("policy", find_policy_fault(snapshot.policy)),
        ("sts", find_sts_fault(snapshot.sts) if snapshot.sts else None),
        ("sps", find_sps_fault(snapshot.sps) if snapshot.sps else None),
        ("sts_measured_on", _measured_on_fault(snapshot.sts_measured_on)),
        ("sps_measured_on", _measured_on_fault(snapshot.sps_measured_on)),
    )
    return _first_rejection(RejectReason.INVALID_VALUE, faults)


def _measured_on_fault(identity: DeploymentIdentity | None) -> Fault | None:
    return find_identity_fault(identity) if identity else None


def _gamma_mismatch(snapshot: Snapshot, gamma: int) -> Rejection | None:
    if gamma == 0:  # not known: nothing to compare with
        return None
    faults = (
        ("policy", find_policy_gamma_fault(snapshot.policy, gamma)),
        ("sts", find_sts_gamma_fault(snapshot.sts, gamma) if snapshot.sts else None),
    )
    return _first_rejection(RejectReason.GAMMA_MISMATCH, faults)


def _first_rejection(
    reason: RejectReason, faults: tuple[tuple[str, Fault | None], ...]
) -> Rejection | None:
    for part, fault in faults:
        if fault is not None:
            return Rejection(reason, f"{part}.{fault.message}", (f"{part}.{fault.field}",))
    return None


def _identity_mismatch(
    part: str, measured_on: DeploymentIdentity | None, running: DeploymentIdentity
) -> Rejection | None:
    names = identity_differences(measured_on, running) if measured_on else ()
    if not names:
        return None
    pairs = ", ".join(
        f"{name} {getattr(measured_on, name)!r} but runs {getattr(running, name)!r}"
        for name in names
    )
    message = f"the {part} table was measured on another deployment: {pairs}; measure it there"
    return Rejection(
        RejectReason.IDENTITY_MISMATCH,
        message,
        tuple(f"{part}_measured_on.{name}" for name in names),
    )


def _unsupported(policy: SchedulingPolicy, capabilities: Capabilities) -> Rejection | None:
    if not could_trim(policy):
        return None
    for name, is_able, remedy in (
        ("ragged_verify", capabilities.ragged_verify, "start it in compact verify mode"),
        ("confidence_head", capabilities.confidence_head, "serve a draft with a confidence head"),
    ):
        if not is_able:
            message = (
                f"policy.mode is {policy.mode.value}, but the worker has no {name}; "
                f"{remedy} or use {BudgetMode.VERIFY_ALL.value}"
            )
            return Rejection(RejectReason.UNSUPPORTED, message, ("policy.mode",))
    return None
