"""The scheduling policy: how a worker turns confidences into a verify budget."""

from dataclasses import dataclass
from enum import StrEnum

from dspark_control.core.checks import (
    MAX_GAMMA,
    MAX_TOKENS,
    Fault,
    float_fault,
    int_fault,
    shown,
)


class BudgetMode(StrEnum):
    """How the budget of a step is chosen."""

    SCHEDULED = "scheduled"
    VERIFY_ALL = "verify_all"
    FIXED_FRACTION = "fixed_fraction"


class BudgetSearch(StrEnum):
    """Which search finds the budget in `BudgetMode.SCHEDULED`."""

    GLOBAL = "global"
    EARLY_STOP = "early_stop"


@dataclass(frozen=True)
class SchedulingPolicy:
    """What an operator tells a group of workers; defaults follow the paper's production scheduler.

    Verify lengths count tokens that a request sends to the target in a step, the anchor
    included (1..gamma+1).
    """

    mode: BudgetMode = BudgetMode.SCHEDULED
    search: BudgetSearch = BudgetSearch.GLOBAL
    min_verify_length: int = 1
    max_verify_length: int = 0
    """0 means gamma + 1."""
    min_predicted_gain: float = 0.0
    """Trim only if the objective exceeds that of verify-all by this fraction; global search."""
    survival_floor: float = 1e-6
    """Draft tokens whose survival is below this are never admitted."""
    verify_all_below_requests: int = 0
    """Verify everything while fewer requests run; 0 turns it off."""
    fixed_fraction: float = 1.0
    """Fraction of draft tokens verified in `BudgetMode.FIXED_FRACTION`."""


VERIFY_ALL = SchedulingPolicy(mode=BudgetMode.VERIFY_ALL)
"""The kill switch: without tables, every worker accepts it."""


def could_trim(policy: SchedulingPolicy) -> bool:
    """Whether the policy may verify fewer tokens than were drafted."""
    return policy.mode is not BudgetMode.VERIFY_ALL


def find_policy_fault(policy: SchedulingPolicy) -> Fault | None:
    """The first value of `policy` that no worker could use."""
    return (
        _enum_fault("mode", policy.mode, BudgetMode)
        or _enum_fault("search", policy.search, BudgetSearch)
        or int_fault("min_verify_length", policy.min_verify_length, 1, MAX_GAMMA + 1)
        or int_fault("max_verify_length", policy.max_verify_length, 0, MAX_GAMMA + 1)
        or _length_order_fault(policy)
        or float_fault("min_predicted_gain", policy.min_predicted_gain, 0.0, 1e6)
        or float_fault("survival_floor", policy.survival_floor, 0.0, 1.0)
        or int_fault("verify_all_below_requests", policy.verify_all_below_requests, 0, MAX_TOKENS)
        or float_fault("fixed_fraction", policy.fixed_fraction, 0.0, 1.0)
        or _combination_fault(policy)
    )


def find_policy_gamma_fault(policy: SchedulingPolicy, gamma: int) -> Fault | None:
    """The first verify length of `policy` that a block of `gamma` draft tokens cannot have."""
    for field in ("min_verify_length", "max_verify_length"):
        value = getattr(policy, field)
        if value > gamma + 1:
            return Fault(
                field,
                f"{field} is {value}, but a worker with gamma {gamma} verifies at most "
                f"{gamma + 1} tokens a request; lower it to {gamma + 1} or less",
            )
    return None


def policy_fault(policy: SchedulingPolicy, gamma: int | None = None) -> str | None:
    """Why `policy` cannot run (on a worker with `gamma`, if given), or None."""
    fault = find_policy_fault(policy)
    if fault is None and gamma is not None:
        fault = find_policy_gamma_fault(policy, gamma)
    return fault.message if fault else None


def _enum_fault(field: str, value: object, kind: type[StrEnum]) -> Fault | None:
    if isinstance(value, kind):
        return None
    names = ", ".join(member.value for member in kind)
    return Fault(field, f"{field} is {shown(value)}, but must be one of {names}")


def _combination_fault(policy: SchedulingPolicy) -> Fault | None:
    if policy.search is BudgetSearch.EARLY_STOP and policy.min_predicted_gain > 0:
        return Fault(
            "min_predicted_gain",
            f"min_predicted_gain is {policy.min_predicted_gain}, but search early_stop may not "
            "look ahead to compare with verifying all; set it to 0 or use search global",
        )
    if policy.mode is BudgetMode.VERIFY_ALL and policy.max_verify_length:
        return Fault(
            "max_verify_length",
            f"max_verify_length is {policy.max_verify_length}, but mode verify_all verifies "
            "everything; set it to 0 or use mode fixed_fraction with fixed_fraction 1",
        )
    return None


def _length_order_fault(policy: SchedulingPolicy) -> Fault | None:
    low, high = policy.min_verify_length, policy.max_verify_length
    if high == 0 or low <= high:
        return None
    return Fault(
        "max_verify_length",
        f"max_verify_length is {high}, but min_verify_length is {low}; "
        f"raise it to {low} or more, or set 0 for no limit",
    )
