"""Drafting a block left to right (4), and verifying it so that the output stays the target's.

Everything is batched over B sequences. Upstream: `draft_markov_block`, `AcceptGreedy`,
`AcceptSampling` and `build_speculative_verify_target_probs`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.reference.heads import BlockRows, SequentialHead


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How tokens are chosen. Raises ValueError for values out of range."""

    temperature: float = 0.0
    """0 is greedy."""
    top_k: int = 0
    """Most probable tokens kept by the target; 0 keeps all, 1 is greedy."""
    top_p: float = 1.0
    """Smallest probable set kept by the target, after `top_k`."""
    greedy_draft: bool = False
    """Draft by argmax though the target samples (p_d is then one-hot)."""

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise ValueError(f"{self}: temperature, top_k >= 0 and 0 < top_p <= 1 are needed")

    @property
    def is_greedy(self) -> bool:
        """Whether the target takes its most probable token."""
        return self.temperature == 0 or self.top_k == 1

    @property
    def draft_temperature(self) -> float:
        """Temperature of the draft; it knows neither top-k nor top-p, as upstream."""
        return 0.0 if self.is_greedy or self.greedy_draft else self.temperature


GREEDY = SamplingParams()
"""The most probable token, always."""


class DraftBlock(NamedTuple):
    """A drafted block."""

    tokens: Tensor
    """x_1..x_gamma, `[B, gamma]`."""
    probs: Tensor
    """p_d of every row, `[B, gamma, V]`; one-hot when drafted by argmax."""


class Verdict(NamedTuple):
    """What a verification decides."""

    accepted: Tensor
    """Accepted draft tokens `[B]`, 0..L."""
    bonus: Tensor
    """The target's own token after them `[B]`."""


def draft_block(
    head: SequentialHead,
    rows: BlockRows,
    anchors: Tensor,
    temperature: float,
    generator: Generator | None = None,
) -> DraftBlock:
    """Samples p_k(v | x_0, x_<k) = softmax(U_k(v) + B_k(x_<k, v)) for k = 1..gamma (4).

    `anchors` `[B]` is x_0; temperature 0 takes the most probable token.
    """
    previous, state = anchors, head.initial_state(rows.hidden[:, 0])
    tokens, probs = [], []
    for k in range(rows.hidden.shape[1]):
        bias, state = head.bias(previous, rows.hidden[:, k], state)
        probs.append(distribution(rows.logits[:, k] + bias, temperature))
        previous = drawn(probs[-1], temperature, generator)
        tokens.append(previous)
    return DraftBlock(torch.stack(tokens, dim=1), torch.stack(probs, dim=1))


def distribution(logits: Tensor, temperature: float) -> Tensor:
    """softmax(logits / temperature) in at least float32; at 0 the one-hot of the argmax."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits.dtype)
    return torch.softmax(logits / temperature, dim=-1)


def drawn(probs: Tensor, temperature: float, generator: Generator | None = None) -> Tensor:
    """A token of each row of `probs` `[B, V]`: `[B]`."""
    if temperature == 0:
        return probs.argmax(dim=-1)
    return torch.multinomial(probs, 1, generator=generator).squeeze(-1)


def target_probs(logits: Tensor, params: SamplingParams) -> Tensor:
    """p_t `[..., V]`: temperature, then top-k, then top-p, each renormalised, as upstream verifies.

    Where it decodes plainly, and with our worker, `top_p` is of the whole distribution instead.
    """
    if params.is_greedy:
        return distribution(logits, 0.0)
    if params.top_k > 0:
        best = logits.topk(min(params.top_k, logits.shape[-1]), dim=-1)
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
    return _top_p(distribution(logits, params.temperature), params.top_p)


def _top_p(probs: Tensor, top_p: float) -> Tensor:
    """Keeps a token while the more probable ones together do not exceed `top_p`."""
    descending, order = probs.sort(dim=-1, descending=True)
    before = descending.cumsum(dim=-1) - descending
    kept = descending.masked_fill(before > top_p, 0)
    return torch.zeros_like(probs).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))


def verify_greedy(tokens: Tensor, target_logits: Tensor) -> Verdict:
    """Accepts the longest prefix of `tokens` `[B, L]` that equals the target's argmax.

    `target_logits` `[B, L + 1, V]`: row k is the target's after the first k draft tokens.
    """
    wanted = target_logits.argmax(dim=-1)
    accepted = (tokens == wanted[:, :-1]).long().cumprod(dim=1).sum(dim=1)
    return Verdict(accepted, wanted.gather(1, accepted[:, None]).squeeze(1))


def verify_sampled(
    tokens: Tensor, p_d: Tensor, p_t: Tensor, generator: Generator | None = None
) -> Verdict:
    """Speculative sampling: the emitted tokens follow p_t exactly, whatever p_d is.

    Draft token x is accepted with probability min(1, p_t(x) / p_d(x)); after the first rejection
    the next token comes from max(p_t - p_d, 0), normalised, and from p_t when all were accepted.
    Shapes: `tokens` `[B, L]`, `p_d` `[B, L, V]`, `p_t` `[B, L + 1, V]`.
    """
    target_p = p_t[:, :-1].gather(2, tokens[..., None]).squeeze(2)
    draft_p = p_d.gather(2, tokens[..., None]).squeeze(2)
    coins = torch.rand(tokens.shape, generator=generator, device=tokens.device, dtype=p_t.dtype)
    accepted = (coins * draft_p < target_p).long().cumprod(dim=1).sum(dim=1)
    batch = torch.arange(len(tokens), device=tokens.device)
    at = p_t[batch, accepted]
    residual = (at - F.pad(p_d, (0, 0, 0, 1))[batch, accepted]).clamp(min=0)
    has_mass = residual.sum(dim=-1, keepdim=True) > 0  # False only by rounding, when p_t = p_d
    bonus = torch.multinomial(torch.where(has_mass, residual, at), 1, generator=generator)
    return Verdict(accepted, bonus.squeeze(-1))
