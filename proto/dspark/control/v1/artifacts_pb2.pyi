import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ArtifactKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARTIFACT_KIND_UNSPECIFIED: _ClassVar[ArtifactKind]
    ARTIFACT_KIND_POLICY: _ClassVar[ArtifactKind]
    ARTIFACT_KIND_STS: _ClassVar[ArtifactKind]
    ARTIFACT_KIND_SPS: _ClassVar[ArtifactKind]

class BudgetMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BUDGET_MODE_UNSPECIFIED: _ClassVar[BudgetMode]
    BUDGET_MODE_SCHEDULED: _ClassVar[BudgetMode]
    BUDGET_MODE_VERIFY_ALL: _ClassVar[BudgetMode]
    BUDGET_MODE_FIXED_FRACTION: _ClassVar[BudgetMode]

class BudgetSearch(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BUDGET_SEARCH_UNSPECIFIED: _ClassVar[BudgetSearch]
    BUDGET_SEARCH_GLOBAL: _ClassVar[BudgetSearch]
    BUDGET_SEARCH_EARLY_STOP: _ClassVar[BudgetSearch]
ARTIFACT_KIND_UNSPECIFIED: ArtifactKind
ARTIFACT_KIND_POLICY: ArtifactKind
ARTIFACT_KIND_STS: ArtifactKind
ARTIFACT_KIND_SPS: ArtifactKind
BUDGET_MODE_UNSPECIFIED: BudgetMode
BUDGET_MODE_SCHEDULED: BudgetMode
BUDGET_MODE_VERIFY_ALL: BudgetMode
BUDGET_MODE_FIXED_FRACTION: BudgetMode
BUDGET_SEARCH_UNSPECIFIED: BudgetSearch
BUDGET_SEARCH_GLOBAL: BudgetSearch
BUDGET_SEARCH_EARLY_STOP: BudgetSearch

class SchedulingPolicy(_message.Message):
    __slots__ = ("mode", "search", "min_verify_length", "max_verify_length", "min_predicted_gain", "survival_floor", "verify_all_below_requests", "fixed_fraction")
    MODE_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    MIN_VERIFY_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_VERIFY_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MIN_PREDICTED_GAIN_FIELD_NUMBER: _ClassVar[int]
    SURVIVAL_FLOOR_FIELD_NUMBER: _ClassVar[int]
    VERIFY_ALL_BELOW_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    FIXED_FRACTION_FIELD_NUMBER: _ClassVar[int]
    mode: BudgetMode
    search: BudgetSearch
    min_verify_length: int
    max_verify_length: int
    min_predicted_gain: float
    survival_floor: float
    verify_all_below_requests: int
    fixed_fraction: float
    def __init__(self, mode: _Optional[_Union[BudgetMode, str]] = ..., search: _Optional[_Union[BudgetSearch, str]] = ..., min_verify_length: _Optional[int] = ..., max_verify_length: _Optional[int] = ..., min_predicted_gain: _Optional[float] = ..., survival_floor: _Optional[float] = ..., verify_all_below_requests: _Optional[int] = ..., fixed_fraction: _Optional[float] = ...) -> None: ...

class StsTable(_message.Message):
    __slots__ = ("temperatures", "dataset", "num_samples", "ece_before", "ece_after")
    TEMPERATURES_FIELD_NUMBER: _ClassVar[int]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    NUM_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    ECE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ECE_AFTER_FIELD_NUMBER: _ClassVar[int]
    temperatures: _containers.RepeatedScalarFieldContainer[float]
    dataset: str
    num_samples: int
    ece_before: _containers.RepeatedScalarFieldContainer[float]
    ece_after: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, temperatures: _Optional[_Iterable[float]] = ..., dataset: _Optional[str] = ..., num_samples: _Optional[int] = ..., ece_before: _Optional[_Iterable[float]] = ..., ece_after: _Optional[_Iterable[float]] = ...) -> None: ...

class SpsStepTable(_message.Message):
    __slots__ = ("sample_batch_tokens", "sample_steps_per_sec", "max_batch_tokens")
    SAMPLE_BATCH_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_STEPS_PER_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_TOKENS_FIELD_NUMBER: _ClassVar[int]
    sample_batch_tokens: _containers.RepeatedScalarFieldContainer[int]
    sample_steps_per_sec: _containers.RepeatedScalarFieldContainer[float]
    max_batch_tokens: int
    def __init__(self, sample_batch_tokens: _Optional[_Iterable[int]] = ..., sample_steps_per_sec: _Optional[_Iterable[float]] = ..., max_batch_tokens: _Optional[int] = ...) -> None: ...

