"""The loss (12): cross entropy (9), L1 distance to the target's distribution (10), confidence (11).

Position k of a block counts w_k = exp(-(k-1) / decay); positions past the answer's end and labels
outside the vocabulary count nothing.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.training.config import FitConfig
from dspark_sglang.training.learner import Outputs


class Losses(NamedTuple):
    """The loss and its parts, scalars."""

    total: Tensor
    cross_entropy: Tensor
    l1: Tensor
    confidence: Tensor


def position_weights(gamma: int, decay: float) -> Tensor:
    """w_1..w_gamma."""
    return torch.exp(-torch.arange(gamma) / decay)


def losses(
    out: Outputs, target_logits: Tensor, labels: Tensor, counts: Tensor, config: FitConfig
) -> Losses:
    """Means over the blocks, weighted by position.

    `target_logits` `[A, gamma, V']`; `labels` `[A, gamma]`; `counts` `[A, gamma]` is false where
    nothing can be learned.
    """
    weights = position_weights(labels.shape[1], config.position_decay).to(labels.device) * counts
    weights = weights / weights.sum().clamp(min=1e-6)
    log_p_d = F.log_softmax(out.logits.float(), dim=-1)
    p_t = torch.softmax(target_logits.float(), dim=-1)
    picked = log_p_d.gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
    cross_entropy = -(weights * picked).sum()
    # Half of the L1 distance: the chance that the draft token is refused.
    distance = 0.5 * (log_p_d.exp() - p_t).abs().sum(dim=-1)
    l1 = 2 * (weights * distance).sum()
    confidence = _confidence_loss(out.confidence_logits, 1 - distance.detach(), weights)
    total = config.cross_entropy * cross_entropy + config.l1 * l1 + config.confidence * confidence
    return Losses(total, cross_entropy, l1, confidence)


def _confidence_loss(logits: Tensor | None, survival: Tensor, weights: Tensor) -> Tensor:
    """Binary cross entropy against (8), the chance that the token is accepted."""
    if logits is None:
        return survival.new_zeros(())
    each = F.binary_cross_entropy_with_logits(logits, survival, reduction="none")
    return (weights * each).sum()
