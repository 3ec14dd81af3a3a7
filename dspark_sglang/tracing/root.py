"""The totals of `dspark.decode` on the root span too, where dashboards look first.

SGLang's tokenizer process closes the root span; it knows the totals from the output
message of the scheduler, so nothing extra crosses the process boundary.
"""

from typing import Any

from sglang.srt.runtime_context import get_spec

from dspark_sglang.tracing.decode import totals_of


def add_totals(
    attributes: dict[str, Any], _manager: Any, _state: Any, output: Any, index: int
) -> dict[str, Any]:
    """After `TokenizerManager.convert_to_span_attrs`: add the totals of a DSPARK request."""
    rounds = _at(output, "spec_verify_ct", index)
    if not rounds or str(get_spec().speculative_algorithm).upper() != "DSPARK":
        return attributes
    totals = totals_of(
        rounds=rounds,
        accepted=_at(output, "spec_num_correct_drafts", index),
        verified=_at(output, "spec_num_cap_tokens", index),
        trimmable=sum(_list_at(output, "spec_cap_lens_histogram", index)),
        gamma=int(get_spec().speculative_num_draft_tokens) - 1,
    )
    return {**attributes, **totals}


def _list_at(output: Any, field: str, index: int) -> list[int]:
    values = getattr(output, field, None) or ()
    return (values[index] or []) if index < len(values) else []


def _at(output: Any, field: str, index: int) -> int:
    values = getattr(output, field, None) or ()
    return int(values[index]) if index < len(values) else 0