class SpsAdditiveTable(_message.Message):
    __slots__ = ("bias_seconds", "bs_probes", "alpha_seconds", "m_probes", "theta_seconds")
    BIAS_SECONDS_FIELD_NUMBER: _ClassVar[int]
    BS_PROBES_FIELD_NUMBER: _ClassVar[int]
    ALPHA_SECONDS_FIELD_NUMBER: _ClassVar[int]
    M_PROBES_FIELD_NUMBER: _ClassVar[int]
    THETA_SECONDS_FIELD_NUMBER: _ClassVar[int]
    bias_seconds: float
    bs_probes: _containers.RepeatedScalarFieldContainer[int]
    alpha_seconds: _containers.RepeatedScalarFieldContainer[float]
    m_probes: _containers.RepeatedScalarFieldContainer[int]
    theta_seconds: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, bias_seconds: _Optional[float] = ..., bs_probes: _Optional[_Iterable[int]] = ..., alpha_seconds: _Optional[_Iterable[float]] = ..., m_probes: _Optional[_Iterable[int]] = ..., theta_seconds: _Optional[_Iterable[float]] = ...) -> None: ...

class SpsTable(_message.Message):
    __slots__ = ("step", "additive")
    STEP_FIELD_NUMBER: _ClassVar[int]
    ADDITIVE_FIELD_NUMBER: _ClassVar[int]
    step: SpsStepTable
    additive: SpsAdditiveTable
    def __init__(self, step: _Optional[_Union[SpsStepTable, _Mapping]] = ..., additive: _Optional[_Union[SpsAdditiveTable, _Mapping]] = ...) -> None: ...

class DeploymentIdentity(_message.Message):
    __slots__ = ("target_digest", "draft_digest", "gamma", "gpu", "tp_size", "dp_size", "pp_size", "dtype", "attention_backend", "engine_version", "graph_tiers")
    TARGET_DIGEST_FIELD_NUMBER: _ClassVar[int]
    DRAFT_DIGEST_FIELD_NUMBER: _ClassVar[int]
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    GPU_FIELD_NUMBER: _ClassVar[int]
    TP_SIZE_FIELD_NUMBER: _ClassVar[int]
    DP_SIZE_FIELD_NUMBER: _ClassVar[int]
    PP_SIZE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    ATTENTION_BACKEND_FIELD_NUMBER: _ClassVar[int]
    ENGINE_VERSION_FIELD_NUMBER: _ClassVar[int]
    GRAPH_TIERS_FIELD_NUMBER: _ClassVar[int]
    target_digest: str
    draft_digest: str
    gamma: int
    gpu: str
    tp_size: int
    dp_size: int
    pp_size: int
    dtype: str
    attention_backend: str
    engine_version: str
    graph_tiers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, target_digest: _Optional[str] = ..., draft_digest: _Optional[str] = ..., gamma: _Optional[int] = ..., gpu: _Optional[str] = ..., tp_size: _Optional[int] = ..., dp_size: _Optional[int] = ..., pp_size: _Optional[int] = ..., dtype: _Optional[str] = ..., attention_backend: _Optional[str] = ..., engine_version: _Optional[str] = ..., graph_tiers: _Optional[_Iterable[int]] = ...) -> None: ...

class Artifact(_message.Message):
    __slots__ = ("digest", "kind", "name", "policy", "sts", "sps", "measured_on", "revision", "created_at")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    STS_FIELD_NUMBER: _ClassVar[int]
    SPS_FIELD_NUMBER: _ClassVar[int]
    MEASURED_ON_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    digest: str
    kind: ArtifactKind
    name: str
    policy: SchedulingPolicy
    sts: StsTable
    sps: SpsTable
    measured_on: DeploymentIdentity
    revision: int
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, digest: _Optional[str] = ..., kind: _Optional[_Union[ArtifactKind, str]] = ..., name: _Optional[str] = ..., policy: _Optional[_Union[SchedulingPolicy, _Mapping]] = ..., sts: _Optional[_Union[StsTable, _Mapping]] = ..., sps: _Optional[_Union[SpsTable, _Mapping]] = ..., measured_on: _Optional[_Union[DeploymentIdentity, _Mapping]] = ..., revision: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
