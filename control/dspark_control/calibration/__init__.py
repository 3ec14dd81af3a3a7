"""Fits the calibration tables to what was observed."""

from dspark_control.calibration.sts import Observations, expected_calibration_error, fit_sts

__all__ = ["Observations", "expected_calibration_error", "fit_sts"]
