"""Syntax of names, labels and free text, the same for the service, the CLI and the agent."""

import re
from collections.abc import Mapping

from dspark_control.core.checks import shown

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
LABEL_KEY = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/-]{0,62}")
LABEL_VALUE = re.compile(r"[a-zA-Z0-9._/:@+ -]{0,128}")
MAX_LABELS = 32
MAX_ID = 128
"""Longest worker id or incarnation."""
MAX_AUTHOR = 100
MAX_REASON = 500


def name_fault(field: str, value: str) -> str | None:
    """Why `value` is no name of an artifact or binding, or None."""
    if NAME.fullmatch(value):
        return None
    return (
        f"{field} is {shown(value)}, but must start with a lower-case letter or digit and have "
        f"at most 63 characters of a-z, 0-9, '.', '_' and '-'"
    )


def text_fault(field: str, value: str, longest: int) -> str | None:
    """Why `value` is no non-empty printable line of at most `longest` characters, or None."""
    if value.strip() and len(value) <= longest and value.isprintable():
        return None
    return f"{field} is {shown(value)}, but must be a line of 1..{longest} printable characters"


def labels_fault(field: str, labels: Mapping[str, str]) -> str | None:
    """Why `labels` cannot be labels of a worker or a selector, or None."""
    if len(labels) > MAX_LABELS:
        return f"{field} has {len(labels)} labels, but may have at most {MAX_LABELS}"
    for key, value in labels.items():
        if not LABEL_KEY.fullmatch(key):
            return (
                f"{field} has the key {shown(key)}, but a key has 1..63 characters of letters, "
                f"digits, '.', '_', '/' and '-' and starts with a letter or digit"
            )
        if not LABEL_VALUE.fullmatch(value):
            return (
                f"{field}[{key}] is {shown(value)}, but a value has at most 128 characters of "
                f"letters, digits, spaces and . _ / : @ + -"
            )
    return None
