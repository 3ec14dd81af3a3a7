"""STS and SPS tables: what is refused, and how it is named."""

import math
from dataclasses import replace

import pytest

from dspark_control.core import (
    SpsAdditiveTable,
    SpsStepTable,
    SpsTable,
    StsTable,
    sps_fault,
    sts_fault,
)
from dspark_control.core.checks import MAX_PROBES

STS = StsTable((1.0, 1.2, 0.9), "math", 100, (0.1, 0.2, 0.3), (0.0, 0.1, 1.0))
STEP = SpsStepTable((1, 8, 64), (100.0, 90.0, 40.0), 64)
ADDITIVE = SpsAdditiveTable(0.01, (0, 8), (0.0, 0.002), (1, 512), (0.0, 0.05))


def test_good_tables_pass() -> None:
    assert sts_fault(STS, gamma=3) is None
    assert sts_fault(StsTable((1.0,) * 64), gamma=64) is None
    assert sps_fault(STEP) is None
    assert sps_fault(ADDITIVE) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperatures", ()),
        ("temperatures", (1.0,) * 65),
        ("temperatures", [1.0]),
        ("temperatures", (0.0, 1.0, 1.0)),
        ("temperatures", (-1.0, 1.0, 1.0)),
        ("temperatures", (math.nan, 1.0, 1.0)),
        ("temperatures", (1.0, math.inf, 1.0)),
        ("temperatures", (1e-40, 1.0, 1.0)),  # zero in float32
        ("temperatures", (True, 1.0, 1.0)),
        ("dataset", 5),
        ("dataset", "x" * 257),
        ("dataset", "a\nb"),
        ("num_samples", -1),
        ("num_samples", True),
        ("num_samples", 2**63),
        ("ece_before", (0.1,)),
        ("ece_before", (0.1, 0.2, 1.1)),
        ("ece_after", (0.1, 0.2, math.nan)),
    ],
)
def test_bad_sts_values_are_named(field: str, value: object) -> None:
    _assert_named(sts_fault(replace(STS, **{field: value})), field)


def test_sts_has_one_temperature_per_draft_position() -> None:
    fault = sts_fault(STS, gamma=7)
    assert fault is not None
    assert "3 values" in fault
    assert "gamma is 7" in fault


@pytest.mark.parametrize(
    ("table", "field", "value"),
    [
        (STEP, "sample_batch_tokens", ()),
        (STEP, "sample_batch_tokens", (8, 1, 64)),
        (STEP, "sample_batch_tokens", (1, 1, 64)),
        (STEP, "sample_batch_tokens", (0, 1, 64)),
        (STEP, "sample_batch_tokens", (-1, 1, 64)),
        (STEP, "sample_batch_tokens", (True, 2, 64)),
        (STEP, "sample_batch_tokens", (1, 2.0, 64)),
        (STEP, "sample_batch_tokens", (1, 2, 2**31)),
        (STEP, "sample_batch_tokens", tuple(range(1, MAX_PROBES + 2))),
        (STEP, "sample_steps_per_sec", (1.0, 2.0)),
        (STEP, "sample_steps_per_sec", (1.0, 2.0, 0.0)),
        (STEP, "sample_steps_per_sec", (1.0, 2.0, -3.0)),
        (STEP, "sample_steps_per_sec", (1.0, math.nan, 1.0)),
        (STEP, "sample_steps_per_sec", (1.0, math.inf, 1.0)),
        (STEP, "sample_steps_per_sec", (1.0, "2", 1.0)),
        (STEP, "max_batch_tokens", 63),
        (STEP, "max_batch_tokens", True),
        (ADDITIVE, "bias_seconds", 0.0),
        (ADDITIVE, "bias_seconds", -1.0),
        (ADDITIVE, "bias_seconds", math.nan),
        (ADDITIVE, "bias_seconds", True),
        (ADDITIVE, "bs_probes", ()),
        (ADDITIVE, "bs_probes", (8, 0)),
        (ADDITIVE, "bs_probes", (-1, 0)),
        (ADDITIVE, "alpha_seconds", (0.1,)),
        (ADDITIVE, "alpha_seconds", (-0.1, 0.1)),
        (ADDITIVE, "m_probes", (5, 5)),
        (ADDITIVE, "theta_seconds", (0.1, math.inf)),
        (ADDITIVE, "theta_seconds", 3),
    ],
)
def test_bad_sps_values_are_named(table: SpsTable, field: str, value: object) -> None:
    _assert_named(sps_fault(replace(table, **{field: value})), field)


def test_the_largest_table_passes() -> None:
    probes = tuple(range(1, MAX_PROBES + 1))
    assert sps_fault(SpsStepTable(probes, (1.0,) * MAX_PROBES, MAX_PROBES)) is None


def _assert_named(fault: str | None, field: str) -> None:
    assert fault is not None
    assert fault.startswith(field)
    assert "must" in fault
    assert "\n" not in fault
    assert len(fault) < 300
