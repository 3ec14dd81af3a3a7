"""Step cost as arrays, so that a step only slices.

A table is looked up for every candidate budget of every step; evaluating it once
per snapshot for all sizes that can occur turns each lookup into a view.
"""

import numpy as np
from numpy.typing import NDArray

from dspark_control.core import SpsStepTable, SpsTable

FloatArray = NDArray[np.float64]


class CostModel:
    """Seconds of a step, for up to `max_requests` requests and `max_tokens` batch tokens.

    Values equal SGLang's own readings of the tables: the step form takes the probe
    at or below the batch tokens, the additive form interpolates and is flat outside.
    """

    def __init__(self, table: SpsTable, *, max_requests: int, max_tokens: int) -> None:
        tokens = np.arange(max_tokens + 1)
        if isinstance(table, SpsStepTable):
            self._by_requests: FloatArray = np.zeros(max_requests + 1)
            self._by_tokens: FloatArray = _step_seconds(table, tokens)
        else:
            requests = np.arange(max_requests + 1)
            alpha = np.interp(requests, table.bs_probes, table.alpha_seconds)
            self._by_requests = table.bias_seconds + alpha
            self._by_tokens = np.interp(tokens, table.m_probes, table.theta_seconds)

    def seconds(self, *, requests: int, first: int, count: int) -> FloatArray:
        """Seconds of a step with `first`, `first` + 1, ... batch tokens, shape [count]."""
        fixed = float(self._by_requests[requests])
        return fixed + self._by_tokens[first : first + count]


def _step_seconds(table: SpsStepTable, tokens: NDArray[np.int64]) -> FloatArray:
    probe = np.searchsorted(table.sample_batch_tokens, tokens, side="right") - 1
    rates = np.asarray(table.sample_steps_per_sec, dtype=np.float64)
    return np.asarray(1.0 / rates[np.clip(probe, 0, len(rates) - 1)])
