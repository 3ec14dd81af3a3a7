"""How long a draft's blocks are accepted along a sampled answer, measured without decoding.

Speculative sampling emits token y after having accepted it from the draft with probability
min(p_t(y), p_d(y)), and emits it at all with probability p_t(y). So given that y was emitted, it
had been accepted with chance min(1, p_d(y) / p_t(y)): coins of that chance, thrown along an answer
that the target sampled, give rounds distributed exactly as those of decoding it.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.training.accepting import ANCHORS_AT_ONCE
from dspark_sglang.training.blocks import all_anchors, blocks_at
from dspark_sglang.training.learner import Learner
from dspark_sglang.training.states import Sample
from dspark_sglang.training.vocabulary import OUTSIDE


class Sampled(NamedTuple):
    """An answer that the target drew, and how probable each token was to it."""

    sample: Sample
    temperature: float
    log_probs: Tensor
    """`[S]`: entry p is the log-probability of token p + 1."""


@torch.no_grad()
def sampled(sample: Sample, lm_head: Tensor, temperature: float) -> Sampled:
    """`lm_head` `[V, H]` is the target's whole one; the last entry means nothing."""
    logits = F.linear(sample.final.to(lm_head.dtype), lm_head).float() / temperature
    following = sample.ids.roll(-1)[:, None]
    log_probs = F.log_softmax(logits, dim=-1).gather(1, following).squeeze(1)
    return Sampled(sample, temperature, log_probs)


@torch.no_grad()
def accepted_along(trainee: Learner, answer: Sampled, generator: Generator) -> list[int]:
    """Draft tokens accepted at every position; `accepting.walk` makes rounds of them."""
    parts = torch.split(all_anchors(answer.sample), ANCHORS_AT_ONCE)
    accepted = [_accepted_at(trainee, answer, part, generator) for part in parts]
    return torch.cat(accepted).tolist()


def _accepted_at(
    trainee: Learner, answer: Sampled, anchors: Tensor, generator: Generator
) -> Tensor:
    """Draft tokens accepted at each anchor, `[A]`."""
    blocks = blocks_at(answer.sample, anchors, trainee.gamma)
    logits = trainee.forward(answer.sample, blocks).logits.float() / answer.temperature
    labels = trainee.vocabulary.labels(blocks.labels)
    log_p_d = F.log_softmax(logits, dim=-1).gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
    chances = (log_p_d - answer.log_probs[blocks.sources]).exp()
    coins = torch.rand(chances.shape, generator=generator).to(chances.device)
    is_kept = (coins < chances) & (labels != OUTSIDE) & blocks.is_inside
    return is_kept.long().cumprod(dim=1).sum(dim=1)
