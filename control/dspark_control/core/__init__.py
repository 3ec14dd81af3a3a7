"""The shared nouns of the control plane: policies, tables, identities, snapshots.

Pure: no gRPC, no database, no engine.
"""

from dspark_control.core.bindings import Binding, resolve, selects, would_serve
from dspark_control.core.digest import (
    ArtifactKind,
    Content,
    artifact_digest,
    canonical_json,
    kind_of,
    plain_content,
    plain_identity,
)
from dspark_control.core.identity import (
    DeploymentIdentity,
    identity_differences,
    identity_fault,
)
from dspark_control.core.policy import (
    VERIFY_ALL,
    BudgetMode,
    BudgetSearch,
    SchedulingPolicy,
    could_trim,
    policy_fault,
)
from dspark_control.core.snapshot import (
    Capabilities,
    Rejection,
    RejectReason,
    Snapshot,
    SnapshotDigests,
    default_snapshot,
    incompatibility,
    is_kill_switch,
)
from dspark_control.core.tables import (
    SpsAdditiveTable,
    SpsStepTable,
    SpsTable,
    StsTable,
    sps_fault,
    sts_fault,
)

__all__ = [
    "VERIFY_ALL",
    "ArtifactKind",
    "Binding",
    "BudgetMode",
    "BudgetSearch",
    "Capabilities",
    "Content",
    "DeploymentIdentity",
    "RejectReason",
    "Rejection",
    "SchedulingPolicy",
    "Snapshot",
    "SnapshotDigests",
    "SpsAdditiveTable",
    "SpsStepTable",
    "SpsTable",
    "StsTable",
    "artifact_digest",
    "canonical_json",
    "could_trim",
    "default_snapshot",
    "identity_differences",
    "identity_fault",
    "incompatibility",
    "is_kill_switch",
    "kind_of",
    "plain_content",
    "plain_identity",
    "policy_fault",
    "resolve",
    "selects",
    "sps_fault",
    "sts_fault",
    "would_serve",
]
