"""The vectorised search finds what trying every budget finds."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dspark_control.core import BudgetSearch, SchedulingPolicy, SpsStepTable
from dspark_control.planner import BudgetPlanner

GAMMA = 5
CONFIDENCE = st.floats(0.01, 1.0)
ROWS = st.lists(st.lists(CONFIDENCE, min_size=GAMMA, max_size=GAMMA), min_size=1, max_size=6)
RATES = st.lists(st.floats(0.1, 100.0), min_size=1, max_size=8)


def table_of(rates: list[float]) -> SpsStepTable:
    probes = tuple(1 + 4 * i for i in range(len(rates)))
    return SpsStepTable(probes, tuple(rates), probes[-1])


def objectives(survival: np.ndarray, table: SpsStepTable) -> list[float]:
    gains = sorted(survival.ravel().tolist(), reverse=True)
    requests = len(survival)

    def rate(tokens: int) -> float:
        below = [r for p, r in zip(*table_columns(table), strict=True) if p <= tokens]
        return below[-1] if below else table.sample_steps_per_sec[0]

    return [(requests + sum(gains[:k])) * rate(requests + k) for k in range(requests * GAMMA + 1)]


def table_columns(table: SpsStepTable):
    return table.sample_batch_tokens, table.sample_steps_per_sec


@given(rows=ROWS, rates=RATES)
def test_global_search_is_the_maximum_over_all_budgets(rows, rates):
    survival = np.cumprod(np.array(rows), axis=1)
    table = table_of(rates)
    policy = SchedulingPolicy(survival_floor=0.0)
    decision = BudgetPlanner(policy, table, gamma=GAMMA, max_requests=6).decide(survival)
    values = objectives(survival, table)
    assert np.isclose(values[decision.budget], max(values), rtol=1e-9)


@given(rows=ROWS, rates=RATES)
def test_early_stop_admits_while_the_objective_rises(rows, rates):
    survival = np.cumprod(np.array(rows), axis=1)
    table = table_of(rates)
    policy = SchedulingPolicy(search=BudgetSearch.EARLY_STOP, survival_floor=0.0)
    decision = BudgetPlanner(policy, table, gamma=GAMMA, max_requests=6).decide(survival)
    values = objectives(survival, table)
    full = len(values) - 1
    if decision.budget != full:
        rising = values[: decision.budget + 1]
        assert all(b > a * (1 - 1e-12) for a, b in pairwise(rising))
        assert values[decision.budget + 1] <= values[decision.budget] * (1 + 1e-12)


@given(rows=ROWS, rates=RATES, floor=st.floats(0.0, 1.0), gain=st.floats(0.0, 2.0))
def test_budgets_stay_in_range_for_any_policy(rows, rates, floor, gain):
    survival = np.cumprod(np.array(rows), axis=1)
    policy = SchedulingPolicy(
        min_verify_length=2, max_verify_length=4, survival_floor=floor, min_predicted_gain=gain
    )
    planner = BudgetPlanner(policy, table_of(rates), gamma=GAMMA, max_requests=6)
    assert 0 <= planner.decide(survival).budget <= len(rows) * 2
