"""Torch version of SGLang's `chain_speculative_sampling_triton`, with the same interface.

Leviathan et al. 2023: draft token x is kept with probability min(1, p(x) / q(x)); at the
first rejection a token is drawn from max(p - q, 0), normalised, and after a full accept
from p. The block variant is algorithm 2 of Sun et al. 2024 (arXiv 2403.10444). The result
follows the target's distribution p exactly, whatever q is.
"""

# ruff: noqa: PLR0913, PLR0917, ARG001 (the signature is upstream's)

from typing import NamedTuple

import torch


class _Verdict(NamedTuple):
    accepted: torch.Tensor
    """Drafts kept by each request, `[batch]`."""
    scale: torch.Tensor
    """Factor of p in the residual max(scale * p - q, 0), `[batch]`."""


def chain_speculative_sampling(
    predicts: torch.Tensor,
    accept_index: torch.Tensor,
    accept_token_num: torch.Tensor,
    candidates: torch.Tensor,
    retrive_index: torch.Tensor,
    retrive_next_token: torch.Tensor,
    retrive_next_sibling: torch.Tensor,
    uniform_samples: torch.Tensor,
    uniform_samples_for_final_sampling: torch.Tensor,
    target_probs: torch.Tensor,
    draft_probs: torch.Tensor,
    threshold_single: float,
    threshold_acc: float,
    deterministic: bool,
    *,
    block_verification: bool = False,
) -> None:
    """Verify `candidates` `[batch, slots]`, slot 0 being the anchor, and write the result.

    `target_probs` is `[batch, slots, vocab]`, `draft_probs` `[batch, slots - 1, vocab]`,
    `uniform_samples` `[batch, slots - 1]` in [0, 1). Written are `accept_token_num` `[batch]`,
    the accepted prefix of `accept_index` `[batch, slots]` and, at those flat positions, the next
    token in `predicts`. `retrive_next_token`, `retrive_next_sibling`, the thresholds and
    `deterministic` do not matter for a chain, as upstream.
    """
    drafts = candidates[:, 1:].long().unsqueeze(-1)
    p = target_probs[:, :-1].gather(-1, drafts).squeeze(-1)
    q = draft_probs.gather(-1, drafts).squeeze(-1)
    coins = uniform_samples[:, : p.shape[1]]
    verdict = (
        _accept_block(p, q, coins, target_probs, draft_probs)
        if block_verification
        else _accept_tokens(p, q, coins)
    )
    final = _final_tokens(verdict, uniform_samples_for_final_sampling, target_probs, draft_probs)
    _write(verdict.accepted, final, candidates, retrive_index, predicts, accept_index)
    accept_token_num.copy_(verdict.accepted)


def _is_probability(q: torch.Tensor) -> torch.Tensor:
    """A proposed token has a probability in (0, 1]; anything else (NaN too) is rejected."""
    return (q > 0) & (q <= 1)


def _accept_tokens(p: torch.Tensor, q: torch.Tensor, coins: torch.Tensor) -> _Verdict:
    kept = _is_probability(q) & (coins * q < p)
    accepted = kept.long().cumprod(dim=1).sum(dim=1)
    return _Verdict(accepted, torch.ones_like(accepted, dtype=p.dtype))


def _accept_block(
    p: torch.Tensor,
    q: torch.Tensor,
    coins: torch.Tensor,
    target_probs: torch.Tensor,
    draft_probs: torch.Tensor,
) -> _Verdict:
    ratio = torch.where(_is_probability(q), p / q, 0.0)
    prefix = torch.ones_like(p)
    running = torch.ones_like(p[:, 0])
    for step in range(p.shape[1]):
        running = torch.clamp(running * ratio[:, step], max=1.0)
        prefix[:, step] = running
    inner = prefix[:, :-1, None]
    mass = (inner * target_probs[:, 1:-1] - draft_probs[:, 1:]).clamp_(min=0).sum(dim=-1)
    inner = inner.squeeze(-1)
    is_open = (inner > 0) & (inner < 1)
    threshold = prefix.clone()
    threshold[:, :-1] = torch.where(is_open, mass / (mass + 1 - inner), inner)
    kept = (coins < prefix) & (coins < threshold)
    steps = torch.arange(1, p.shape[1] + 1, device=p.device)
    accepted = (kept * steps).amax(dim=1)
    at = (accepted - 1).clamp(min=0).unsqueeze(1)
    scale = torch.where(accepted > 0, prefix.gather(1, at).squeeze(1), 1.0)
    return _Verdict(accepted, scale)


def _final_tokens(
    verdict: _Verdict, coins: torch.Tensor, target_probs: torch.Tensor, draft_probs: torch.Tensor
) -> torch.Tensor:
    """The token after the accepted prefix, `[batch]`: from p, or from the residual.

    A coin that rounds up to the whole mass takes the last token that has any; a residual
    without mass (p equals q) takes the last id, as upstream.
    """
    batch = torch.arange(verdict.accepted.numel(), device=target_probs.device)
    last_draft = draft_probs.shape[1]
    p = target_probs[batch, verdict.accepted]
    q = draft_probs[batch, verdict.accepted.clamp(max=last_draft - 1)]
    q = torch.where((q >= 0) & (q <= 1), q, 0.0)
    residual = torch.clamp(verdict.scale.unsqueeze(1) * p - q, min=0)
    all_kept = (verdict.accepted == last_draft).unsqueeze(1)
    cdf = torch.where(all_kept, p, residual).cumsum(dim=-1, dtype=torch.float64)
    total = cdf[:, -1:].contiguous()
    token = torch.searchsorted(cdf, coins.double().unsqueeze(1) * total, right=True)
    token = torch.minimum(token, torch.searchsorted(cdf, total))
    return torch.where(total > 0, token, p.shape[-1] - 1).squeeze(1)


def _write(
    accepted: torch.Tensor,
    final: torch.Tensor,
    candidates: torch.Tensor,
    retrive_index: torch.Tensor,
    predicts: torch.Tensor,
    accept_index: torch.Tensor,
) -> None:
    slots = torch.arange(candidates.shape[1], device=candidates.device)
    is_accepted = slots <= accepted.unsqueeze(1)
    accept_index.copy_(torch.where(is_accepted, retrive_index.to(accept_index.dtype), accept_index))
    following = candidates.roll(-1, dims=1).long()
    following.scatter_(1, accepted.unsqueeze(1), final.unsqueeze(1))
    predicts[retrive_index[is_accepted].long()] = following[is_accepted].to(predicts.dtype)
