"""Sequential Temperature Scaling: makes the *product* of the confidences right in absolute value.

The paper's method: from left to right, a one-dimensional grid search finds for position k the
temperature of c_k that minimises the expected calibration error of c_1 ... c_k against "the first
k draft tokens were accepted", the earlier temperatures fixed. A temperature keeps the order of
the confidences of its position.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dspark_control.core.tables import StsTable

Floats = NDArray[np.float64]

GRID = np.exp(np.linspace(np.log(0.1), np.log(10.0), 201))
"""Temperatures that are tried, 2.3 % apart."""

BINS = 15
"""Equal-width bins of the calibration error."""


@dataclass(frozen=True)
class Observations:
    """Drafted blocks and what became of them; N blocks, gamma positions.

    Raises ValueError when the shapes do not fit or a number is out of range.
    """

    logits: Floats
    """Confidence logits before calibration, `[N, gamma]`."""
    accepted: NDArray[np.int64]
    """Draft tokens accepted, `[N]`."""
    verified: NDArray[np.int64]
    """Draft tokens verified, `[N]`; what lies behind has no label."""

    def __post_init__(self) -> None:
        if reason := _why_unusable(self):
            raise ValueError(f"observations: {reason}")


def _why_unusable(seen: Observations) -> str | None:
    if seen.logits.ndim != 2 or 0 in seen.logits.shape:
        return f"logits of shape {seen.logits.shape}, [N, gamma] with N, gamma > 0 is needed"
    count, gamma = seen.logits.shape
    if seen.accepted.shape != (count,) or seen.verified.shape != (count,):
        return f"accepted and verified must have one number for each of the {count} blocks"
    if not np.isfinite(seen.logits).all():
        return "a logit is not finite"
    if (seen.accepted < 0).any() or (seen.accepted > seen.verified).any():
        return "accepted must lie between 0 and verified"
    if (seen.verified > gamma).any():
        return f"verified must not exceed gamma = {gamma}"
    return None


def fit_sts(seen: Observations, dataset: str = "") -> StsTable:
    """The table that fits `seen`; a position without labels keeps temperature 1."""
    count, gamma = seen.logits.shape
    survival, raw = np.ones(count), np.ones(count)
    temperatures, before, after = list[float](), list[float](), list[float]()
    for position in range(gamma):
        is_known = seen.verified > position
        label = (seen.accepted > position).astype(np.float64)
        logits = seen.logits[:, position]
        raw = raw * _sigmoid(logits)
        before.append(expected_calibration_error(raw[is_known], label[is_known]))
        temperatures.append(_best(logits[is_known], survival[is_known], label[is_known]))
        survival = survival * _sigmoid(logits / temperatures[-1])
        after.append(expected_calibration_error(survival[is_known], label[is_known]))
    return StsTable(tuple(temperatures), dataset, count, tuple(before), tuple(after))


def _best(logits: Floats, survival: Floats, label: Floats) -> float:
    """The temperature of one position; of equal ones the closest to 1."""
    if not len(logits):
        return 1.0
    errors = [expected_calibration_error(survival * _sigmoid(logits / t), label) for t in GRID]
    ties = GRID[np.isclose(errors, min(errors), rtol=0, atol=1e-12)]
    return float(ties[np.abs(np.log(ties)).argmin()])


def expected_calibration_error(predicted: Floats, label: Floats) -> float:
    """Mean distance between predicted and observed frequency over equal-width bins; 0 if empty."""
    if not len(predicted):
        return 0.0
    bins = np.minimum((predicted * BINS).astype(np.int64), BINS - 1)
    surplus = np.bincount(bins, predicted - label, BINS)
    return float(np.abs(surplus).sum() / len(predicted))


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))
