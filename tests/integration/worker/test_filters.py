"""Filters of verified positions, against SGLang's own sampler of plain decoding."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sglang.srt.layers.sampler import top_k_top_p_min_p_sampling_from_probs_torch
from torch import Tensor

from dspark_sglang.worker.filtered_verify import FilteredVerify, filtered

VOCAB, WIDTH, ALL = 12, 3, 1 << 30


@dataclasses.dataclass
class Info:
    """What is read of SGLang's sampling info."""

    top_ks: Tensor
    top_ps: Tensor
    min_ps: Tensor
    temperatures: Tensor
    is_all_greedy: bool = False
    need_top_k_sampling: bool = True
    need_top_p_sampling: bool = True
    need_min_p_sampling: bool = True


LIMITS = [(ALL, 1.0, 0.0), (4, 1.0, 0.0), (ALL, 0.6, 0.0), (ALL, 1.0, 0.3), (5, 0.8, 0.0)]
LIMITS += [(6, 0.9, 0.1), (2, 0.05, 0.9)]


def info_of(limits: list[tuple[int, float, float]], **needs: bool) -> Info:
    top_ks, top_ps, min_ps = zip(*limits, strict=True)
    temperatures = torch.linspace(0.5, 1.5, len(limits))[:, None]
    return Info(*map(torch.tensor, (top_ks, top_ps, min_ps)), temperatures, **needs)


def plain(logits: Tensor, info: Info) -> Tensor:
    """The distribution `[B, V]` that plain decoding draws from."""
    probs = torch.softmax(logits / info.temperatures, dim=-1)
    _, kept, order, *_ = top_k_top_p_min_p_sampling_from_probs_torch(
        probs, info.top_ks, info.top_ps, info.min_ps, True, None, None, return_filtered_probs=True
    )
    return torch.zeros_like(kept).scatter(1, order, kept / kept.sum(dim=1, keepdim=True))


def test_every_position_has_the_distribution_of_plain_decoding() -> None:
    torch.manual_seed(1)
    info, logits = info_of(LIMITS), 2 * torch.randn(len(LIMITS), WIDTH, VOCAB)
    before = logits.clone()
    found = filtered(logits.flatten(0, 1), info).view_as(logits)
    for place in range(WIDTH):
        p = torch.softmax(found[:, place] / info.temperatures, dim=-1)
        torch.testing.assert_close(p, plain(logits[:, place], info))
    assert torch.equal(logits, before), "log-probabilities are read from these"
    assert torch.equal(found[0], logits[0])


def test_greedy_rows_keep_every_token() -> None:
    """Their best token may be one of several that are equal."""
    logits = torch.zeros(2, VOCAB)
    assert torch.equal(filtered(logits, info_of([(1, 0.1, 0.5)])), logits)


def accepted(info: Info | None) -> dict[str, Any]:
    """What reaches SGLang's acceptance."""
    executor = SimpleNamespace(accept_and_finalize=lambda **facts: facts)
    FilteredVerify(executor)
    logits = torch.randn(len(LIMITS), VOCAB)
    return executor.accept_and_finalize(sampling_info=info, target_logits=logits, bs=7) | {
        "before": logits
    }


def test_the_acceptance_filters_nothing_again() -> None:
    facts = accepted(info_of(LIMITS))
    assert facts["bs"] == 7
    assert facts["target_logits"].isinf().any()
    info = facts["sampling_info"]
    needs = (info.need_top_k_sampling, info.need_top_p_sampling, info.need_min_p_sampling)
    assert not any(needs)


@pytest.mark.parametrize(
    "info",
    [
        None,
        info_of(LIMITS, is_all_greedy=True),
        info_of(LIMITS, need_top_p_sampling=False, need_min_p_sampling=False),
        info_of(LIMITS, need_top_k_sampling=False, need_min_p_sampling=False),
    ],
    ids=["none", "greedy", "top-k alone", "top-p alone"],
)
def test_steps_that_sglang_verifies_rightly_are_untouched(info: Info | None) -> None:
    facts = accepted(info)
    assert facts["target_logits"] is facts["before"]
    assert facts["sampling_info"] is info
