import datetime

from dspark.control.v1 import artifacts_pb2 as _artifacts_pb2
from dspark.control.v1 import worker_pb2 as _worker_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WriteContext(_message.Message):
    __slots__ = ("expected_revision", "author", "reason")
    EXPECTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    expected_revision: int
    author: str
    reason: str
    def __init__(self, expected_revision: _Optional[int] = ..., author: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Binding(_message.Message):
    __slots__ = ("name", "selector", "policy_digest", "sts_digest", "sps_digest", "revision")
    class SelectorEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    POLICY_DIGEST_FIELD_NUMBER: _ClassVar[int]
    STS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    SPS_DIGEST_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    selector: _containers.ScalarMap[str, str]
    policy_digest: str
    sts_digest: str
    sps_digest: str
    revision: int
    def __init__(self, name: _Optional[str] = ..., selector: _Optional[_Mapping[str, str]] = ..., policy_digest: _Optional[str] = ..., sts_digest: _Optional[str] = ..., sps_digest: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class PutArtifactRequest(_message.Message):
    __slots__ = ("context", "artifact")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    context: WriteContext
    artifact: _artifacts_pb2.Artifact
    def __init__(self, context: _Optional[_Union[WriteContext, _Mapping]] = ..., artifact: _Optional[_Union[_artifacts_pb2.Artifact, _Mapping]] = ...) -> None: ...

class PutArtifactResponse(_message.Message):
    __slots__ = ("artifact", "created")
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    artifact: _artifacts_pb2.Artifact
    created: bool
    def __init__(self, artifact: _Optional[_Union[_artifacts_pb2.Artifact, _Mapping]] = ..., created: _Optional[bool] = ...) -> None: ...

class GetArtifactRequest(_message.Message):
    __slots__ = ("kind", "ref")
    KIND_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    kind: _artifacts_pb2.ArtifactKind
    ref: str
    def __init__(self, kind: _Optional[_Union[_artifacts_pb2.ArtifactKind, str]] = ..., ref: _Optional[str] = ...) -> None: ...

class GetArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: _artifacts_pb2.Artifact
    def __init__(self, artifact: _Optional[_Union[_artifacts_pb2.Artifact, _Mapping]] = ...) -> None: ...

class ListArtifactsRequest(_message.Message):
    __slots__ = ("kind", "page_size", "before_revision")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_REVISION_FIELD_NUMBER: _ClassVar[int]
    kind: _artifacts_pb2.ArtifactKind
    page_size: int
    before_revision: int
    def __init__(self, kind: _Optional[_Union[_artifacts_pb2.ArtifactKind, str]] = ..., page_size: _Optional[int] = ..., before_revision: _Optional[int] = ...) -> None: ...

class ListArtifactsResponse(_message.Message):
    __slots__ = ("artifacts",)
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    artifacts: _containers.RepeatedCompositeFieldContainer[_artifacts_pb2.Artifact]
    def __init__(self, artifacts: _Optional[_Iterable[_Union[_artifacts_pb2.Artifact, _Mapping]]] = ...) -> None: ...

class PutBindingRequest(_message.Message):
    __slots__ = ("context", "binding")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    context: WriteContext
    binding: Binding
    def __init__(self, context: _Optional[_Union[WriteContext, _Mapping]] = ..., binding: _Optional[_Union[Binding, _Mapping]] = ...) -> None: ...

class PutBindingResponse(_message.Message):
    __slots__ = ("binding",)
    BINDING_FIELD_NUMBER: _ClassVar[int]
    binding: Binding
    def __init__(self, binding: _Optional[_Union[Binding, _Mapping]] = ...) -> None: ...

class DeleteBindingRequest(_message.Message):
    __slots__ = ("context", "name")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    context: WriteContext
    name: str
    def __init__(self, context: _Optional[_Union[WriteContext, _Mapping]] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteBindingResponse(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...

class ListBindingsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListBindingsResponse(_message.Message):
    __slots__ = ("bindings", "revision")
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    bindings: _containers.RepeatedCompositeFieldContainer[Binding]
    revision: int
    def __init__(self, bindings: _Optional[_Iterable[_Union[Binding, _Mapping]]] = ..., revision: _Optional[int] = ...) -> None: ...

class HistoryEntry(_message.Message):
    __slots__ = ("revision", "action", "subject", "author", "reason", "trace_id", "at", "hash", "detail_json")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    DETAIL_JSON_FIELD_NUMBER: _ClassVar[int]
    revision: int
    action: str
    subject: str
    author: str
    reason: str
    trace_id: str
    at: _timestamp_pb2.Timestamp
    hash: str
    detail_json: str
    def __init__(self, revision: _Optional[int] = ..., action: _Optional[str] = ..., subject: _Optional[str] = ..., author: _Optional[str] = ..., reason: _Optional[str] = ..., trace_id: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hash: _Optional[str] = ..., detail_json: _Optional[str] = ...) -> None: ...

class ListHistoryRequest(_message.Message):
    __slots__ = ("page_size", "before_revision")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_REVISION_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    before_revision: int
    def __init__(self, page_size: _Optional[int] = ..., before_revision: _Optional[int] = ...) -> None: ...

class ListHistoryResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[HistoryEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[HistoryEntry, _Mapping]]] = ...) -> None: ...

class Worker(_message.Message):
    __slots__ = ("worker_id", "labels", "identity", "capabilities", "connected", "binding", "desired_revision", "sent_revision", "applied_revision", "last_ack", "last_seen")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    DESIRED_REVISION_FIELD_NUMBER: _ClassVar[int]
    SENT_REVISION_FIELD_NUMBER: _ClassVar[int]
    APPLIED_REVISION_FIELD_NUMBER: _ClassVar[int]
    LAST_ACK_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    labels: _containers.ScalarMap[str, str]
    identity: _artifacts_pb2.DeploymentIdentity
    capabilities: _worker_pb2.Capabilities
    connected: bool
    binding: str
    desired_revision: int
    sent_revision: int
    applied_revision: int
    last_ack: _worker_pb2.SnapshotAck
    last_seen: _timestamp_pb2.Timestamp
    def __init__(self, worker_id: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., identity: _Optional[_Union[_artifacts_pb2.DeploymentIdentity, _Mapping]] = ..., capabilities: _Optional[_Union[_worker_pb2.Capabilities, _Mapping]] = ..., connected: _Optional[bool] = ..., binding: _Optional[str] = ..., desired_revision: _Optional[int] = ..., sent_revision: _Optional[int] = ..., applied_revision: _Optional[int] = ..., last_ack: _Optional[_Union[_worker_pb2.SnapshotAck, _Mapping]] = ..., last_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListWorkersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListWorkersResponse(_message.Message):
    __slots__ = ("workers",)
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    workers: _containers.RepeatedCompositeFieldContainer[Worker]
    def __init__(self, workers: _Optional[_Iterable[_Union[Worker, _Mapping]]] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("after_revision",)
    AFTER_REVISION_FIELD_NUMBER: _ClassVar[int]
    after_revision: int
    def __init__(self, after_revision: _Optional[int] = ...) -> None: ...

class WatchEventsResponse(_message.Message):
    __slots__ = ("entry", "worker")
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    entry: HistoryEntry
    worker: Worker
    def __init__(self, entry: _Optional[_Union[HistoryEntry, _Mapping]] = ..., worker: _Optional[_Union[Worker, _Mapping]] = ...) -> None: ...
