"""Unknown fields: protobuf keeps them silently, we want to know.

A sender that sets a field we do not know wanted something that we would not do.
"""

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet


def has_unknown_fields(message: Message) -> bool:
    """Whether `message`, or any message within it, carries a field we do not know."""
    if len(UnknownFieldSet(message)) > 0:
        return True
    return any(
        has_unknown_fields(child)
        for field, value in message.ListFields()
        if field.message_type is not None
        for child in _children(field, value)
    )


def _children(field: FieldDescriptor, value: object) -> list[Message]:
    if isinstance(value, Message):
        return [value]
    if field.message_type and field.message_type.GetOptions().map_entry:
        return [item for item in value.values() if isinstance(item, Message)]  # type: ignore[attr-defined]
    return list(value)  # type: ignore[call-overload, no-any-return]
