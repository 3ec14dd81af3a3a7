"""Policies, tables and identities between the API's messages and the core.

Decoding checks shape (enums set, form set); ranges are the validators' business.
"""

from dspark.control.v1 import artifacts_pb2 as pb
from dspark_control.codec.enums import (
    kind_to_proto,
    mode_from_proto,
    mode_to_proto,
    search_from_proto,
    search_to_proto,
)
from dspark_control.core import (
    Content,
    DeploymentIdentity,
    SchedulingPolicy,
    SpsAdditiveTable,
    SpsStepTable,
    SpsTable,
    StsTable,
    kind_of,
)


def policy_from_proto(message: pb.SchedulingPolicy) -> SchedulingPolicy:
    """The policy; ValueError for an enum that is unset or unknown."""
    return SchedulingPolicy(
        mode=mode_from_proto(message.mode),
        search=search_from_proto(message.search),
        min_verify_length=message.min_verify_length,
        max_verify_length=message.max_verify_length,
        min_predicted_gain=message.min_predicted_gain,
        survival_floor=message.survival_floor,
        verify_all_below_requests=message.verify_all_below_requests,
        fixed_fraction=message.fixed_fraction,
    )


def policy_to_proto(policy: SchedulingPolicy) -> pb.SchedulingPolicy:
    """The message of `policy`."""
    return pb.SchedulingPolicy(
        mode=mode_to_proto(policy.mode),
        search=search_to_proto(policy.search),
        min_verify_length=policy.min_verify_length,
        max_verify_length=policy.max_verify_length,
        min_predicted_gain=policy.min_predicted_gain,
        survival_floor=policy.survival_floor,
        verify_all_below_requests=policy.verify_all_below_requests,
        fixed_fraction=policy.fixed_fraction,
    )


def sts_from_proto(message: pb.StsTable) -> StsTable:
    """The STS table."""
    return StsTable(
        temperatures=tuple(message.temperatures),
        dataset=message.dataset,
        num_samples=message.num_samples,
        ece_before=tuple(message.ece_before),
        ece_after=tuple(message.ece_after),
    )


def sts_to_proto(table: StsTable) -> pb.StsTable:
    """The message of `table`."""
    return pb.StsTable(
        temperatures=table.temperatures,
        dataset=table.dataset,
        num_samples=table.num_samples,
        ece_before=table.ece_before,
        ece_after=table.ece_after,
    )


def sps_from_proto(message: pb.SpsTable) -> SpsTable:
    """The SPS table; ValueError when no form is set."""
    form = message.WhichOneof("form")
    if form == "step":
        return SpsStepTable(
            sample_batch_tokens=tuple(message.step.sample_batch_tokens),
            sample_steps_per_sec=tuple(message.step.sample_steps_per_sec),
            max_batch_tokens=message.step.max_batch_tokens,
        )
    if form == "additive":
        return SpsAdditiveTable(
            bias_seconds=message.additive.bias_seconds,
            bs_probes=tuple(message.additive.bs_probes),
            alpha_seconds=tuple(message.additive.alpha_seconds),
            m_probes=tuple(message.additive.m_probes),
            theta_seconds=tuple(message.additive.theta_seconds),
        )
    raise ValueError("sps.form is not set; it must be one of step, additive")


def sps_to_proto(table: SpsTable) -> pb.SpsTable:
    """The message of `table`."""
    if isinstance(table, SpsStepTable):
        step = pb.SpsStepTable(
            sample_batch_tokens=table.sample_batch_tokens,
            sample_steps_per_sec=table.sample_steps_per_sec,
            max_batch_tokens=table.max_batch_tokens,
        )
        return pb.SpsTable(step=step)
    additive = pb.SpsAdditiveTable(
        bias_seconds=table.bias_seconds,
        bs_probes=table.bs_probes,
        alpha_seconds=table.alpha_seconds,
        m_probes=table.m_probes,
        theta_seconds=table.theta_seconds,
    )
    return pb.SpsTable(additive=additive)


def set_content(message: pb.Artifact, content: Content) -> None:
    """Put `content` and its kind into `message`."""
    message.kind = kind_to_proto(kind_of(content))
    if isinstance(content, SchedulingPolicy):
        message.policy.CopyFrom(policy_to_proto(content))
    elif isinstance(content, StsTable):
        message.sts.CopyFrom(sts_to_proto(content))
    else:
        message.sps.CopyFrom(sps_to_proto(content))


def identity_from_proto(message: pb.DeploymentIdentity) -> DeploymentIdentity:
    """The identity."""
    return DeploymentIdentity(
        target_digest=message.target_digest,
        draft_digest=message.draft_digest,
        gamma=message.gamma,
        gpu=message.gpu,
        tp_size=message.tp_size,
        dp_size=message.dp_size,
        pp_size=message.pp_size,
        dtype=message.dtype,
        attention_backend=message.attention_backend,
        engine_version=message.engine_version,
        graph_tiers=tuple(message.graph_tiers),
    )


def identity_to_proto(identity: DeploymentIdentity) -> pb.DeploymentIdentity:
    """The message of `identity`."""
    return pb.DeploymentIdentity(
        target_digest=identity.target_digest,
        draft_digest=identity.draft_digest,
        gamma=identity.gamma,
        gpu=identity.gpu,
        tp_size=identity.tp_size,
        dp_size=identity.dp_size,
        pp_size=identity.pp_size,
        dtype=identity.dtype,
        attention_backend=identity.attention_backend,
        engine_version=identity.engine_version,
        graph_tiers=identity.graph_tiers,
    )
