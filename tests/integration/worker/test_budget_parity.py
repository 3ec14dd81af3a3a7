"""Our budget planner in SGLang's place decides as SGLang's own, on the same files."""

import numpy as np
import pytest
import torch
from sglang.srt.speculative.dspark_components.dspark_planner import (
    DSparkScheduleConfig,
    HostConfidenceBudgetPlanner,
)
from sglang.srt.speculative.dspark_components.dspark_sps import (
    SpsAdditiveCostTable,
    SpsCostTable,
    build_uninitialized_sps_table,
)

from dspark_control.core import SchedulingPolicy
from dspark_control.planner import BudgetPlanner
from dspark_sglang.worker.budget import SnapshotBudgetPlanner
from dspark_sglang.worker.tables import from_upstream

GAMMA = 7
REQUESTS = 6


class Pool:
    req_to_token = torch.zeros((16, 1))


class Runner:
    req_to_token_pool = Pool


TABLES = {
    "stairs": SpsCostTable([1, 8, 16, 32, 48], [90.0, 80.0, 70.0, 30.0, 10.0], 48),
    "steep": SpsCostTable([1, 2, 3, 64], [100.0, 40.0, 5.0, 1.0], 64),
    "rising": SpsCostTable([1, 10, 20], [10.0, 20.0, 15.0], 64),
    "additive": SpsAdditiveCostTable(0.01, [1, 8], [0.0, 0.004], [1, 24, 48], [0.0, 0.01, 0.09]),
    "one probe each": SpsAdditiveCostTable(0.01, [4], [0.002], [8], [0.01]),
}


def planners(table, relay_lag_steps=0):
    upstream = HostConfidenceBudgetPlanner(
        sps_table=table,
        cfg=DSparkScheduleConfig(gamma=GAMMA),
        model_runner=Runner,
        relay_lag_steps=relay_lag_steps,
    )
    ours = SnapshotBudgetPlanner(
        HostConfidenceBudgetPlanner(
            sps_table=table,
            cfg=DSparkScheduleConfig(gamma=GAMMA),
            model_runner=Runner,
            relay_lag_steps=relay_lag_steps,
        )
    )
    ours.planner = BudgetPlanner(
        SchedulingPolicy(), from_upstream(table), gamma=GAMMA, max_requests=16
    )
    return upstream, ours


def step(rng, requests):
    rows = torch.tensor(rng.permutation(16)[:requests])
    return {
        "confidence": torch.tensor(rng.uniform(0.05, 1.0, (requests, GAMMA)), dtype=torch.float32),
        "generation": torch.tensor(rng.integers(1, 3, requests)),
        "current_generation": torch.tensor(rng.integers(0, 3, requests)),
        "req_pool_indices_cpu": rows,
    }


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("relay_lag_steps", [0, 2])
def test_same_budgets_over_a_run_of_steps(name, relay_lag_steps):
    upstream, ours = planners(TABLES[name], relay_lag_steps)
    rng = np.random.default_rng(7)
    for _ in range(200):
        facts = step(rng, int(rng.integers(1, REQUESTS + 1)))
        theirs, mine = upstream.compute_budget(**facts), ours.compute_budget(**facts)
        if theirs != mine:  # float32 sums may tie differently: then the objectives are equal
            assert ours.last_decision.predicted_theta == pytest.approx(
                upstream.last_decision.predicted_theta, rel=1e-6
            )
        assert ours.last_decision.predicted_step_seconds == pytest.approx(
            upstream.last_decision.predicted_step_seconds, rel=1e-6
        )


def test_an_unprofiled_table_is_no_table():
    assert from_upstream(build_uninitialized_sps_table(max_batch_tokens=64)) is None


def test_forced_budget_of_the_profiler_is_kept():
    upstream, ours = planners(TABLES["steep"])
    upstream.forced_budget_frac = ours.forced_budget_frac = 0.5
    facts = step(np.random.default_rng(1), 4)
    assert ours.compute_budget(**facts) == upstream.compute_budget(**facts) == 14
