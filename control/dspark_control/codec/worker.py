"""Snapshots, capabilities and refusals between the API's messages and the core."""

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.codec.artifacts import (
    identity_from_proto,
    identity_to_proto,
    policy_from_proto,
    policy_to_proto,
    sps_from_proto,
    sps_to_proto,
    sts_from_proto,
    sts_to_proto,
)
from dspark_control.codec.enums import reject_reason_to_proto
from dspark_control.core import Capabilities, Rejection, Snapshot


def snapshot_from_proto(message: pb.Snapshot) -> Snapshot:
    """The snapshot; ValueError when the policy is absent or a part cannot be decoded."""
    if not message.HasField("policy"):
        raise ValueError("snapshot.policy is not set; every snapshot carries a policy")
    return Snapshot(
        revision=message.revision,
        policy=policy_from_proto(message.policy),
        sts=sts_from_proto(message.sts) if message.HasField("sts") else None,
        sps=sps_from_proto(message.sps) if message.HasField("sps") else None,
        binding=message.binding,
        cohort=message.cohort,
        policy_digest=message.policy_digest,
        sts_digest=message.sts_digest,
        sps_digest=message.sps_digest,
        sts_measured_on=(
            identity_from_proto(message.sts_measured_on)
            if message.HasField("sts_measured_on")
            else None
        ),
        sps_measured_on=(
            identity_from_proto(message.sps_measured_on)
            if message.HasField("sps_measured_on")
            else None
        ),
    )


def snapshot_to_proto(snapshot: Snapshot) -> pb.Snapshot:
    """The message of `snapshot`."""
    return pb.Snapshot(
        revision=snapshot.revision,
        binding=snapshot.binding,
        cohort=snapshot.cohort,
        policy=policy_to_proto(snapshot.policy),
        sts=sts_to_proto(snapshot.sts) if snapshot.sts else None,
        sps=sps_to_proto(snapshot.sps) if snapshot.sps else None,
        policy_digest=snapshot.policy_digest,
        sts_digest=snapshot.sts_digest,
        sps_digest=snapshot.sps_digest,
        sts_measured_on=(
            identity_to_proto(snapshot.sts_measured_on) if snapshot.sts_measured_on else None
        ),
        sps_measured_on=(
            identity_to_proto(snapshot.sps_measured_on) if snapshot.sps_measured_on else None
        ),
    )


def capabilities_from_proto(message: pb.Capabilities) -> Capabilities:
    """What the worker can do."""
    return Capabilities(
        ragged_verify=message.ragged_verify,
        confidence_head=message.confidence_head,
        version=message.version,
    )


def capabilities_to_proto(capabilities: Capabilities) -> pb.Capabilities:
    """The message of `capabilities`."""
    return pb.Capabilities(
        ragged_verify=capabilities.ragged_verify,
        confidence_head=capabilities.confidence_head,
        version=capabilities.version,
    )


def rejection_to_proto(
    rejection: Rejection, *, nonce: str = "", revision: int = 0
) -> pb.SnapshotAck:
    """The REJECTED answer to the update with `nonce` and `revision`."""
    return pb.SnapshotAck(
        nonce=nonce,
        revision=revision,
        result=pb.ACK_RESULT_REJECTED,
        reason=reject_reason_to_proto(rejection.reason),
        message=rejection.message,
        fields=rejection.fields,
    )
