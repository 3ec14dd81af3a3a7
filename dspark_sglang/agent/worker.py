"""Who this worker is to the control service, and the first message of each stream."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from dspark.control.v1 import worker_pb2 as pb
from dspark_control.codec import capabilities_to_proto, identity_to_proto
from dspark_control.core import Capabilities, DeploymentIdentity
from dspark_sglang.agent.status import AgentStatus


@dataclass(frozen=True)
class Worker:
    """What does not change while the engine's process lives."""

    worker_id: str
    identity: DeploymentIdentity
    capabilities: Capabilities
    labels: Mapping[str, str]
    incarnation: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Random per process: tells a restart from a reconnect."""

    def hello(self, status: AgentStatus) -> pb.WatchRequest:
        """Opens a stream; says what runs, so that the service does not send it again."""
        hello = pb.WorkerHello(
            worker_id=self.worker_id,
            incarnation=self.incarnation,
            identity=identity_to_proto(self.identity),
            labels=self.labels,
            capabilities=capabilities_to_proto(self.capabilities),
            applied_revision=status.applied_revision,
            applied_policy_digest=status.digests.policy,
            applied_sts_digest=status.digests.sts,
            applied_sps_digest=status.digests.sps,
        )
        return pb.WatchRequest(hello=hello)
