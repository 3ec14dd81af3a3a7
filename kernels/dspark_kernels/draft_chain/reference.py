"""Torch versions of SGLang's tree kernels for trees without branches, with the same interfaces.

Upstream: `build_tree_kernel_efficient_func`, `verify_tree_greedy_func`, `fill_bonus_tokens_func`,
`tree_speculative_sampling_target_only`.
"""

# ruff: noqa: PLR0913, PLR0917, ARG001 (the signatures are upstream's)

from typing import Any

import torch

from dspark_kernels.chain_speculative_sampling import chain_speculative_sampling


def build_chain(
    parent_list: torch.Tensor,
    top_scores_index: torch.Tensor,
    seq_lens: torch.Tensor,
    tree_mask: torch.Tensor,
    positions: torch.Tensor,
    retrieve_index: torch.Tensor,
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    topk: int,
    spec_steps: int,
    num_verify_tokens: int,
    tree_mask_mode: Any,
) -> None:
    """Links `[batch, tokens]` of a tree without branches: each token leads to the next one.

    The mask stays as it is: the attention backend takes a chain for causal.
    """
    steps = torch.arange(num_verify_tokens)
    retrieve_index.copy_(_places(retrieve_index))
    retrieve_next_token[:, :-1] = steps[1:]
    positions.copy_((seq_lens[:, None] + steps).flatten())


def verify_chain_greedy(
    predicts: torch.Tensor,
    accept_index: torch.Tensor,
    accept_token_num: torch.Tensor,
    candidates: torch.Tensor,
    retrieve_index: torch.Tensor,
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    target_predict: torch.Tensor,
    topk: int = -1,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Accept the drafts that the target predicts, `candidates` `[batch, tokens]`, anchor first."""
    matches = candidates[:, 1:] == target_predict[:, :-1]
    accepted = matches.long().cumprod(dim=1).sum(dim=1)
    places = _places(candidates)[:, : accept_index.shape[1]]
    is_kept = torch.arange(places.shape[1]) <= accepted[:, None]
    accept_index.copy_(places.where(is_kept, -1))
    accept_token_num.copy_(accepted)
    predicts.copy_(target_predict.flatten())
    return predicts, accept_index, accept_token_num


def verify_chain_sampled(
    *, candidates: torch.Tensor, target_probs: torch.Tensor, draft_probs: Any, **others: Any
) -> None:
    """Rejection sampling of greedy drafts: all of their probability is on the drafted token.

    `candidates` `[batch, tokens]`, anchor first. `draft_probs` and acceptance thresholds below 1,
    which trade exactness for speed, are not read.
    """
    drafts = candidates[:, 1:, None].long()
    drafted = torch.zeros_like(target_probs[:, 1:]).scatter_(2, drafts, 1.0)
    chain_speculative_sampling(
        candidates=candidates, target_probs=target_probs, draft_probs=drafted, **others
    )


def fill_bonus_tokens(
    accept_tokens: torch.Tensor,
    accept_lens: torch.Tensor,
    bonus_tokens: torch.Tensor,
    accept_stride: int,
    batch_size: int,
) -> None:
    """The last of each request's accepted tokens, `[batch]`."""
    rows = accept_tokens.view(batch_size, accept_stride)
    last = accept_lens.long()[:, None] - 1
    bonus_tokens.copy_(rows.gather(1, last).squeeze(1))


def _places(rows: torch.Tensor) -> torch.Tensor:
    """Flat position of every token `[batch, tokens]`."""
    return torch.arange(rows.numel()).view(rows.shape)
