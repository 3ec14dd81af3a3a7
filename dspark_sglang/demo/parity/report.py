"""The figures of a comparison, and how they were taken."""

import argparse
from collections.abc import Mapping
from typing import Any

from dspark_sglang.demo.comparing import ROUNDING_GAP
from dspark_sglang.demo.parity.comparing import CONFIDENCE_TOLERANCE, Findings

TOKEN_KINDS = ("anchor", "draft", "accepted", "output")


def figures_of(findings: Findings) -> dict[str, Any]:
    """What the report says about one head at one batch size."""
    tied = [each for each in findings.mismatches if each.is_rounding]
    count = {kind: _count(findings, kind) for kind in (*TOKEN_KINDS, "verified", "confidence")}
    drafts = findings.rounds - count["anchor"] - count["draft"]
    lengths = drafts - count["accepted"] - count["verified"]
    rounds = max(findings.rounds, 1)
    return {
        "requests": findings.requests,
        "rounds": findings.rounds,
        "rounds_skipped": findings.skipped,
        "draft_tokens_equal": drafts,
        "accepted_equal": lengths,
        "output_equal": findings.requests - count["output"],
        "confidences": findings.confidences,
        "confidence_max_difference": findings.confidence_difference,
        "ties": {kind: sum(each.what == kind for each in tied) for kind in TOKEN_KINDS},
        "tie_max_gap": max((abs(each.gap or 0.0) for each in tied), default=0.0),
        "unexplained": len(findings.mismatches) - len(tied),
        "accept_length": round(1 + findings.accepted / rounds, 3),
        "batch_mean": round(findings.batched / rounds, 2),
    }


def _count(findings: Findings, kind: str) -> int:
    return sum(each.what == kind for each in findings.mismatches)


def summary(figures: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The one line that a reader of many benchmarks wants."""
    how = (
        f"greedy, float32, CPU, {options.tokens} tokens a prompt (end of text ignored), SGLang in "
        f"{options.mode} mode verifying whole blocks against dspark_sglang.reference one prompt at "
        "a time; rounds of equal drafts and accept lengths (bonus token included); confidences "
        f"within {CONFIDENCE_TOLERANCE}; output against plain decoding of the reference; ties: the "
        f"reference's logits of both tokens within {ROUNDING_GAP}; head none is in SGLang a "
        "vanilla head of zeros; gated and rnn: the shipped draft with random weights for what it "
        "has not"
    )
    return {"bench": "verify-parity", "figures": dict(figures), "how": how}
