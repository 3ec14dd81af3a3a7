"""The fit must find the temperatures that the observations were made with."""

import numpy as np
import pytest

from dspark_control.calibration import Observations, expected_calibration_error, fit_sts

pytestmark = pytest.mark.unit


def drawn(temperatures: list[float], count: int, verified: int | None = None) -> Observations:
    """Blocks whose token k survives with probability sigmoid(logit / T_k)."""
    random = np.random.default_rng(0)
    gamma = len(temperatures)
    logits = random.normal(0.5, 2.0, (count, gamma))
    survives = random.random((count, gamma)) < 1 / (1 + np.exp(-logits / np.array(temperatures)))
    length = gamma if verified is None else verified
    accepted = survives.astype(np.int64).cumprod(axis=1)[:, :length].sum(axis=1)
    return Observations(logits, accepted, np.full(count, length))


def test_finds_the_temperatures() -> None:
    table = fit_sts(drawn([2.0, 0.5, 1.0], 60_000))
    assert table.temperatures == pytest.approx((2.0, 0.5, 1.0), rel=0.15)


def test_the_error_of_the_product_falls() -> None:
    table = fit_sts(drawn([3.0, 3.0, 3.0, 3.0], 20_000))
    assert all(b > 0.05 for b in table.ece_before)
    assert all(a < 0.02 for a in table.ece_after)


def test_positions_that_were_never_verified_stay_as_they_are() -> None:
    table = fit_sts(drawn([2.0, 2.0, 2.0], 20_000, verified=2))
    assert table.temperatures[2] == 1.0
    assert table.temperatures[1] == pytest.approx(2.0, rel=0.2)
    assert table.ece_after[2] == 0.0


def test_rows_behind_the_verified_length_do_not_count_as_refused() -> None:
    full, cut = drawn([1.0, 1.0], 50_000), drawn([1.0, 1.0], 50_000)
    half = len(cut.accepted) // 2
    verified = cut.verified.copy()
    verified[:half] = 1
    accepted = np.minimum(cut.accepted, verified)
    table = fit_sts(Observations(cut.logits, accepted, verified))
    assert table.temperatures == pytest.approx(fit_sts(full).temperatures, rel=0.15)


def test_calibration_error_of_known_cases() -> None:
    assert expected_calibration_error(np.array([0.5, 0.5]), np.array([0.0, 1.0])) == 0.0
    assert expected_calibration_error(np.array([1.0, 1.0]), np.array([0.0, 1.0])) == 0.5
    assert expected_calibration_error(np.array([0.9, 0.1]), np.array([0.0, 1.0])) == pytest.approx(
        0.9
    )
    assert expected_calibration_error(np.array([]), np.array([])) == 0.0


def test_extreme_logits_do_not_overflow() -> None:
    seen = Observations(np.array([[900.0], [-900.0]]), np.array([1, 0]), np.array([1, 1]))
    assert fit_sts(seen).ece_after == (pytest.approx(0.0),)


@pytest.mark.parametrize(
    ("logits", "accepted", "verified", "reason"),
    [
        (np.zeros((0, 2)), [], [], "shape"),
        (np.zeros(3), [0, 0, 0], [1, 1, 1], "shape"),
        (np.zeros((2, 2)), [0], [1, 1], "each of the 2 blocks"),
        (np.array([[np.nan, 0.0]]), [0], [1], "not finite"),
        (np.zeros((1, 2)), [2], [1], "between 0 and verified"),
        (np.zeros((1, 2)), [-1], [1], "between 0 and verified"),
        (np.zeros((1, 2)), [0], [3], "gamma = 2"),
    ],
)
def test_unusable_observations_are_refused(logits, accepted, verified, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        Observations(logits, np.array(accepted, dtype=int), np.array(verified, dtype=int))
