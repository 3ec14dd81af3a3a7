"""What each kind of sampled request must answer with: exact probabilities, by enumeration.

Written without any code of the engine or of the package.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .models import GAMMA, PROMPT, VOCAB

LENGTH = GAMMA + 2
"""Tokens of an answer: the first from the prefill, the others of at least one round."""

Probabilities = Callable[[Tensor, Tensor], Tensor]
"""p_t `[..., V]` from the target's logits `[..., V]` after the emitted tokens `[..., n]`."""


class Case(NamedTuple):
    """A kind of request."""

    params: dict[str, Any]
    """Of the request."""
    probabilities: Probabilities
    draft_temperature: float


def sampled(
    temperature: float = 1.0, top_k: int = VOCAB, top_p: float = 1.0, min_p: float = 0.0
) -> Probabilities:
    """Keeps the `top_k` most probable tokens, those within the mass of `top_p`, and
    those of at least `min_p` of the greatest probability; as SGLang samples without drafts.
    """

    def probabilities(logits: Tensor, _emitted: Tensor) -> Tensor:
        p = torch.softmax(logits.double() / temperature, dim=-1)
        falling, order = p.sort(dim=-1, descending=True)
        is_cut = torch.arange(VOCAB) >= top_k
        is_cut = is_cut | (falling.cumsum(dim=-1) - falling > top_p)
        is_cut = is_cut | (falling < min_p * falling[..., :1])
        kept = torch.zeros_like(p).scatter(-1, order, falling.masked_fill(is_cut, 0))
        return kept / kept.sum(dim=-1, keepdim=True)

    return probabilities


def penalised(
    frequency: float = 0.0, presence: float = 0.0, repetition: float = 1.0
) -> Probabilities:
    """Of the tokens that the answer holds so far."""

    def probabilities(logits: Tensor, emitted: Tensor) -> Tensor:
        counts = torch.nn.functional.one_hot(emitted, VOCAB).sum(dim=-2)
        logits = logits.double() - frequency * counts - presence * (counts > 0)
        scale = torch.where(counts > 0, repetition, 1.0)
        return torch.softmax(torch.where(logits < 0, logits * scale, logits / scale), dim=-1)

    return probabilities


def biased(bias: dict[int, float]) -> Probabilities:
    """With a logit bias on some tokens."""
    added = torch.tensor([bias.get(token, 0.0) for token in range(VOCAB)])
    return lambda logits, _emitted: torch.softmax(logits.double() + added, dim=-1)


def only(tokens: str, letters: str) -> Probabilities:
    """Without all tokens that a grammar forbids."""
    added = torch.tensor([0.0 if letter in tokens else -torch.inf for letter in letters])
    return lambda logits, _emitted: torch.softmax(logits.double() + added, dim=-1)


@torch.no_grad()
def all_logits(model: Any, length: int = LENGTH) -> list[Tensor]:
    """The target's logits after each sequence of 0, 1, ... tokens: `[V^n, V]`, n < length."""
    found = []
    for count in range(length):
        ids = torch.tensor(PROMPT).expand(VOCAB**count, -1)
        found.append(model(torch.cat([ids, sequences(count)], dim=1)).logits[:, -1])
    return found


def sequences(count: int) -> Tensor:
    """All sequences of `count` tokens, in order: `[V^count, count]`."""
    axes = [torch.arange(VOCAB)] * count
    return torch.cartesian_prod(*axes).view(-1, count) if count else torch.empty(1, 0).long()


def joint(logits: list[Tensor], probabilities: Probabilities) -> Tensor:
    """The probability of every answer: `[V] * length`."""
    found = torch.ones(1, dtype=torch.float64)
    for count, rows in enumerate(logits):
        step = probabilities(rows, sequences(count))
        found = (found[:, None] * step).flatten()
    return found.view([VOCAB] * len(logits))
