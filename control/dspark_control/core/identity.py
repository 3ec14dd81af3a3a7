"""The deployment identity: what a worker runs, and what a table was measured on."""

from dataclasses import dataclass, fields

from dspark_control.core.checks import MAX_GAMMA, MAX_TOKENS, Fault, int_fault, probes_fault, shown

MAX_TEXT = 256
"""Longest text field of an identity."""


@dataclass(frozen=True)
class DeploymentIdentity:
    """Everything that a calibration table depends on.

    An empty field (or 0) matches anything in a table's identity and means "not known" in a
    worker's.
    """

    target_digest: str = ""
    draft_digest: str = ""
    gamma: int = 0
    gpu: str = ""
    tp_size: int = 0
    dp_size: int = 0
    pp_size: int = 0
    dtype: str = ""
    attention_backend: str = ""
    engine_version: str = ""
    graph_tiers: tuple[int, ...] = ()
    """Captured verify graph sizes in tokens, ascending; empty when eager."""


def identity_differences(
    measured_on: DeploymentIdentity, running: DeploymentIdentity
) -> tuple[str, ...]:
    """Names of the fields that both know and that differ, in declaration order."""
    names = (field.name for field in fields(DeploymentIdentity))
    return tuple(name for name in names if _differs(name, measured_on, running))


def _differs(name: str, left: DeploymentIdentity, right: DeploymentIdentity) -> bool:
    a, b = getattr(left, name), getattr(right, name)
    return bool(a) and bool(b) and a != b


def find_identity_fault(identity: DeploymentIdentity) -> Fault | None:
    """The first field of `identity` that is not even well-formed."""
    for field in fields(DeploymentIdentity):
        value = getattr(identity, field.name)
        fault = _field_fault(field.name, value)
        if fault is not None:
            return fault
    return None


def identity_fault(identity: DeploymentIdentity) -> str | None:
    """Why `identity` is not well-formed, or None."""
    fault = find_identity_fault(identity)
    return fault.message if fault else None


def _field_fault(name: str, value: object) -> Fault | None:
    if name == "gamma":
        return int_fault(name, value, 0, MAX_GAMMA)
    if name == "graph_tiers":
        return None if value == () else probes_fault(name, value, 1)
    if name.endswith("_size"):
        return int_fault(name, value, 0, MAX_TOKENS)
    if isinstance(value, str) and len(value) <= MAX_TEXT and (not value or value.isprintable()):
        return None
    return Fault(
        name, f"{name} is {shown(value)}, but must be a line of at most {MAX_TEXT} characters"
    )
