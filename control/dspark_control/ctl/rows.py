"""The columns and rows of each table."""

from collections.abc import Iterable

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark_control.codec import kind_from_proto
from dspark_control.ctl.output import short_digest
from dspark_control.ctl.plain import time_text

ARTIFACT_COLUMNS = ("KIND", "NAME", "DIGEST", "REVISION", "STORED AT", "MEASURED ON")
BINDING_COLUMNS = ("BINDING", "SELECTOR", "POLICY", "STS", "SPS", "REVISION")
HISTORY_COLUMNS = ("REVISION", "AT", "ACTION", "SUBJECT", "AUTHOR", "REASON", "TRACE")
WORKER_COLUMNS = ("WORKER", "STATE", "BINDING", "DESIRED", "SENT", "APPLIED", "LAST SEEN", "LABELS")


def artifact_row(artifact: artifacts_pb2.Artifact) -> tuple[str, ...]:
    """One artifact."""
    measured_on = artifact.measured_on if artifact.HasField("measured_on") else None
    return (
        kind_from_proto(artifact.kind).value,
        artifact.name,
        short_digest(artifact.digest),
        str(artifact.revision),
        time_text(artifact.created_at),
        _known_fields(measured_on) if measured_on else "-",
    )


def binding_row(binding: admin_pb2.Binding) -> tuple[str, ...]:
    """One binding."""
    return (
        binding.name,
        _pairs(binding.selector.items()) or "(every worker)",
        short_digest(binding.policy_digest),
        short_digest(binding.sts_digest),
        short_digest(binding.sps_digest),
        str(binding.revision),
    )


def history_row(entry: admin_pb2.HistoryEntry) -> tuple[str, ...]:
    """One row of the audit log."""
    return (
        str(entry.revision),
        time_text(entry.at),
        entry.action,
        short_digest(entry.subject) if entry.subject.startswith("sha256:") else entry.subject,
        entry.author,
        entry.reason,
        entry.trace_id or "-",
    )


def worker_row(worker: admin_pb2.Worker) -> tuple[str, ...]:
    """One worker."""
    return (
        worker.worker_id,
        worker_state(worker),
        worker.binding or "(none)",
        str(worker.desired_revision),
        str(worker.sent_revision),
        str(worker.applied_revision),
        time_text(worker.last_seen),
        _pairs(worker.labels.items()) or "-",
    )


def worker_state(worker: admin_pb2.Worker) -> str:
    """In a few words: gone, rejected (and why), pending or in sync."""
    if not worker.connected:
        return "gone"
    ack = worker.last_ack
    if ack.result == worker_pb2.ACK_RESULT_REJECTED and worker.sent_revision == ack.revision:
        return f"rejected {ack.revision}: {ack.message}"
    has_answered = worker.applied_revision > 0 or ack.result == worker_pb2.ACK_RESULT_APPLIED
    is_current = worker.applied_revision == worker.desired_revision
    return "in sync" if has_answered and is_current else "pending"


def entry_line(entry: admin_pb2.HistoryEntry) -> str:
    """One revision as `watch` prints it."""
    revision, at, action, subject, author, reason, _ = history_row(entry)
    return f"{at} revision {revision} {action} {subject} by {author}: {reason}"


def worker_line(worker: admin_pb2.Worker) -> str:
    """One worker as `watch` prints it."""
    name, state, binding, desired, sent, applied, seen, _ = worker_row(worker)
    return (
        f"{seen} worker {name} binding {binding} desired {desired} sent {sent} "
        f"applied {applied}: {state}"
    )


def _pairs(items: Iterable[tuple[str, str]]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(items))


def _known_fields(identity: artifacts_pb2.DeploymentIdentity) -> str:
    return ", ".join(f"{field.name}={_value(value)}" for field, value in identity.ListFields())


def _value(value: object) -> str:
    if isinstance(value, str):
        return short_digest(value) if value.startswith("sha256:") else value
    return str(value)
