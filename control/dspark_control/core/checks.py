"""Range checks shared by the validators, so that every fault reads the same way.

A fault is one sentence that names the field, the value and what to do. `bool` is
an `int` to Python but never a number to us: `true` in a file is a mistake.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

MAX_GAMMA = 64
"""Largest block size that any artifact may speak of."""

MAX_PROBES = 65_536
"""Most probes a cost table may have in one list."""

MAX_TOKENS = 2**31 - 1
"""Largest token or request count that any artifact may name."""


class Fault(NamedTuple):
    """What is wrong with one field."""

    field: str
    message: str


def shown(value: object) -> str:
    """The value as a message shows it, cut short so that errors stay one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


def int_fault(field: str, value: object, low: int, high: int, remedy: str = "") -> Fault | None:
    """A fault unless `value` is an int (and no bool) within `low`..`high`."""
    if type(value) is int and low <= value <= high:
        return None
    tail = f"; {remedy}" if remedy else ""
    return Fault(field, f"{field} is {shown(value)}, but must be an integer in {low}..{high}{tail}")


def float_fault(field: str, value: object, low: float, high: float) -> Fault | None:
    """A fault unless `value` is a finite number (and no bool) within `low`..`high`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(_as_float(value)) and low <= value <= high:  # type: ignore[operator]
        return None
    return Fault(
        field, f"{field} is {shown(value)}, but must be a finite number in {low:g}..{high:g}"
    )


def _as_float(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf


def floats_fault(field: str, values: object, low: float, high: float) -> Fault | None:
    """A fault unless `values` is a tuple of finite numbers within `low`..`high`."""
    if not isinstance(values, tuple):
        return Fault(field, f"{field} is {shown(values)}, but must be a list of numbers")
    for index, value in enumerate(values):
        if fault := float_fault(f"{field}[{index}]", value, low, high):
            return Fault(field, fault.message)
    return None


def probes_fault(field: str, values: object, low: int) -> Fault | None:
    """A fault unless `values` is a non-empty, strictly increasing tuple of ints >= `low`."""
    if not isinstance(values, tuple):
        return Fault(field, f"{field} is {shown(values)}, but must be a list of integers")
    if not 1 <= len(values) <= MAX_PROBES:
        return Fault(
            field, f"{field} has {len(values)} probes, but must have 1..{MAX_PROBES} of them"
        )
    for index, value in enumerate(values):
        if fault := int_fault(f"{field}[{index}]", value, low, MAX_TOKENS):
            return Fault(field, fault.message)
    return _order_fault(field, values)


def _order_fault(field: str, values: Sequence[int]) -> Fault | None:
    for index in range(1, len(values)):
        if values[index] <= values[index - 1]:
            return Fault(
                field,
                f"{field}[{index}] is {values[index]} after {values[index - 1]}, "
                f"but probes must be strictly increasing; sort them and drop duplicates",
            )
    return None


def length_fault(field: str, values: Sequence[object], like: str, length: int) -> Fault | None:
    """A fault unless `values` has the `length` of the list named `like`."""
    if len(values) == length:
        return None
    return Fault(
        field,
        f"{field} has {len(values)} values, but must have {length}, one for each of {like}",
    )
