"""Rules of acceptance: the right one, and one that is wrong for each path of a verification."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

from dspark_sglang.reference.sampling import DraftBlock, Verdict

from .models import GAMMA
from .replay import Rule

Sources = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Unnormalised weights `[B, V]` of the token after the accepted ones, from p_t and p_d there, and
from whether that place was drafted and verified."""


def right(p_t: Tensor, p_d: Tensor, is_rejection: Tensor) -> Tensor:
    return torch.where(is_rejection, (p_t - p_d).clamp(min=0), p_t)


def rule(sources: Sources = right, excess: float = 1.0) -> Rule:
    """Accepts with probability min(1, excess p_t / p_d)."""

    def verdict(block: DraftBlock, p_t: Tensor, verified: Tensor, generator: Generator) -> Verdict:
        p_d = block.probs.to(p_t.dtype)
        chosen = block.tokens[..., None]
        p, q = (each.gather(2, chosen).squeeze(2) for each in (p_t[:, :-1], p_d))
        coins = torch.rand(q.shape, generator=generator, dtype=p_t.dtype)
        is_kept = (coins * q < excess * p) & (torch.arange(GAMMA) < verified[:, None])
        accepted = is_kept.long().cumprod(dim=1).sum(dim=1)
        rows = torch.arange(len(accepted))
        at_t, at_d = p_t[rows, accepted], pad(p_d, (0, 0, 0, 1))[rows, accepted]
        weights = sources(at_t, at_d, (accepted < verified)[:, None])
        return Verdict(accepted, torch.multinomial(weights + 1e-300, 1, generator=generator)[:, 0])

    return verdict


def only_at(place: int, wrong: Rule) -> Rule:
    """The right rule, except where exactly `place` drafts were accepted."""

    def verdict(block: DraftBlock, p_t: Tensor, verified: Tensor, generator: Generator) -> Verdict:
        state = generator.get_state()
        good = rule()(block, p_t, verified, generator)
        generator.set_state(state)
        bad = wrong(block, p_t, verified, generator)
        return Verdict(good.accepted, torch.where(good.accepted == place, bad.bonus, good.bonus))

    return verdict


def target_after_rejection(p_t: Tensor, p_d: Tensor, is_rejection: Tensor) -> Tensor:
    return p_t


def residual_at_a_cut(p_t: Tensor, p_d: Tensor, is_rejection: Tensor) -> Tensor:
    return (p_t - p_d).clamp(min=0)


def best_after_acceptance(p_t: Tensor, p_d: Tensor, is_rejection: Tensor) -> Tensor:
    best = torch.zeros_like(p_t).scatter(1, p_t.argmax(dim=1, keepdim=True), 1.0)
    return torch.where(is_rejection, (p_t - p_d).clamp(min=0), best)
