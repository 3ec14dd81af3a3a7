"""The verify budget of a step, from the running snapshot.

Takes the place of the host budget planner that SGLang's verify planner builds. The
confidence relay, its lag and the freshness rule stay SGLang's; only the decision is
ours. Runs on every rank with equal inputs, once a step, without a collective.
"""

from typing import Any

import numpy as np
import torch
from sglang.srt.speculative.dspark_components.dspark_planner import (
    HostConfidenceBudgetPlanner,
    VerifyBudgetDecision,
)

from dspark_control.planner import BudgetPlanner


class SnapshotBudgetPlanner(HostConfidenceBudgetPlanner):  # type: ignore[misc]
    """SGLang's host budget planner, deciding by a `BudgetPlanner` that can be replaced."""

    planner: BudgetPlanner
    """What decides; replaced between two steps when a snapshot is applied."""

    def __init__(self, upstream: HostConfidenceBudgetPlanner) -> None:
        """Take over the relay state of `upstream`, which must not be used any more."""
        self.__dict__.update(upstream.__dict__)

    def compute_budget(
        self,
        *,
        confidence: torch.Tensor,
        generation: torch.Tensor,
        current_generation: torch.Tensor,
        req_pool_indices_cpu: torch.Tensor,
    ) -> int:
        """Draft tokens to admit in this step over all requests.

        `confidence` [R, gamma] is of earlier steps, on the host; rows whose request
        has changed since (`generation` [R] differs) count as certain to survive.
        """
        lagged, lagged_generation = self._shift_to_lag(
            confidence=confidence,
            generation=generation,
            req_pool_indices_cpu=req_pool_indices_cpu,
        )
        decision = self._decide(lagged, lagged_generation, current_generation)
        self.last_decision = decision
        return int(decision.budget)

    def _decide(
        self, confidence: torch.Tensor, generation: torch.Tensor, current: torch.Tensor
    ) -> Any:
        if self.forced_budget_frac is not None:
            return VerifyBudgetDecision(budget=int(self.forced_budget_frac * confidence.numel()))
        survival = np.cumprod(confidence.numpy(), axis=1, dtype=np.float64)
        now = current.numpy()
        survival[(now < 1) | (generation.numpy() != now)] = 1.0
        decision = self.planner.decide(survival)
        return VerifyBudgetDecision(
            budget=decision.budget,
            predicted_step_seconds=decision.step_seconds,
            predicted_theta=decision.objective,
        )
