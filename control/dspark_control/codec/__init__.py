"""The API's messages to the core and back; no other module knows both."""

from dspark_control.codec.artifacts import (
    identity_from_proto,
    identity_to_proto,
    policy_from_proto,
    policy_to_proto,
    set_content,
    sps_from_proto,
    sps_to_proto,
    sts_from_proto,
    sts_to_proto,
)
from dspark_control.codec.enums import (
    kind_from_proto,
    kind_to_proto,
    mode_from_proto,
    mode_to_proto,
    reject_reason_to_proto,
    search_from_proto,
    search_to_proto,
)
from dspark_control.codec.unknown import has_unknown_fields
from dspark_control.codec.worker import (
    capabilities_from_proto,
    capabilities_to_proto,
    rejection_to_proto,
    snapshot_from_proto,
    snapshot_to_proto,
)

__all__ = [
    "capabilities_from_proto",
    "capabilities_to_proto",
    "has_unknown_fields",
    "identity_from_proto",
    "identity_to_proto",
    "kind_from_proto",
    "kind_to_proto",
    "mode_from_proto",
    "mode_to_proto",
    "policy_from_proto",
    "policy_to_proto",
    "reject_reason_to_proto",
    "rejection_to_proto",
    "search_from_proto",
    "search_to_proto",
    "set_content",
    "snapshot_from_proto",
    "snapshot_to_proto",
    "sps_from_proto",
    "sps_to_proto",
    "sts_from_proto",
    "sts_to_proto",
]
