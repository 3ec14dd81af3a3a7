"""The budget search against the paper's objective and its counter-example."""

import numpy as np
import pytest

from dspark_control.core import (
    VERIFY_ALL,
    BudgetMode,
    BudgetSearch,
    SchedulingPolicy,
    SpsAdditiveTable,
    SpsStepTable,
)
from dspark_control.planner import BudgetPlanner

STAIRS = SpsStepTable((1, 2, 3), (1.0, 0.5, 0.45), 3)
FLAT = SpsStepTable((1, 64), (10.0, 10.0), 64)


def planner(policy: SchedulingPolicy, sps=STAIRS, gamma: int = 2, requests: int = 8):
    return BudgetPlanner(policy, sps, gamma=gamma, max_requests=requests)


def survivals(*rows):
    return np.cumprod(np.array(rows, dtype=np.float64), axis=1)


def output_probability_of_a(lengths: dict[str, int]) -> float:
    """P(output = A) for p_t = (0.7, 0.3), p_d = (0.5, 0.5), by the verify length after x_1."""
    verified_a = 0.5 * 1.0 if lengths["A"] else 0.5 * 0.7
    if lengths["B"]:
        accepted_b = 0.3 / 0.5
        return verified_a + 0.5 * (1 - accepted_b) * 1.0
    return verified_a + 0.5 * 0.7


@pytest.mark.parametrize(
    ("search", "probability"), [(BudgetSearch.EARLY_STOP, 0.7), (BudgetSearch.GLOBAL, 0.85)]
)
def test_paper_counter_example_needs_the_early_stop_on_current_confidences(search, probability):
    budgets = planner(SchedulingPolicy(search=search))
    lengths = {
        "A": budgets.decide(survivals([0.8, 0.9])).budget,
        "B": budgets.decide(survivals([0.8, 0.0])).budget,
    }
    assert output_probability_of_a(lengths) == pytest.approx(probability)


def test_global_search_reports_the_objective_of_the_paper():
    decision = planner(SchedulingPolicy()).decide(survivals([0.8, 0.9]))
    assert decision.budget == 2
    assert decision.objective == pytest.approx((1 + 0.8 + 0.72) * 0.45)
    assert decision.step_seconds == pytest.approx(1 / 0.45)


def test_a_minimum_gain_keeps_verify_all_when_trimming_wins_too_little():
    steep = SpsStepTable((1, 3), (1.0, 0.5), 3)
    row = survivals([0.5, 0.8])
    assert planner(SchedulingPolicy(), steep).decide(row).budget == 1
    # Trimmed to one: 1.5 a second against (1 + 0.5 + 0.4) * 0.5.
    gain = 1.5 / 0.95 - 1
    assert planner(SchedulingPolicy(min_predicted_gain=gain + 0.01), steep).decide(row).budget == 2
    assert planner(SchedulingPolicy(min_predicted_gain=gain - 0.01), steep).decide(row).budget == 1


def test_below_the_knee_everything_is_verified():
    policy = SchedulingPolicy(verify_all_below_requests=2)
    assert planner(policy).decide(survivals([0.1, 0.1])).budget == 2
    assert planner(policy).decide(survivals([0.1, 0.1], [0.1, 0.1])).budget < 4


def test_fixed_fraction_rounds_down():
    policy = SchedulingPolicy(mode=BudgetMode.FIXED_FRACTION, fixed_fraction=0.5)
    assert planner(policy).decide(survivals([0.9, 0.9], [0.9, 0.9], [0.9, 0.9])).budget == 3


def test_verify_all_and_a_missing_table_verify_everything():
    rows = survivals([0.1, 0.1], [0.1, 0.1])
    for budgets in (planner(VERIFY_ALL), planner(SchedulingPolicy(), None)):
        assert budgets.verifies_all
        assert budgets.decide(rows).budget == 4


def test_a_bounded_length_is_not_verify_all():
    bounded = planner(SchedulingPolicy(max_verify_length=2), None)
    assert not bounded.verifies_all
    assert bounded.decide(survivals([0.9, 0.9])).budget == 1


def test_lengths_between_minimum_and_maximum_are_searched():
    policy = SchedulingPolicy(min_verify_length=2, max_verify_length=3)
    decision = planner(policy, FLAT, gamma=4).decide(survivals([0.9, 0.8, 0.7, 0.6]))
    assert decision.budget == 1
    assert decision.objective == pytest.approx((1 + 0.9 + 0.72) * 10)


def test_tokens_below_the_survival_floor_are_never_admitted():
    policy = SchedulingPolicy(survival_floor=0.5)
    rows = survivals([0.9, 0.9], [0.4, 0.9])
    assert planner(policy, FLAT).decide(rows).budget in (2, 4)  # trimmed, or verify-all
    steep = SpsStepTable((2, 5), (1.0, 0.6), 16)
    assert planner(policy, steep).decide(rows).budget == 2


def test_additive_tables_cost_requests_and_tokens():
    table = SpsAdditiveTable(0.1, (1, 3), (0.0, 0.2), (1, 5), (0.0, 0.4))
    decision = planner(SchedulingPolicy(mode=BudgetMode.SCHEDULED), table).decide(
        survivals([1.0, 1.0], [1.0, 1.0])
    )
    assert decision.budget == 4
    assert decision.step_seconds == pytest.approx(0.1 + 0.1 + 0.4)  # flat past five tokens
