"""Attention by definition, one request, one head and one query at a time in float64."""

# ruff: noqa: PLR0913, PLR0917 (the arguments of `attend` and of `build_plan`)

from collections.abc import Sequence

import torch


def attend_reference(
    query: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    req_to_token: torch.Tensor,
    req_pool_indices: torch.Tensor,
    query_lens: Sequence[int],
    kv_lens: Sequence[int],
    *,
    scale: float,
    causal: bool,
    window: int = -1,
    logit_cap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """What `attend` must compute, with its arguments and those of `build_plan`; float64."""
    heads_per_kv = query.shape[1] // key_pool.shape[1]
    out = torch.zeros(*query.shape[:2], value_pool.shape[-1], dtype=torch.float64)
    row = 0
    for index, rows, length in zip(req_pool_indices.tolist(), query_lens, kv_lens, strict=True):
        slots = req_to_token[index, :length].long()
        for position in range(length - rows, length):
            last = position if causal else length - 1
            first = max(0, position - window) if window >= 0 else 0
            seen = slots[first : last + 1]
            for head in range(query.shape[1]):
                keys = key_pool[seen, head // heads_per_kv].double()
                scores = keys @ query[row, head].double() * scale
                if logit_cap:
                    scores = logit_cap * torch.tanh(scores / logit_cap)
                if sinks is not None:
                    scores = torch.cat([scores, sinks[head].double().view(1)])
                weights = torch.softmax(scores, dim=0)[: seen.numel()]
                out[row, head] = weights @ value_pool[seen, head // heads_per_kv].double()
            row += 1
    return out
