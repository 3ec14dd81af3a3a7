"""Torch functions that take the place of upstream's Triton launches.

Each has the signature of what it replaces; the arithmetic lives in `dspark_kernels`.
"""

# ruff: noqa: PLR0913, PLR0917, ARG001 (the signatures are upstream's)

from collections.abc import Callable
from typing import Any

import torch

from dspark_kernels.slot_ranges import read_slots, write_slots


def speculative_cache_locs(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start_offset: torch.Tensor,
    end_offset: torch.Tensor,
    batch_size: int,
    draft_token_num: int,
    device: Any,
) -> torch.Tensor:
    """Slots of the verify window of each request, packed; int64 `[batch * draft tokens]`."""
    size = batch_size * draft_token_num
    return read_slots(req_pool_indices, req_to_token, start_offset, end_offset, size)


def assign_req_to_token_pool(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start_offset: torch.Tensor,
    end_offset: torch.Tensor,
    out_cache_loc: torch.Tensor,
    batch_size: int,
) -> None:
    """Enter freshly allocated slots into each request's row."""
    write_slots(req_pool_indices, req_to_token, start_offset, end_offset, out_cache_loc)


def no_fused_kv_write(draft_model: Any, pool: Any) -> None:
    """Refuse the fused Triton write of draft KV, so that upstream takes its torch path."""


def record_stream(original: Callable[..., None], tensor: torch.Tensor, stream: Any) -> None:
    """Skip CPU tensors: they have no stream to outlive, and torch raises for them."""
    if tensor.device.type != "cpu":
        original(tensor, stream)


def markov_sample_step(
    original: Callable[..., torch.Tensor], owner: type, /, **arguments: Any
) -> torch.Tensor:
    """Draw no Gumbel noise when every row drafts greedily.

    Upstream cannot look at the temperatures without a device sync and draws for the whole
    vocabulary; on a CPU looking is free.
    """
    if arguments.get("has_sampled_rows") is None:
        arguments["has_sampled_rows"] = bool(arguments["temperatures"].any())
    return original(owner, **arguments)


def complete_tied_head(draft_model: Any, *, embed_tokens: Any, lm_head: Any) -> None:
    """Give a head that is a bare embedding what a draft reads of SGLang's own heads.

    It is whole on every rank and not quantized.
    """
    is_bare = isinstance(lm_head, torch.nn.Embedding)
    if is_bare and not hasattr(lm_head, "quant_method"):
        lm_head.quant_method = None
        lm_head.org_vocab_size = lm_head.num_embeddings
