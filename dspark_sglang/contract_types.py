"""The vocabulary of the contract with SGLang.

It stands apart from `contract.py` so that every part may declare what it needs
without importing the code that checks it.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

NeedKind = Literal["override", "call", "field"]


class Need(NamedTuple):
    """One upstream name that this project relies on.

    `override`: we replace or subclass it, so the parameter names must be equal.
    `call`: we call it, so `parameters` must be among its own.
    `field`: we read or write it, so it must exist.
    """

    path: str
    """Dotted path of the name, for example `sglang.srt.layers.radix_attention.AttentionType`."""
    kind: NeedKind
    parameters: tuple[str, ...] = ()
    """Parameter names in order, `self` left out; empty for a field."""


def overrides(owner: str, **methods: tuple[str, ...]) -> tuple[Need, ...]:
    """Functions of `owner` that we replace, by name with their parameters."""
    return tuple(Need(f"{owner}.{name}", "override", names) for name, names in methods.items())


def calls(owner: str, **functions: tuple[str, ...]) -> tuple[Need, ...]:
    """Functions of `owner` that we call, with the parameters that we pass."""
    return tuple(Need(f"{owner}.{name}", "call", names) for name, names in functions.items())


def fields(owner: str, *names: str) -> tuple[Need, ...]:
    """Names of `owner` that we read or write."""
    return tuple(Need(f"{owner}.{name}", "field") for name in names)


class Part(NamedTuple):
    """What is registered together, or not at all when one of its needs is not met."""

    name: str
    needs: tuple[Need, ...]
    loss: str
    """What does not work without it, in words for the log."""
    register: Callable[[], None]
    """Hands its hooks to SGLang."""
