"""Enum values of the API against the core's, refusing what is unset or unknown."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar, cast

from dspark.control.v1 import artifacts_pb2, worker_pb2
from dspark_control.core import ArtifactKind, BudgetMode, BudgetSearch, RejectReason

Member = TypeVar("Member", bound=StrEnum)


def _table(wrapper: Any, prefix: str, kind: type[Member]) -> dict[int, Member]:
    return {wrapper.Value(prefix + member.name): member for member in kind}


_MODES = _table(artifacts_pb2.BudgetMode, "BUDGET_MODE_", BudgetMode)
_SEARCHES = _table(artifacts_pb2.BudgetSearch, "BUDGET_SEARCH_", BudgetSearch)
_KINDS = _table(artifacts_pb2.ArtifactKind, "ARTIFACT_KIND_", ArtifactKind)
_REASONS = _table(worker_pb2.RejectReason, "REJECT_REASON_", RejectReason)


def mode_from_proto(value: int) -> BudgetMode:
    """The mode, or ValueError."""
    return _decode("mode", value, _MODES)


def search_from_proto(value: int) -> BudgetSearch:
    """The search, or ValueError."""
    return _decode("search", value, _SEARCHES)


def kind_from_proto(value: int) -> ArtifactKind:
    """The artifact kind, or ValueError."""
    return _decode("kind", value, _KINDS)


def mode_to_proto(mode: BudgetMode) -> artifacts_pb2.BudgetMode:
    """The API's value of `mode`."""
    return cast(
        artifacts_pb2.BudgetMode, artifacts_pb2.BudgetMode.Value(f"BUDGET_MODE_{mode.name}")
    )


def search_to_proto(search: BudgetSearch) -> artifacts_pb2.BudgetSearch:
    """The API's value of `search`."""
    return cast(
        artifacts_pb2.BudgetSearch, artifacts_pb2.BudgetSearch.Value(f"BUDGET_SEARCH_{search.name}")
    )


def kind_to_proto(kind: ArtifactKind) -> artifacts_pb2.ArtifactKind:
    """The API's value of `kind`."""
    return cast(
        artifacts_pb2.ArtifactKind, artifacts_pb2.ArtifactKind.Value(f"ARTIFACT_KIND_{kind.name}")
    )


def reject_reason_to_proto(reason: RejectReason) -> worker_pb2.RejectReason:
    """The API's value of `reason`."""
    return cast(
        worker_pb2.RejectReason, worker_pb2.RejectReason.Value(f"REJECT_REASON_{reason.name}")
    )


def _decode(field: str, value: int, table: Mapping[int, Member]) -> Member:
    if value in table:
        return table[value]
    names = ", ".join(member.value for member in table.values())
    state = "not set" if value == 0 else f"{value}, which this version does not know"
    raise ValueError(f"{field} is {state}; it must be one of {names}")
