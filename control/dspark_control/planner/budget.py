"""How many draft tokens to verify in a step (paper, section on scheduling).

Objective: tau(K) / T(R, K), where tau is the expected number of accepted tokens of
R requests with the K best draft tokens admitted, and T the seconds of that step.
Runs on every tensor-parallel rank from the same inputs and must give the same
answer there, so it draws nothing and reads no clock.
"""

from typing import NamedTuple

import numpy as np

from dspark_control.core import BudgetMode, BudgetSearch, SchedulingPolicy, SpsTable
from dspark_control.planner.cost import CostModel, FloatArray


class BudgetDecision(NamedTuple):
    """A budget and what it was expected to bring."""

    budget: int
    """Draft tokens to admit over all requests, beyond each request's minimum."""
    step_seconds: float | None = None
    """Predicted seconds of the step; None where no search ran."""
    objective: float | None = None
    """Predicted accepted tokens per second; None where no search ran."""


class BudgetPlanner:
    """Budgets under one policy and one cost table; immutable.

    Handles up to `max_requests` requests a step. A SCHEDULED policy without a cost
    table verifies everything, since trimming on a guess loses throughput.
    """

    def __init__(
        self, policy: SchedulingPolicy, sps: SpsTable | None, *, gamma: int, max_requests: int
    ) -> None:
        max_length = policy.max_verify_length or gamma + 1
        self.policy = policy
        self._first = policy.min_verify_length - 1
        self._last = max_length - 1
        self._cost: CostModel | None = None
        if sps is not None:
            max_tokens = max_requests * (gamma + 1)
            self._cost = CostModel(sps, max_requests=max_requests, max_tokens=max_tokens)
        searches = policy.mode is BudgetMode.SCHEDULED and self._cost is not None
        trims = searches or policy.mode is BudgetMode.FIXED_FRACTION
        self.verifies_all = not trims and max_length >= gamma + 1
        """Whether every step verifies every draft token, whatever the confidences."""

    def decide(self, survival: FloatArray) -> BudgetDecision:
        """Budget for the requests whose prefix survivals are the rows, shape [R, gamma]."""
        requests = len(survival)
        full = requests * (self._last - self._first)
        if self.policy.mode is BudgetMode.FIXED_FRACTION:
            return BudgetDecision(int(self.policy.fixed_fraction * full))
        if (
            self.policy.mode is BudgetMode.VERIFY_ALL
            or self._cost is None
            or requests < self.policy.verify_all_below_requests
        ):
            return BudgetDecision(full)
        return self._search(survival, full, self._cost)

    def _search(self, survival: FloatArray, full: int, cost: CostModel) -> BudgetDecision:
        requests = len(survival)
        gains = np.sort(survival[:, self._first : self._last], axis=None)[::-1]
        accepted = np.empty(full + 1)
        accepted[0] = requests + survival[:, : self._first].sum()
        np.cumsum(gains, out=accepted[1:])
        accepted[1:] += accepted[0]
        seconds = cost.seconds(
            requests=requests, first=requests * (self._first + 1), count=full + 1
        )
        objective = accepted / seconds
        # gains are in descending order: those at or above the floor come first.
        admissible = int(np.count_nonzero(gains >= self.policy.survival_floor))
        best = self._best(objective, admissible)
        return BudgetDecision(best, float(seconds[best]), float(objective[best]))

    def _best(self, objective: FloatArray, admissible: int) -> int:
        candidates = objective[: admissible + 1]
        if self.policy.search is BudgetSearch.EARLY_STOP:
            # Nothing past the stop may be looked at: it may hang on a token's value.
            falls = np.flatnonzero(candidates[1:] <= candidates[:-1])
            return int(falls[0]) if len(falls) else admissible
        best = int(np.argmax(candidates))
        wanted = objective[-1] * (1.0 + self.policy.min_predicted_gain)
        return best if objective[best] >= wanted else len(objective) - 1
