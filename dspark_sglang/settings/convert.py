"""From the text of a variable or a YAML value to the type of a field.

Each converter raises ValueError with what the value should look like, so that the
loader can name the source and the value in one way for all of them.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})


def to_text(value: object) -> str:
    """A string without surrounding blanks."""
    if not isinstance(value, str):
        raise ValueError("give text, quoted in YAML")
    return value.strip()


def to_path(value: object) -> Path:
    """An absolute path, `~` expanded."""
    path = Path(to_text(value)).expanduser()
    if not path.is_absolute():
        raise ValueError("give an absolute path")
    return path


def to_flag(value: object) -> bool:
    """A bool, or one of the usual words for it."""
    word = str(value).strip().lower()
    if word not in TRUE_WORDS | FALSE_WORDS:
        raise ValueError("give true or false")
    return word in TRUE_WORDS


def to_seconds(value: object) -> float:
    """A finite number; bools are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("give a number of seconds")
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        raise ValueError("give a number of seconds") from None
    if not math.isfinite(seconds):
        raise ValueError("give a finite number of seconds")
    return seconds


def to_labels(value: object) -> Mapping[str, str]:
    """A mapping of text to text, from a mapping or from "k=v,k2=v2"."""
    if isinstance(value, str):
        return labels_from_text(value)
    if not isinstance(value, Mapping):
        raise ValueError("give a mapping of names to text")
    for key, label in value.items():
        if not isinstance(key, str) or not isinstance(label, str):
            raise ValueError(f"quote {key!r}: {label!r}, both must be text")
    return dict(value)


def labels_from_text(text: str) -> Mapping[str, str]:
    """The labels of "k=v,k2=v2"; a name given twice is an error."""
    labels: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        key, equals, label = (part.strip() for part in pair.partition("="))
        if not equals:
            raise ValueError(f"give k=v,k2=v2; {pair!r} has no '='")
        if key in labels:
            raise ValueError(f"give each label once; {key!r} stands there twice")
        labels[key] = label
    return labels


CONVERTERS: Mapping[object, Callable[[object], object]] = {
    str: to_text,
    Path: to_path,
    Path | None: to_path,
    bool: to_flag,
    float: to_seconds,
    Mapping[str, str]: to_labels,
}
"""Converter of each type that a field of `Settings` may have."""
