"""What a hook of the CPU platform is."""

from collections.abc import Callable
from typing import Any, NamedTuple


class CpuHook(NamedTuple):
    """One hook: upstream target, `HookType` value, our function and the reason for it."""

    target: str
    kind: str
    function: Callable[..., Any]
    reason: str
