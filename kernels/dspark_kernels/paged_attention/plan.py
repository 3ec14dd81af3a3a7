"""What one forward's attention reads, worked out once and used by every layer.

Requests are cut into groups that one SDPA call serves. A group is a padded rectangle:
it grows while the padding stays small and its gathered keys and values stay in the
cache, since beyond that a gather costs more than it saves. A request alone needs no
padding, often no mask, and no gather at all when its slots are consecutive.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

MAX_GROUP_BYTES = 8 << 20
"""Keys and values that one call gathers; beyond it a loop over the requests was faster."""

MAX_GROUPED_QUERIES = 32
"""Requests with more query rows than this (a prefill) are served alone."""

SLACK_SLOTS = 512
"""Padding that is always worth one call less."""

MaskKey = tuple[bool, int, int, torch.dtype]


class Group(NamedTuple):
    """Consecutive requests that one attention call serves."""

    rows: slice
    """Their rows in the packed queries."""
    query_lens: tuple[int, ...]
    kv_lens: tuple[int, ...]
    slots: torch.Tensor | slice
    """KV slots `[requests * kv_width]`, padded with the sink slot 0, or a run of them."""
    pad: torch.Tensor | None
    """Row of the group for each padded query `[requests * query_width]`; None if all are full."""
    unpad: torch.Tensor | None
    """The padded query that holds each row of the group; None together with `pad`."""
    masks: dict[MaskKey, torch.Tensor | None]
    """Additive masks made so far in this forward."""

    @property
    def query_width(self) -> int:
        """Query rows a request after padding."""
        return max(self.query_lens)

    @property
    def kv_width(self) -> int:
        """KV slots a request after padding."""
        return max(self.kv_lens)


class Plan(NamedTuple):
    """All groups of one forward."""

    groups: tuple[Group, ...]
    num_rows: int
    """Query rows that belong to a request; further rows are padding of the caller."""


def build_plan(  # noqa: PLR0913 (who is read, how much, and how)
    req_to_token: torch.Tensor,
    req_pool_indices: torch.Tensor,
    query_lens: Sequence[int],
    kv_lens: Sequence[int],
    *,
    bytes_per_slot: int = 1024,
    translate: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Plan:
    """Group the requests of a forward.

    `req_to_token` is `[requests, context]`, `req_pool_indices` `[batch]` its rows. The
    `query_lens[i]` queries of request i are its last positions of `kv_lens[i]`.
    `bytes_per_slot` is the size of a key and its value in the pool; `translate` maps slots
    to those of another pool (a sliding-window one).
    """
    groups = []
    row = 0
    for begin, end in _cut(query_lens, kv_lens, MAX_GROUP_BYTES // bytes_per_slot):
        queries, keys = tuple(query_lens[begin:end]), tuple(kv_lens[begin:end])
        slots = req_to_token[req_pool_indices[begin:end], : max(keys)]
        if translate is not None:
            slots = translate(slots)
        pad, unpad = _padding(queries)
        rows = slice(row, row + sum(queries))
        groups.append(Group(rows, queries, keys, _readable(slots, keys), pad, unpad, {}))
        row = rows.stop
    return Plan(tuple(groups), row)


def _cut(
    query_lens: Sequence[int], kv_lens: Sequence[int], max_slots: int
) -> list[tuple[int, int]]:
    """Half-open request ranges of the groups, in order."""
    cuts: list[tuple[int, int]] = []
    begin = 0
    for end in range(1, len(kv_lens) + 1):
        longer = slice(begin, end + 1)
        if end == len(kv_lens) or not _fits(query_lens[longer], kv_lens[longer], max_slots):
            cuts.append((begin, end))
            begin = end
    return cuts


def _fits(query_lens: Sequence[int], kv_lens: Sequence[int], max_slots: int) -> bool:
    padded = len(kv_lens) * max(kv_lens)
    return (
        max(query_lens) <= MAX_GROUPED_QUERIES
        and padded <= max_slots
        and padded <= sum(kv_lens) + max(sum(kv_lens) // 2, SLACK_SLOTS)
    )


def _readable(slots: torch.Tensor, kv_lens: tuple[int, ...]) -> torch.Tensor | slice:
    """A view of the pool where the slots allow one, else indices without stale entries."""
    if len(kv_lens) == 1:
        first = int(slots[0, 0])
        run = torch.arange(first, first + kv_lens[0], dtype=slots.dtype, device=slots.device)
        if torch.equal(slots[0], run):
            return slice(first, first + kv_lens[0])
    elif min(kv_lens) < max(kv_lens):
        past = torch.arange(max(kv_lens), device=slots.device)
        slots = slots.masked_fill(past >= torch.tensor(kv_lens).unsqueeze(1), 0)
    return slots.reshape(-1)


def _padding(query_lens: tuple[int, ...]) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Row index of each padded query, and back; a missing query repeats the request's last."""
    width = max(query_lens)
    if min(query_lens) == width:
        return None, None
    lens = torch.tensor(query_lens).unsqueeze(1)
    column = torch.arange(width)
    starts = lens.cumsum(0) - lens
    pad = starts + torch.minimum(column, lens - 1)
    return pad.reshape(-1), (column < lens).reshape(-1).nonzero().squeeze(1)


def mask_of(
    group: Group, *, causal: bool, window: int, heads_per_kv: int, dtype: torch.dtype
) -> torch.Tensor | None:
    """Additive mask `[requests, 1, query_width * heads_per_kv, kv_width]`; None allows all.

    A query sees the keys of its request, up to itself if `causal`, and no more than
    `window` positions back if `window` is not negative.
    """
    key = (causal, window, heads_per_kv, dtype)
    if key not in group.masks:
        group.masks[key] = _build_mask(group, causal, window, heads_per_kv, dtype)
    return group.masks[key]


def _build_mask(
    group: Group, causal: bool, window: int, heads_per_kv: int, dtype: torch.dtype
) -> torch.Tensor | None:
    allowed = _allowed(group, causal, window)
    if bool(allowed.all()):
        return None
    mask = torch.zeros(allowed.shape, dtype=dtype).masked_fill_(~allowed, -torch.inf)
    return mask.repeat_interleave(heads_per_kv, dim=1).unsqueeze(1)


def _allowed(group: Group, causal: bool, window: int) -> torch.Tensor:
    """Which key each padded query may see, `[requests, query_width, kv_width]`."""
    kv_lens = torch.tensor(group.kv_lens).view(-1, 1, 1)
    query_lens = torch.tensor(group.query_lens).view(-1, 1, 1)
    column = torch.arange(group.query_width).view(1, -1, 1)
    query = kv_lens - query_lens + torch.minimum(column, query_lens - 1)
    key = torch.arange(group.kv_width).view(1, 1, -1)
    allowed = (key <= query) if causal else (key < kv_lens).expand(-1, group.query_width, -1)
    return allowed & (key >= query - window) if window >= 0 else allowed
