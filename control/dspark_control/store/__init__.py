"""Durable state: artifacts, bindings and the audit log."""

from dspark_control.store.errors import (
    Conflict,
    InvalidRef,
    NotFound,
    Refused,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from dspark_control.store.records import (
    BindingChange,
    Changes,
    Draft,
    Entry,
    PutResult,
    StoredArtifact,
    WriteContext,
)
from dspark_control.store.store import BindingCheck, Store

__all__ = [
    "BindingChange",
    "BindingCheck",
    "Changes",
    "Conflict",
    "Draft",
    "Entry",
    "InvalidRef",
    "NotFound",
    "PutResult",
    "Refused",
    "Store",
    "StoreCorrupt",
    "StoreError",
    "StoreUnavailable",
    "StoredArtifact",
    "WriteContext",
]
