"""Identities and the one question: can this worker run this snapshot?"""

import math
from dataclasses import fields, replace

import pytest

from dspark_control.core import (
    VERIFY_ALL,
    BudgetMode,
    Capabilities,
    DeploymentIdentity,
    RejectReason,
    SchedulingPolicy,
    Snapshot,
    SpsStepTable,
    StsTable,
    identity_differences,
    identity_fault,
    incompatibility,
)

RUNNING = DeploymentIdentity(
    target_digest="sha256:a",
    draft_digest="sha256:b",
    gamma=7,
    gpu="H200",
    tp_size=8,
    dp_size=1,
    pp_size=1,
    dtype="bfloat16",
    attention_backend="flashinfer",
    engine_version="0.5.23",
    graph_tiers=(8, 16),
)
ABLE = Capabilities(ragged_verify=True, confidence_head=True, version="1")
SPS = SpsStepTable((1, 2), (2.0, 1.0), 2)
SNAPSHOT = Snapshot(3, SchedulingPolicy(), StsTable((1.0,) * 7), SPS)


@pytest.mark.parametrize("name", [field.name for field in fields(DeploymentIdentity)])
def test_each_field_can_differ_alone(name: str) -> None:
    value = getattr(RUNNING, name)
    others = {str: "other", int: 99, tuple: (1, 2)}
    changed = replace(RUNNING, **{name: others[type(value)]})
    assert identity_differences(changed, RUNNING) == (name,)
    emptied = replace(RUNNING, **{name: type(value)()})
    assert identity_differences(emptied, RUNNING) == ()
    assert identity_differences(RUNNING, emptied) == ()


def test_all_differences_are_named() -> None:
    measured_on = replace(RUNNING, gpu="B200", tp_size=4)
    assert identity_differences(measured_on, RUNNING) == ("gpu", "tp_size")
    assert identity_differences(DeploymentIdentity(), RUNNING) == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gamma", 65),
        ("gamma", -1),
        ("gpu", "a\x1b[31m"),
        ("tp_size", True),
        ("graph_tiers", (2, 1)),
    ],
)
def test_malformed_identities_are_named(field: str, value: object) -> None:
    fault = identity_fault(replace(RUNNING, **{field: value}))
    assert fault is not None
    assert fault.startswith(field)


def test_a_fitting_snapshot_is_compatible() -> None:
    snapshot = replace(SNAPSHOT, sts_measured_on=RUNNING, sps_measured_on=RUNNING)
    assert incompatibility(snapshot, RUNNING, ABLE) is None
    assert incompatibility(snapshot, DeploymentIdentity(), ABLE) is None


@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        ({"sts": StsTable((1.0,) * 5)}, RejectReason.GAMMA_MISMATCH, "sts.temperatures"),
        (
            {"policy": SchedulingPolicy(max_verify_length=9)},
            RejectReason.GAMMA_MISMATCH,
            "policy.max_verify_length",
        ),
        (
            {"sps_measured_on": replace(RUNNING, gpu="B200")},
            RejectReason.IDENTITY_MISMATCH,
            "sps_measured_on.gpu",
        ),
        (
            {"sts_measured_on": replace(RUNNING, gamma=5)},
            RejectReason.IDENTITY_MISMATCH,
            "sts_measured_on.gamma",
        ),
        (
            {"policy": SchedulingPolicy(survival_floor=math.nan)},
            RejectReason.INVALID_VALUE,
            "policy.survival_floor",
        ),
        ({"sts": StsTable((-1.0,) * 7)}, RejectReason.INVALID_VALUE, "sts.temperatures"),
        (
            {"sps": SpsStepTable((2, 1), (1.0, 1.0), 2)},
            RejectReason.INVALID_VALUE,
            "sps.sample_batch_tokens",
        ),
        (
            {"sts_measured_on": replace(RUNNING, gamma=65)},
            RejectReason.INVALID_VALUE,
            "sts_measured_on.gamma",
        ),
    ],
)
def test_rejections_are_machine_readable(
    change: dict[str, object], reason: RejectReason, field: str
) -> None:
    rejection = incompatibility(replace(SNAPSHOT, **change), RUNNING, ABLE)
    assert rejection is not None
    assert rejection.reason is reason
    assert rejection.fields == (field,)
    assert "\n" not in rejection.message


@pytest.mark.parametrize("lacking", ["ragged_verify", "confidence_head"])
@pytest.mark.parametrize("mode", list(BudgetMode))
def test_a_worker_that_cannot_trim_takes_only_verify_all(lacking: str, mode: BudgetMode) -> None:
    snapshot = replace(SNAPSHOT, policy=SchedulingPolicy(mode=mode))
    rejection = incompatibility(snapshot, RUNNING, replace(ABLE, **{lacking: False}))
    if mode is BudgetMode.VERIFY_ALL:
        assert rejection is None
    else:
        assert rejection is not None
        assert rejection.reason is RejectReason.UNSUPPORTED
        assert lacking in rejection.message


def test_the_kill_switch_is_always_compatible() -> None:
    nothing = Capabilities(ragged_verify=False, confidence_head=False, version="")
    assert incompatibility(Snapshot(1, VERIFY_ALL), RUNNING, nothing) is None
    odd = replace(VERIFY_ALL, min_verify_length=60, survival_floor=math.nan)
    assert incompatibility(Snapshot(1, odd), RUNNING, nothing) is None
