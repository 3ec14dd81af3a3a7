"""The two calibration tables, in the shapes of SGLang's own files.

Field names equal those of `dspark_sts.py` and `dspark_sps.py` in
`sglang.srt.speculative.dspark_components`, so that one table is one thing everywhere.
The bounds are tighter than SGLang's "> 0": a temperature ends up in a float32 buffer
and a rate is inverted, so neither may underflow or overflow there.
"""

from dataclasses import dataclass

from dspark_control.core.checks import (
    MAX_GAMMA,
    MAX_TOKENS,
    Fault,
    float_fault,
    floats_fault,
    int_fault,
    length_fault,
    probes_fault,
    shown,
)

MAX_DATASET_CHARS = 256
"""Longest dataset name of an STS table."""

TEMPERATURE_RANGE = (1e-3, 1e3)
"""Temperatures outside it say that the fit went wrong."""

RATE_RANGE = (1e-9, 1e9)
"""Steps per second."""

MAX_SECONDS = 1e6
"""Longest step time of the additive form."""


@dataclass(frozen=True)
class StsTable:
    """Per-position temperatures of the confidence head (Sequential Temperature Scaling)."""

    temperatures: tuple[float, ...]
    """[gamma], position 1 first."""
    dataset: str = ""
    num_samples: int = 0
    ece_before: tuple[float, ...] = ()
    """[gamma] or empty: expected calibration error before the fit."""
    ece_after: tuple[float, ...] = ()
    """[gamma] or empty: expected calibration error after the fit."""


@dataclass(frozen=True)
class SpsStepTable:
    """Steps per second at probed batch token counts; between probes the lower one holds."""

    sample_batch_tokens: tuple[int, ...]
    sample_steps_per_sec: tuple[float, ...]
    max_batch_tokens: int


@dataclass(frozen=True)
class SpsAdditiveTable:
    """Step seconds = bias + alpha(requests) + theta(batch tokens), piecewise linear."""

    bias_seconds: float
    bs_probes: tuple[int, ...]
    alpha_seconds: tuple[float, ...]
    m_probes: tuple[int, ...]
    theta_seconds: tuple[float, ...]


SpsTable = SpsStepTable | SpsAdditiveTable


def find_sts_fault(table: StsTable) -> Fault | None:
    """The first value of `table` that no worker could use."""
    return (
        _gamma_range_fault(table)
        or floats_fault("temperatures", table.temperatures, *TEMPERATURE_RANGE)
        or _dataset_fault(table.dataset)
        or int_fault("num_samples", table.num_samples, 0, 2**63 - 1)
        or _ece_fault("ece_before", table.ece_before, len(table.temperatures))
        or _ece_fault("ece_after", table.ece_after, len(table.temperatures))
    )


def find_sts_gamma_fault(table: StsTable, gamma: int) -> Fault | None:
    """The fault of a table whose length is not `gamma`."""
    if len(table.temperatures) == gamma:
        return None
    return Fault(
        "temperatures",
        f"temperatures has {len(table.temperatures)} values, but the worker's gamma is {gamma}; "
        f"fit the table for gamma {gamma}",
    )


def sts_fault(table: StsTable, gamma: int | None = None) -> str | None:
    """Why `table` cannot be used (on a worker with `gamma`, if given), or None."""
    fault = find_sts_fault(table)
    if fault is None and gamma is not None:
        fault = find_sts_gamma_fault(table, gamma)
    return fault.message if fault else None


def find_sps_fault(table: SpsTable) -> Fault | None:
    """The first value of `table` that no worker could use."""
    return _step_fault(table) if isinstance(table, SpsStepTable) else _additive_fault(table)


def sps_fault(table: SpsTable) -> str | None:
    """Why `table` cannot be used, or None."""
    fault = find_sps_fault(table)
    return fault.message if fault else None


def _step_fault(table: SpsStepTable) -> Fault | None:
    tokens, rates = table.sample_batch_tokens, table.sample_steps_per_sec
    return (
        probes_fault("sample_batch_tokens", tokens, 1)
        or floats_fault("sample_steps_per_sec", rates, *RATE_RANGE)
        or length_fault("sample_steps_per_sec", rates, "sample_batch_tokens", len(tokens))
        or int_fault(
            "max_batch_tokens",
            table.max_batch_tokens,
            tokens[-1],
            MAX_TOKENS,
            "it covers at least the last probe",
        )
    )


def _additive_fault(table: SpsAdditiveTable) -> Fault | None:
    alpha, theta = table.alpha_seconds, table.theta_seconds
    return (
        float_fault("bias_seconds", table.bias_seconds, 1e-9, MAX_SECONDS)
        or probes_fault("bs_probes", table.bs_probes, 0)
        or floats_fault("alpha_seconds", alpha, 0.0, MAX_SECONDS)
        or length_fault("alpha_seconds", alpha, "bs_probes", len(table.bs_probes))
        or probes_fault("m_probes", table.m_probes, 0)
        or floats_fault("theta_seconds", theta, 0.0, MAX_SECONDS)
        or length_fault("theta_seconds", theta, "m_probes", len(table.m_probes))
    )


def _gamma_range_fault(table: StsTable) -> Fault | None:
    values = table.temperatures
    if not isinstance(values, tuple):
        return Fault(
            "temperatures", f"temperatures is {shown(values)}, but must be a list of numbers"
        )
    if 1 <= len(values) <= MAX_GAMMA:
        return None
    return Fault(
        "temperatures",
        f"temperatures has {len(values)} values, but must have gamma of them, 1..{MAX_GAMMA}",
    )


def _dataset_fault(dataset: object) -> Fault | None:
    if isinstance(dataset, str) and len(dataset) <= MAX_DATASET_CHARS and dataset.isprintable():
        return None
    return Fault(
        "dataset",
        f"dataset is {shown(dataset)}, but must be a line of at most "
        f"{MAX_DATASET_CHARS} printable characters",
    )


def _ece_fault(field: str, values: tuple[float, ...], gamma: int) -> Fault | None:
    fault = floats_fault(field, values, 0.0, 1.0)
    if fault or not values:
        return fault
    return length_fault(field, values, "temperatures", gamma)
