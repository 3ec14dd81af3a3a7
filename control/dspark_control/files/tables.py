"""STS and SPS tables as SGLang's own JSON files.

What SGLang 0.5.23 writes (`DSparkStsCalibration.to_json`, `SpsCostTable.to_json` and
`SpsAdditiveCostTable.to_json`) loads here, and what we write loads there. NaN and Infinity,
which are not JSON, parse as in Python so that the validators can name the field they are in.
"""

import json
from dataclasses import MISSING, asdict, fields
from typing import Any

from dspark_control.core import SpsAdditiveTable, SpsStepTable, SpsTable, StsTable
from dspark_control.core.tables import find_sps_fault, find_sts_fault
from dspark_control.files.building import build
from dspark_control.files.faults import FileFault
from dspark_control.files.reading import decode_text


def load_sts(data: bytes, file: str = "STS table") -> StsTable:
    """The STS table in the bytes of a file; FileFault otherwise."""
    return build(StsTable, _parse(data, file), file, find_sts_fault)


def load_sps(data: bytes, file: str = "SPS table") -> SpsTable:
    """The SPS table of either form in the bytes of a file; FileFault otherwise."""
    document = _parse(data, file)
    if isinstance(document, dict) and _is_additive(document):
        return build(SpsAdditiveTable, document, file, find_sps_fault)
    return build(SpsStepTable, document, file, find_sps_fault)


def dump_sts(table: StsTable) -> bytes:
    """The file of `table`; fields at their defaults are left out, as SGLang does."""
    defaults = {field.name: field.default for field in fields(StsTable)}
    kept = {
        name: value
        for name, value in asdict(table).items()
        if defaults[name] is MISSING or value != defaults[name]
    }
    return _encode(kept)


def dump_sps(table: SpsTable) -> bytes:
    """The file of `table`."""
    return _encode(asdict(table))


def _is_additive(document: dict[str, object]) -> bool:
    names = {field.name for field in fields(SpsAdditiveTable)}
    return not names.isdisjoint(document)


def _encode(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def _parse(data: bytes, file: str) -> object:
    text = decode_text(data, file)
    try:
        return json.loads(text, object_pairs_hook=_unique_pairs)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise FileFault(file, message) from error
    except (ValueError, RecursionError) as error:
        raise FileFault(file, str(error) or "is nested too deeply") from error


def _unique_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) == len(pairs):
        return document
    names = [name for name, _ in pairs]
    twice = next(name for name in names if names.count(name) > 1)
    raise ValueError(f"{twice!r} is given twice; keep one")
