"""The example artifacts load with the readers of the control plane, and say what they claim."""

import pytest

from dspark_control.core import SpsAdditiveTable, SpsStepTable
from dspark_control.files import load_sps
from dspark_sglang.demo.admin import ARTIFACTS, CYCLE, artifact_of


@pytest.mark.parametrize("file", sorted({file for schedule in CYCLE for file in schedule}))
def test_every_artifact_loads(file: str) -> None:
    artifact = artifact_of(file)
    assert artifact.name == file.rsplit(".", 1)[0]
    assert artifact.WhichOneof("content") == file.split("-", 1)[0]


def test_temperatures_fit_the_shipped_draft() -> None:
    assert len(artifact_of("sts-soft.json").sts.temperatures) == 7
    assert len(artifact_of("sts-identity.json").sts.temperatures) == 7


def test_steep_costs_grow_with_every_token_and_flat_costs_do_not() -> None:
    steep = load_sps((ARTIFACTS / "sps-steep.json").read_bytes())
    flat = load_sps((ARTIFACTS / "sps-flat.json").read_bytes())
    assert isinstance(steep, SpsAdditiveTable)
    assert isinstance(flat, SpsStepTable)
    growth = (steep.theta_seconds[1] - steep.theta_seconds[0]) / steep.theta_seconds[0]
    assert growth > 100
    assert min(flat.sample_steps_per_sec) > 0.99 * max(flat.sample_steps_per_sec)
