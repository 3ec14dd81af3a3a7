"""What the service answers, from the store's records and the fleet's states."""

import time

from google.protobuf.timestamp_pb2 import Timestamp

from dspark.control.v1 import admin_pb2, artifacts_pb2, worker_pb2
from dspark_control.codec import capabilities_to_proto, identity_to_proto, set_content
from dspark_control.core import Binding
from dspark_control.service.session import WorkerState
from dspark_control.store import Entry, StoredArtifact


def timestamp(microseconds: int) -> Timestamp:
    """The time that many microseconds after the epoch."""
    message = Timestamp()
    message.FromMicroseconds(microseconds)
    return message


def heartbeat_message(revision: int) -> worker_pb2.ServerHeartbeat:
    """A heartbeat with the newest revision and this service's clock."""
    now = timestamp(time.time_ns() // 1000)
    return worker_pb2.ServerHeartbeat(revision=revision, now=now)


def artifact_message(artifact: StoredArtifact) -> artifacts_pb2.Artifact:
    """The message of a stored artifact."""
    message = artifacts_pb2.Artifact(
        digest=artifact.digest,
        name=artifact.name,
        measured_on=identity_to_proto(artifact.measured_on) if artifact.measured_on else None,
        revision=artifact.revision,
        created_at=timestamp(artifact.created_at_us),
    )
    set_content(message, artifact.content)
    return message


def binding_message(binding: Binding) -> admin_pb2.Binding:
    """The message of a binding."""
    return admin_pb2.Binding(
        name=binding.name,
        selector=dict(binding.selector),
        policy_digest=binding.policy_digest,
        sts_digest=binding.sts_digest,
        sps_digest=binding.sps_digest,
        revision=binding.revision,
    )


def entry_message(entry: Entry) -> admin_pb2.HistoryEntry:
    """The message of a row of the audit log."""
    return admin_pb2.HistoryEntry(
        revision=entry.revision,
        action=entry.action,
        subject=entry.subject,
        author=entry.author,
        reason=entry.reason,
        trace_id=entry.trace_id,
        at=timestamp(entry.at_us),
        hash=entry.hash,
        detail_json=entry.detail_json,
    )


def worker_message(worker: WorkerState) -> admin_pb2.Worker:
    """The message of what is known of a worker."""
    return admin_pb2.Worker(
        worker_id=worker.worker_id,
        labels=worker.labels,
        identity=identity_to_proto(worker.identity),
        capabilities=capabilities_to_proto(worker.capabilities),
        connected=worker.is_connected,
        binding=worker.desired.binding,
        desired_revision=worker.desired.revision,
        sent_revision=worker.sent_revision,
        applied_revision=worker.reported_revision,
        last_ack=worker.last_ack,
        last_seen=timestamp(worker.last_seen_us),
    )
