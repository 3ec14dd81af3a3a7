import datetime

from dspark.control.v1 import artifacts_pb2 as _artifacts_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RejectReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REJECT_REASON_UNSPECIFIED: _ClassVar[RejectReason]
    REJECT_REASON_GAMMA_MISMATCH: _ClassVar[RejectReason]
    REJECT_REASON_IDENTITY_MISMATCH: _ClassVar[RejectReason]
    REJECT_REASON_INVALID_VALUE: _ClassVar[RejectReason]
    REJECT_REASON_UNSUPPORTED: _ClassVar[RejectReason]
    REJECT_REASON_MALFORMED: _ClassVar[RejectReason]
    REJECT_REASON_APPLY_FAILED: _ClassVar[RejectReason]

class AckResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACK_RESULT_UNSPECIFIED: _ClassVar[AckResult]
    ACK_RESULT_APPLIED: _ClassVar[AckResult]
    ACK_RESULT_REJECTED: _ClassVar[AckResult]
REJECT_REASON_UNSPECIFIED: RejectReason
REJECT_REASON_GAMMA_MISMATCH: RejectReason
REJECT_REASON_IDENTITY_MISMATCH: RejectReason
REJECT_REASON_INVALID_VALUE: RejectReason
REJECT_REASON_UNSUPPORTED: RejectReason
REJECT_REASON_MALFORMED: RejectReason
REJECT_REASON_APPLY_FAILED: RejectReason
ACK_RESULT_UNSPECIFIED: AckResult
ACK_RESULT_APPLIED: AckResult
ACK_RESULT_REJECTED: AckResult

class Snapshot(_message.Message):
    __slots__ = ("revision", "binding", "cohort", "policy", "sts", "sps", "policy_digest", "sts_digest", "sps_digest", "sts_measured_on", "sps_measured_on")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    COHORT_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    STS_FIELD_NUMBER: _ClassVar[int]
    SPS_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    STS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SPS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    STS_MEASURED_ON_FIELD_NUMBER: _ClassVar[int]
    SPS_MEASURED_ON_FIELD_NUMBER: _ClassVar[int]
    revision: int
    binding: str
    cohort: str
    policy: _artifacts_pb2.SchedulingPolicy
    sts: _artifacts_pb2.StsTable
    sps: _artifacts_pb2.SpsTable
    policy_digest: str
    sts_digest: str
    sps_digest: str
    sts_measured_on: _artifacts_pb2.DeploymentIdentity
    sps_measured_on: _artifacts_pb2.DeploymentIdentity
    def __init__(self, revision: _Optional[int] = ..., binding: _Optional[str] = ..., cohort: _Optional[str] = ..., policy: _Optional[_Union[_artifacts_pb2.SchedulingPolicy, _Mapping]] = ..., sts: _Optional[_Union[_artifacts_pb2.StsTable, _Mapping]] = ..., sps: _Optional[_Union[_artifacts_pb2.SpsTable, _Mapping]] = ..., policy_digest: _Optional[str] = ..., sts_digest: _Optional[str] = ..., sps_digest: _Optional[str] = ..., sts_measured_on: _Optional[_Union[_artifacts_pb2.DeploymentIdentity, _Mapping]] = ..., sps_measured_on: _Optional[_Union[_artifacts_pb2.DeploymentIdentity, _Mapping]] = ...) -> None: ...

class Capabilities(_message.Message):
    __slots__ = ("ragged_verify", "confidence_head", "version")
    RAGGED_VERIFY_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_HEAD_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ragged_verify: bool
    confidence_head: bool
    version: str
    def __init__(self, ragged_verify: _Optional[bool] = ..., confidence_head: _Optional[bool] = ..., version: _Optional[str] = ...) -> None: ...

class WorkerHello(_message.Message):
    __slots__ = ("worker_id", "incarnation", "identity", "labels", "capabilities", "applied_revision", "applied_policy_digest", "applied_sts_digest", "applied_sps_digest")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    APPLIED_REVISION_FIELD_NUMBER: _ClassVar[int]
    APPLIED_POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    APPLIED_STS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    APPLIED_SPS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    incarnation: str
    identity: _artifacts_pb2.DeploymentIdentity
    labels: _containers.ScalarMap[str, str]
    capabilities: Capabilities
    applied_revision: int
    applied_policy_digest: str
    applied_sts_digest: str
    applied_sps_digest: str
    def __init__(self, worker_id: _Optional[str] = ..., incarnation: _Optional[str] = ..., identity: _Optional[_Union[_artifacts_pb2.DeploymentIdentity, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., capabilities: _Optional[_Union[Capabilities, _Mapping]] = ..., applied_revision: _Optional[int] = ..., applied_policy_digest: _Optional[str] = ..., applied_sts_digest: _Optional[str] = ..., applied_sps_digest: _Optional[str] = ...) -> None: ...

class RankApplied(_message.Message):
    __slots__ = ("tp_rank", "step")
    TP_RANK_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    tp_rank: int
    step: int
    def __init__(self, tp_rank: _Optional[int] = ..., step: _Optional[int] = ...) -> None: ...

class SnapshotAck(_message.Message):
    __slots__ = ("nonce", "revision", "result", "reason", "message", "fields", "ranks")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    RANKS_FIELD_NUMBER: _ClassVar[int]
    nonce: str
    revision: int
    result: AckResult
    reason: RejectReason
    message: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    ranks: _containers.RepeatedCompositeFieldContainer[RankApplied]
    def __init__(self, nonce: _Optional[str] = ..., revision: _Optional[int] = ..., result: _Optional[_Union[AckResult, str]] = ..., reason: _Optional[_Union[RejectReason, str]] = ..., message: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., ranks: _Optional[_Iterable[_Union[RankApplied, _Mapping]]] = ...) -> None: ...

class WorkerHeartbeat(_message.Message):
    __slots__ = ("applied_revision",)
    APPLIED_REVISION_FIELD_NUMBER: _ClassVar[int]
    applied_revision: int
    def __init__(self, applied_revision: _Optional[int] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("hello", "ack", "heartbeat")
    HELLO_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    hello: WorkerHello
    ack: SnapshotAck
    heartbeat: WorkerHeartbeat
    def __init__(self, hello: _Optional[_Union[WorkerHello, _Mapping]] = ..., ack: _Optional[_Union[SnapshotAck, _Mapping]] = ..., heartbeat: _Optional[_Union[WorkerHeartbeat, _Mapping]] = ...) -> None: ...

class SnapshotUpdate(_message.Message):
    __slots__ = ("nonce", "snapshot")
    NONCE_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    nonce: str
    snapshot: Snapshot
    def __init__(self, nonce: _Optional[str] = ..., snapshot: _Optional[_Union[Snapshot, _Mapping]] = ...) -> None: ...

class ServerHeartbeat(_message.Message):
    __slots__ = ("revision", "now")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    revision: int
    now: _timestamp_pb2.Timestamp
    def __init__(self, revision: _Optional[int] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("update", "heartbeat")
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    update: SnapshotUpdate
    heartbeat: ServerHeartbeat
    def __init__(self, update: _Optional[_Union[SnapshotUpdate, _Mapping]] = ..., heartbeat: _Optional[_Union[ServerHeartbeat, _Mapping]] = ...) -> None: ...
