"""Attention over a plan: one SDPA call a group of requests.

Query heads that share a KV head are folded into the query axis, so that keys and values
are never repeated. A soft cap or attention sinks need the scores themselves; they take an
explicit softmax in float32.
"""

# ruff: noqa: PLR0913, PLR0917 (an attention call has this many operands)

import torch
from torch.nn.functional import scaled_dot_product_attention

from dspark_kernels.paged_attention.plan import Group, Plan, mask_of


def attend(
    query: torch.Tensor,
    key_pool: torch.Tensor,
    value_pool: torch.Tensor,
    plan: Plan,
    *,
    scale: float,
    causal: bool,
    window: int = -1,
    logit_cap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention output `[rows, query heads, value dim]` of `query` `[rows, query heads, dim]`.

    `key_pool` and `value_pool` are `[slots, kv heads, dim]`. `window` limits how many
    positions back a query sees (-1: all); `logit_cap` c turns a score s into c tanh(s / c);
    `sinks` `[query heads]` are scores of a key without a value. Rows beyond the plan's
    come out as zero.
    """
    parts = [
        _attend_group(
            query[group.rows],
            _read(key_pool, group, query.dtype),
            _read(value_pool, group, query.dtype),
            group,
            scale=scale,
            causal=causal,
            window=window,
            logit_cap=logit_cap,
            sinks=sinks,
        )
        for group in plan.groups
    ]
    spare = query.shape[0] - plan.num_rows
    if spare or not parts:
        parts.append(query.new_zeros((spare, query.shape[1], value_pool.shape[-1])))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _attend_group(
    rows: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    group: Group,
    *,
    scale: float,
    causal: bool,
    window: int,
    logit_cap: float,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    """The rows of one group, from its keys and values as `_read` returns them."""
    needs_scores = logit_cap > 0 or sinks is not None
    if _is_plain_prefill(group, causal, window) and not needs_scores:
        return _prefill(rows, keys, values, scale)
    heads_per_kv = rows.shape[1] // keys.shape[1]
    mask = mask_of(group, causal=causal, window=window, heads_per_kv=heads_per_kv, dtype=rows.dtype)
    folded = _fold(rows, group, keys.shape[1])
    if needs_scores:
        result = _explicit(folded, keys, values, mask, scale, logit_cap, sinks)
    else:
        result = scaled_dot_product_attention(folded, keys, values, attn_mask=mask, scale=scale)
    return _unfold(result, group)


def _read(pool: torch.Tensor, group: Group, dtype: torch.dtype) -> torch.Tensor:
    """Keys or values of the group, `[requests, kv heads, kv_width, dim]`."""
    slots = group.slots
    rows = pool[slots] if isinstance(slots, slice) else pool.index_select(0, slots)
    rows = rows.view(len(group.kv_lens), group.kv_width, *pool.shape[1:])
    return rows.transpose(1, 2).to(dtype)


def _is_plain_prefill(group: Group, causal: bool, window: int) -> bool:
    """One request from its first position on: torch's own causal masking does."""
    alone = len(group.kv_lens) == 1 and group.query_lens == group.kv_lens
    return alone and causal and window < 0 and group.query_width > 1


def _prefill(
    rows: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float
) -> torch.Tensor:
    result = scaled_dot_product_attention(
        rows.transpose(0, 1).unsqueeze(0),
        keys,
        values,
        is_causal=True,
        scale=scale,
        enable_gqa=rows.shape[1] != keys.shape[1],
    )
    return result.squeeze(0).transpose(0, 1)


def _fold(rows: torch.Tensor, group: Group, kv_heads: int) -> torch.Tensor:
    """`[rows, heads, dim]` to `[requests, kv heads, query_width * heads a kv head, dim]`."""
    if group.pad is not None:
        rows = rows.index_select(0, group.pad)
    requests, width, dim = len(group.kv_lens), group.query_width, rows.shape[-1]
    rows = rows.view(requests, width, kv_heads, -1, dim)
    return rows.transpose(1, 2).reshape(requests, kv_heads, -1, dim)


def _unfold(result: torch.Tensor, group: Group) -> torch.Tensor:
    """The way back, with padded queries dropped: `[rows, heads, dim]`."""
    requests, kv_heads, _, dim = result.shape
    result = result.view(requests, kv_heads, group.query_width, -1, dim).transpose(1, 2)
    rows = result.reshape(requests * group.query_width, -1, dim)
    return rows if group.unpad is None else rows.index_select(0, group.unpad)


def _explicit(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    scale: float,
    logit_cap: float,
    sinks: torch.Tensor | None,
) -> torch.Tensor:
    scores = torch.matmul(query.float(), keys.float().transpose(-1, -2)) * scale
    if logit_cap:
        scores = logit_cap * torch.tanh(scores / logit_cap)
    if mask is not None:
        scores = scores + mask.float()
    if sinks is not None:
        width = scores.shape[2] * keys.shape[1] // sinks.numel()
        column = sinks.float().view(1, keys.shape[1], 1, -1).expand(-1, -1, width, -1)
        column = column.reshape(1, keys.shape[1], -1, 1).expand(scores.shape[0], -1, -1, -1)
        scores = torch.cat([scores, column], dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : keys.shape[2]]
    return torch.matmul(weights, values.float()).to(query.dtype)
