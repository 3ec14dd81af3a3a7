"""What SGLang's own DFLASH worker needs on a CPU beyond what DSPARK does.

Its draft reads embeddings instead of token ids, and it verifies sampled requests with a CUDA
kernel that has no Triton or torch version upstream.
"""

from collections.abc import Callable
from typing import Any

import torch

from dspark_kernels.draft_chain import verify_chain_sampled


def extend_forward_kwargs(
    original: Callable[..., dict[str, Any]], runner: Any, forward_batch: Any, pp_proxy_tensors: Any
) -> dict[str, Any]:
    """Hand input embeddings over in the model's dtype, not rounded to bfloat16."""
    arguments = original(runner, forward_batch, pp_proxy_tensors)
    embeds = forward_batch.input_embeds
    if embeds is not None and forward_batch.replace_embeds is None:
        arguments["input_embeds"] = embeds.to(runner.dtype)
    return arguments


def sampling_verify_available() -> bool:
    """Yes: `sampled_verdict` below."""
    return True


def sampled_verdict(
    *,
    candidates: torch.Tensor,
    next_token_logits: torch.Tensor,
    sampling_info: Any,
    max_top_k: int | None = None,
    uniform_top_k_value: int | None = None,
    **_others: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Accepted drafts and the token after them, int64 `[batch]` each.

    `candidates` `[batch, slots]`, the anchor first. A DFLASH draft is greedy: all of its
    probability is on the drafted token, for which rejection sampling is exact. Acceptance
    thresholds below 1, which trade that for speed, are not read.
    """
    from sglang.srt.speculative.dflash_utils import build_speculative_verify_target_probs

    batch, slots = candidates.shape
    target = build_speculative_verify_target_probs(
        next_token_logits=next_token_logits,
        sampling_info=sampling_info,
        draft_token_num=slots,
        bs=batch,
        max_top_k=max_top_k,
        uniform_top_k_value=uniform_top_k_value,
    )
    return _chain_verdict(candidates.long(), target)


def _chain_verdict(
    candidates: torch.Tensor, target: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    batch, slots = candidates.shape
    places = torch.arange(batch * slots).view(batch, slots)
    predicts = torch.zeros(batch * slots, dtype=torch.int64)
    accept_index, accepted = torch.zeros_like(places), places.new_zeros(batch)
    verify_chain_sampled(
        predicts=predicts,
        accept_index=accept_index,
        accept_token_num=accepted,
        candidates=candidates,
        retrive_index=places,
        retrive_next_token=places,
        retrive_next_sibling=places,
        uniform_samples=torch.rand(batch, slots - 1),
        uniform_samples_for_final_sampling=torch.rand(batch),
        target_probs=target,
        draft_probs=None,
        threshold_single=1.0,
        threshold_acc=1.0,
        deterministic=True,
    )
    last = accept_index.gather(1, accepted[:, None]).squeeze(1)
    return accepted, predicts[last]
