"""How long a draft's blocks are accepted, measured without decoding.

Along a greedy answer the target's choice at every position is known, so drafting a block at each
position and counting the matching prefix gives exactly what decoding would accept; a walk from
accepted prefix to accepted prefix gives the rounds.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dspark_sglang.training.blocks import all_anchors, blocks_at
from dspark_sglang.training.learner import Learner
from dspark_sglang.training.states import Sample

ANCHORS_AT_ONCE = 128


class Acceptance(NamedTuple):
    """Rounds of some answers."""

    rounds: int
    tokens: int
    """Emitted in these rounds, bonus included."""
    reached: tuple[int, ...]
    """Rounds in which draft token k was still alive when it was verified."""
    accepted: tuple[int, ...]
    """Rounds in which it was accepted."""

    @property
    def accept_length(self) -> float:
        """Tokens a round; 0 without a round."""
        return self.tokens / max(self.rounds, 1)

    @property
    def conditional(self) -> list[float]:
        """Acceptance of position k given that all before it were accepted."""
        return [a / max(r, 1) for a, r in zip(self.accepted, self.reached, strict=True)]


def added(parts: Iterable[Acceptance]) -> Acceptance:
    """The rounds of all parts together."""
    rows = list(parts)
    return Acceptance(
        sum(each.rounds for each in rows),
        sum(each.tokens for each in rows),
        tuple(map(sum, zip(*(each.reached for each in rows), strict=True))),
        tuple(map(sum, zip(*(each.accepted for each in rows), strict=True))),
    )


class Drafted(NamedTuple):
    """A block drafted greedily at each of A anchors."""

    accepted: Tensor
    """Draft tokens that the answer agrees with, `[A]`."""
    known: Tensor
    """Draft tokens that the answer is long enough to judge, `[A]`."""
    confidence_logits: Tensor | None
    """`[A, gamma]`"""


@torch.no_grad()
def drafted(trainee: Learner, sample: Sample) -> Drafted:
    """Blocks at every position of a greedy answer."""
    parts = torch.split(all_anchors(sample), ANCHORS_AT_ONCE)
    return _joined([_drafted_at(trainee, sample, part) for part in parts])


def acceptance(trainee: Learner, sample: Sample) -> Acceptance:
    """The rounds that greedy decoding of this answer would take."""
    return walk(drafted(trainee, sample).accepted.tolist(), trainee.gamma)


def _drafted_at(trainee: Learner, sample: Sample, anchors: Tensor) -> Drafted:
    blocks = blocks_at(sample, anchors, trainee.gamma)
    proposal = trainee.proposed(sample, blocks)
    is_right = (proposal.tokens == trainee.vocabulary.labels(blocks.labels)) & blocks.is_inside
    return Drafted(
        is_right.long().cumprod(dim=1).sum(dim=1),
        blocks.is_inside.sum(dim=1),
        proposal.confidence_logits,
    )


def _joined(parts: Sequence[Drafted]) -> Drafted:
    logits = [part.confidence_logits for part in parts if part.confidence_logits is not None]
    return Drafted(
        torch.cat([part.accepted for part in parts]),
        torch.cat([part.known for part in parts]),
        torch.cat(logits) if logits else None,
    )


def walk(accepted: list[int], gamma: int) -> Acceptance:
    """Rounds from the first anchor on, each starting where the one before ended.

    Rounds at the end that the answer is too short for are left out.
    """
    place, rounds, counts = 0, 0, [[0] * gamma, [0] * gamma]
    while place + gamma <= len(accepted):
        kept = accepted[place]
        for position in range(gamma):
            counts[0][position] += position <= kept
            counts[1][position] += position < kept
        place, rounds = place + kept + 1, rounds + 1
    return Acceptance(rounds, place, tuple(counts[0]), tuple(counts[1]))
