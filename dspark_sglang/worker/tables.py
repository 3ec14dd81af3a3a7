"""SGLang's table objects as ours, for the files of SGLang's own flags."""

from typing import Any

from sglang.srt.speculative.dspark_components.dspark_sps import (
    SpsAdditiveCostTable,
    is_uninitialized_sps_table,
)

from dspark_control.core import SpsAdditiveTable, SpsStepTable, SpsTable


def from_upstream(table: Any) -> SpsTable | None:
    """Our form of a loaded SGLang cost table; None where it has no profile to go by."""
    if is_uninitialized_sps_table(table):
        return None
    if isinstance(table, SpsAdditiveCostTable):
        return SpsAdditiveTable(
            bias_seconds=table.bias_seconds,
            bs_probes=tuple(table.bs_probes),
            alpha_seconds=tuple(table.alpha_seconds),
            m_probes=tuple(table.m_probes),
            theta_seconds=tuple(table.theta_seconds),
        )
    return SpsStepTable(
        sample_batch_tokens=tuple(table.sample_batch_tokens),
        sample_steps_per_sec=tuple(table.sample_steps_per_sec),
        max_batch_tokens=table.max_batch_tokens,
    )
