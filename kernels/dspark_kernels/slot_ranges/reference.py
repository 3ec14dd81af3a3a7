"""Torch versions of SGLang's `assign_req_to_token_pool` and `assign_extend_cache_locs`."""

import torch


def write_slots(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start_offset: torch.Tensor,
    end_offset: torch.Tensor,
    out_cache_loc: torch.Tensor,
) -> None:
    """Store `out_cache_loc`, request after request, at `[start_offset, end_offset)` of each row.

    `req_to_token` is `[requests, context]`, the offsets `[batch]`.
    """
    row, column = _cells(req_pool_indices, start_offset, end_offset)
    req_to_token[row, column] = out_cache_loc[: row.numel()].to(req_to_token.dtype)


def read_slots(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start_offset: torch.Tensor,
    end_offset: torch.Tensor,
    size: int,
) -> torch.Tensor:
    """The slots at `[start_offset, end_offset)` of each row, packed; int64 `[size]`.

    Entries beyond the ranges are 0, the sink slot (upstream leaves them undefined).
    """
    row, column = _cells(req_pool_indices, start_offset, end_offset)
    packed = req_to_token[row, column].long()
    return torch.nn.functional.pad(packed, (0, size - packed.numel()))


def _cells(
    rows: torch.Tensor, start: torch.Tensor, end: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Row and column of every cell of the ranges, in order."""
    lengths = (end - start).long()
    before = lengths.cumsum(0) - lengths
    column = torch.arange(int(lengths.sum()), device=rows.device)
    column += torch.repeat_interleave(start.long() - before, lengths)
    return torch.repeat_interleave(rows.long(), lengths), column
