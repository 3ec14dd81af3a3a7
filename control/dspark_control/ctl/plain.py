"""Messages as plain values for JSON and YAML: numbers stay numbers, enums are words.

protobuf's own JSON form writes 64-bit integers as text, which scripts trip over.
"""

import json
import re
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp


def to_plain(message: Message) -> dict[str, Any]:
    """The fields of `message`; absent messages are left out."""
    plain: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        if field.name == "detail_json":
            plain["detail"] = json.loads(value or "null")
        else:
            plain[field.name] = _field(field, value)
    return plain


def enum_word(field: Any, number: int) -> str:
    """`policy` for ARTIFACT_KIND_POLICY, and the number for a value that is not known."""
    enum = field.enum_type
    if enum is None or number not in enum.values_by_number:
        return str(number)
    prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum.name).upper() + "_"
    name: str = enum.values_by_number[number].name
    return name.removeprefix(prefix).lower()


def time_text(moment: Timestamp) -> str:
    """UTC in ISO 8601, to the millisecond."""
    return moment.ToDatetime().isoformat(timespec="milliseconds") + "Z"


def _field(field: Any, value: Any) -> Any:
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    if is_map:
        return {key: value[key] for key in sorted(value)}
    if field.is_repeated:
        return [_single(field, item) for item in value]
    return _single(field, value)


def _single(field: Any, value: Any) -> Any:
    if isinstance(value, Timestamp):
        return time_text(value)
    if isinstance(value, Message):
        return to_plain(value)
    return enum_word(field, value) if field.enum_type is not None else value
