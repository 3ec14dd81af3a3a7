"""Filters of the target under speculation as they are in plain decoding.

SGLang 0.5.23 verifies sampled drafts without `min_p`, and with the mass of `top_p` taken of what
`top_k` leaves; where it decodes plainly it honours `min_p`, and `top_p` is of the whole
distribution. Here the tokens that plain decoding could not draw are taken out of the target's
logits before the acceptance, which then has no filter left to apply. Steps without `min_p` and
without both of the others are untouched.
"""

import dataclasses
from typing import Any

import torch
from torch import Tensor


def differs_from_plain(sampling_info: Any) -> bool:
    """Whether SGLang would verify a sampled step by another distribution."""
    if sampling_info is None or sampling_info.is_all_greedy:
        return False
    return bool(
        sampling_info.need_min_p_sampling
        or (sampling_info.need_top_k_sampling and sampling_info.need_top_p_sampling)
    )


class FilteredVerify:
    """Wraps the acceptance of `executor`, the worker's `TargetVerifyExecutor`."""

    def __init__(self, executor: Any) -> None:
        self._accept, executor.accept_and_finalize = executor.accept_and_finalize, self._finalize

    def _finalize(self, *, sampling_info: Any, target_logits: Tensor | None, **facts: Any) -> Any:
        if target_logits is not None and differs_from_plain(sampling_info):
            target_logits = filtered(target_logits, sampling_info)
            sampling_info = without_filters(sampling_info)
        return self._accept(sampling_info=sampling_info, target_logits=target_logits, **facts)


def filtered(logits: Tensor, sampling_info: Any) -> Tensor:
    """`logits` `[B W, V]` without the tokens that plain decoding cuts off; greedy rows as is."""
    temperatures = sampling_info.temperatures.view(-1, 1, 1)
    top_ks, top_ps, min_ps = (
        limit.view(-1, 1, 1)
        for limit in (sampling_info.top_ks, sampling_info.top_ps, sampling_info.min_ps)
    )
    rows = logits.view(len(temperatures), -1, logits.shape[-1])
    falling, order = torch.softmax(rows.float() / temperatures, dim=-1).sort(descending=True)
    ranks = torch.arange(falling.shape[-1], device=logits.device)
    is_cut = (ranks >= top_ks) | (falling.cumsum(dim=-1) - falling > top_ps)
    is_cut |= falling < min_ps * falling[..., :1]
    is_cut &= top_ks > 1
    cut = torch.zeros_like(is_cut).scatter_(-1, order, is_cut)
    return rows.masked_fill(cut, -torch.inf).view_as(logits)


def without_filters(sampling_info: Any) -> Any:
    """The same, saying that no request has a filter."""
    return dataclasses.replace(
        sampling_info,
        need_top_k_sampling=False,
        need_top_p_sampling=False,
        need_min_p_sampling=False,
    )
