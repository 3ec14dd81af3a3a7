"""Bounds on verify lengths mean the same to the planner and to SGLang's ranking."""

import pytest
import torch
from sglang.kernels.ops.speculative.dspark.dspark_schedule import schedule_verify_lens_topk
from sglang.srt.speculative.dspark_components.dspark_planner import DSparkScheduleConfig

from dspark_sglang.worker.bounds import SMALLEST_SURVIVAL, within_bounds

GAMMA = 7


def lengths(confidence, budget, shortest, longest):
    """Verify lengths as SGLang ranks them, from the confidences that we hand it."""
    cfg = DSparkScheduleConfig(
        gamma=GAMMA,
        min_verify_len=shortest,
        max_verify_len=longest,
        survival_eps=SMALLEST_SURVIVAL,
    )
    bounded = within_bounds(confidence, shortest, longest)
    return schedule_verify_lens_topk(confidence=bounded, budget=budget, cfg=cfg).tolist()


def wanted(confidence, budget, shortest, longest):
    """By definition: the best tokens between the bounds, one after the other."""
    survival = torch.cumprod(confidence, dim=1)
    rows, columns = range(len(survival)), range(shortest - 1, longest - 1)
    best = sorted((-float(survival[r, c]), c, r) for r in rows for c in columns)[:budget]
    return [shortest + sum(row == r for _, _, r in best) for row in rows]


def test_a_confident_row_takes_no_budget_past_the_longest_length():
    confidence = torch.tensor([[0.9] * GAMMA, [0.5, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5]])
    assert lengths(confidence, 6, 1, 4) == [4, 4]


@pytest.mark.parametrize(("shortest", "longest"), [(1, 8), (1, 4), (3, 8), (2, 5), (4, 4), (8, 8)])
def test_lengths_are_those_of_the_best_tokens_between_the_bounds(shortest, longest):
    torch.manual_seed(0)
    for requests in (1, 3, 6):
        confidence = 0.05 + 0.9 * torch.rand(requests, GAMMA)
        for budget in range(requests * (longest - shortest) + 1):
            assert lengths(confidence, budget, shortest, longest) == wanted(
                confidence, budget, shortest, longest
            )
