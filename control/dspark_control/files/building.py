"""From a parsed mapping to a frozen dataclass, refusing what the dataclass does not have."""

import difflib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

from dspark_control.core.checks import Fault, shown
from dspark_control.files.faults import FileFault

Built = TypeVar("Built")


def build(
    kind: type[Built], document: object, file: str, find_fault: Callable[[Built], Fault | None]
) -> Built:
    """The `kind` that `document` describes, validated with `find_fault`; else FileFault."""
    mapping = _as_mapping(document, file)
    _check_keys(kind, mapping, file)
    hints = _hints(cast(Hashable, kind))
    values = {key: _convert(key, value, hints[key], file) for key, value in mapping.items()}
    built = kind(**values)
    if fault := find_fault(built):
        raise FileFault(file, fault.message, fault.field)
    return built


@cache
def _hints(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind)


def _as_mapping(document: object, file: str) -> Mapping[str, object]:
    if isinstance(document, dict) and document:
        return document
    raise FileFault(
        file, f"holds {shown(document)}, but must hold fields and their values at the top level"
    )


def _check_keys(kind: type[Any], mapping: Mapping[str, object], file: str) -> None:
    known = [field.name for field in fields(kind)]
    for key in mapping:
        if key not in known:
            raise FileFault(file, _unknown_message(key, known), str(key))
    for field in fields(kind):
        is_required = field.default is MISSING and field.default_factory is MISSING
        if is_required and field.name not in mapping:
            raise FileFault(file, f"{field.name} is missing; add it", field.name)


def _unknown_message(key: object, known: list[str]) -> str:
    nearest = difflib.get_close_matches(str(key), known, n=1, cutoff=0.0)
    return f"{shown(key)} is not a field; did you mean {nearest[0]!r}? (fields: {', '.join(known)})"


def _convert(key: str, value: object, hint: Any, file: str) -> object:
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _to_member(key, value, hint, file)
    if isinstance(value, list):
        return tuple(_to_float(item) for item in value) if "float" in str(hint) else tuple(value)
    return _to_float(value) if hint is float else value


def _to_float(value: object) -> object:
    if type(value) is not int:
        return value
    try:
        return float(value)
    except OverflowError:
        return value  # the validator refuses it by name


def _to_member(key: str, value: object, kind: type[StrEnum], file: str) -> StrEnum:
    names = [member.value for member in kind]
    if isinstance(value, str) and value in names:
        return kind(value)
    close = difflib.get_close_matches(str(value), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    message = f"{key} is {shown(value)}, but must be one of {', '.join(names)}{hint}"
    raise FileFault(file, message, key)
