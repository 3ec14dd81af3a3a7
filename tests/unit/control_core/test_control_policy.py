"""Policies: defaults, every refusal names field and value, gamma bounds."""

import math
from dataclasses import replace

import pytest

from dspark_control.core import (
    VERIFY_ALL,
    BudgetMode,
    BudgetSearch,
    SchedulingPolicy,
    could_trim,
    policy_fault,
)


def test_defaults_are_the_papers_production_scheduler() -> None:
    policy = SchedulingPolicy()
    assert policy.mode == "scheduled"
    assert policy.search == "global"
    assert policy_fault(policy) is None
    assert policy_fault(policy, gamma=1) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "scheduled"),  # a text is not the enum
        ("mode", None),
        ("search", "global"),
        ("min_verify_length", 0),
        ("min_verify_length", -1),
        ("min_verify_length", 66),
        ("min_verify_length", True),
        ("min_verify_length", 1.0),
        ("max_verify_length", -1),
        ("max_verify_length", 66),
        ("max_verify_length", False),
        ("min_predicted_gain", -0.1),
        ("min_predicted_gain", math.nan),
        ("min_predicted_gain", math.inf),
        ("min_predicted_gain", 10**400),
        ("survival_floor", 1.1),
        ("survival_floor", math.nan),
        ("survival_floor", True),
        ("survival_floor", "0.1"),
        ("verify_all_below_requests", -1),
        ("verify_all_below_requests", 2**31),
        ("fixed_fraction", -0.1),
        ("fixed_fraction", math.inf),
        ("fixed_fraction", None),
    ],
)
def test_bad_values_are_named(field: str, value: object) -> None:
    fault = policy_fault(replace(SchedulingPolicy(), **{field: value}))
    assert fault is not None
    assert fault.startswith(f"{field} is ")
    assert "must be" in fault
    assert "\n" not in fault


def test_verify_lengths_are_ordered() -> None:
    policy = SchedulingPolicy(min_verify_length=3, max_verify_length=2)
    assert policy_fault(policy) is not None
    assert policy_fault(replace(policy, max_verify_length=3)) is None
    assert policy_fault(replace(policy, max_verify_length=0)) is None


@pytest.mark.parametrize("field", ["min_verify_length", "max_verify_length"])
def test_verify_length_counts_the_anchor(field: str) -> None:
    policy = replace(SchedulingPolicy(), **{field: 8})
    assert policy_fault(policy, gamma=7) is None
    fault = policy_fault(policy, gamma=6)
    assert fault is not None
    assert "gamma 6" in fault
    assert "7 or less" in fault


def test_only_verify_all_never_trims() -> None:
    assert not could_trim(VERIFY_ALL)
    assert could_trim(SchedulingPolicy())
    assert could_trim(SchedulingPolicy(mode=BudgetMode.FIXED_FRACTION))


def test_an_early_stop_may_not_compare_with_verifying_all():
    policy = SchedulingPolicy(search=BudgetSearch.EARLY_STOP, min_predicted_gain=0.04)
    reason = policy_fault(policy)
    assert reason is not None
    assert reason.startswith("min_predicted_gain is 0.04")
    assert "use search global" in reason
    assert policy_fault(replace(policy, search=BudgetSearch.GLOBAL)) is None


def test_verifying_all_has_no_longest_length():
    policy = SchedulingPolicy(mode=BudgetMode.VERIFY_ALL, max_verify_length=3)
    reason = policy_fault(policy)
    assert reason is not None
    assert reason.startswith("max_verify_length is 3")
    assert policy_fault(replace(policy, mode=BudgetMode.SCHEDULED)) is None
