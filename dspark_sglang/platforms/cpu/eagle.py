"""What SGLang's own EAGLE worker needs on a CPU beyond what DSPARK does: chains, no trees.

It drafts one token a pass and verifies the chain; upstream builds and walks trees of such chains
with kernels that have no torch version. Served so that an autoregressive draft can be measured
next to DSpark in one engine.
"""

# ruff: noqa: PLR0913, PLR0917, ARG001 (the signatures are upstream's)

from typing import Any

import torch
from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool

from dspark_kernels.draft_chain import verify_chain_sampled
from dspark_kernels.slot_ranges import read_slots
from dspark_sglang.platforms.cpu.attention import CpuAttentionBackend


class ChainDraftBackend:
    """One attention backend a draft pass: pass i reads the i + 1 tokens drafted so far as well."""

    def __init__(self, runner: Any, num_steps: int) -> None:
        """NotImplementedError for a draft whose sliding-window layers have a pool of their own."""
        if isinstance(runner.token_to_kv_pool, SWAKVPool):
            raise NotImplementedError("the CPU platform has no EAGLE3 drafts with a window pool")
        self.attn_backends = [CpuAttentionBackend(runner, step) for step in range(1, num_steps)]

    def init_forward_metadata(self, forward_batch: Any) -> None:
        """Plan the reads of every pass."""
        for backend in self.attn_backends:
            backend.init_forward_metadata(forward_batch)


def decode_backend(factory: Any) -> tuple[str, ChainDraftBackend]:
    """In place of Triton's; SGLang asks by the name under which ours is served."""
    return "triton", ChainDraftBackend(factory.draft_model_runner, factory.speculative_num_steps)


def extend_backend(factory: Any) -> tuple[str, CpuAttentionBackend]:
    """The same for the pass over what was verified."""
    return "triton", CpuAttentionBackend(factory.draft_model_runner)


def draft_cache_locs(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    seq_lens: torch.Tensor,
    out_cache_loc: torch.Tensor,
    topk: int,
    num_cols: int,
    positions: torch.Tensor | None = None,
    mrope: torch.Tensor | None = None,
) -> None:
    """Slots that a draft writes: `topk * num_cols` of each request, from `seq_lens` on."""
    ends = seq_lens + topk * num_cols
    size = out_cache_loc.numel()
    out_cache_loc.copy_(read_slots(req_pool_indices, req_to_token, seq_lens, ends, size))


def next_tokens(
    i: int,
    topk_p: torch.Tensor,
    topk_index: torch.Tensor,
    hidden_states: torch.Tensor | None,
    scores: torch.Tensor | None,
    topk: int,
) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor, tuple[torch.Tensor, ...]]:
    """Input ids, states and scores of the next pass, and its part of the tree.

    Of one candidate a request, `topk_index` `[batch, 1]`, there is nothing to choose.
    """
    tree = topk_p.unsqueeze(1), topk_index, torch.zeros_like(topk_index)
    return topk_index.flatten(), hidden_states, topk_p, tree


def provide_sampling(*_arguments: Any, **_named: Any) -> None:
    """Fill in what upstream leaves empty without a CUDA kernel: verification of sampled drafts.

    Set once a worker, since a hook on None would replace every None of SGLang's modules.
    """
    from sglang.srt.speculative import dflash_utils, eagle_utils

    eagle_utils.tree_speculative_sampling_target_only = verify_chain_sampled
    eagle_utils.top_k_renorm_prob = dflash_utils._dflash_top_k_renorm_prob
    eagle_utils.top_p_renorm_prob = dflash_utils._dflash_top_p_renorm_prob
