"""What goes into decoding a sequence and what comes out, round by round."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Generator

from dspark_sglang.reference.sampling import GREEDY, SamplingParams

Admit = Callable[[Sequence[float]], int]
"""Draft tokens to verify (0..gamma) given the confidences c_1..c_gamma.

Lossless only if whether token k is admitted does not depend on x_k or later tokens; c_1..c_k
depend on x_<k alone.
"""


class Round(NamedTuple):
    """What happened in one round, for comparison with an engine."""

    anchor: int
    drafts: tuple[int, ...]
    """x_1..x_gamma."""
    confidences: tuple[float, ...]
    """c_1..c_gamma, calibrated; empty without a confidence head."""
    verified: int
    """Draft tokens that went to the target; the verify length is one more."""
    accepted: int
    """Draft tokens kept; the accept length is one more."""
    bonus: int


class Generation(NamedTuple):
    """The emitted tokens and the rounds that made them (the last may reach further)."""

    tokens: list[int]
    rounds: list[Round]

    @property
    def accept_length(self) -> float:
        """Mean tokens a round, bonus included; 0 without a round."""
        return sum(r.accepted + 1 for r in self.rounds) / max(len(self.rounds), 1)


@dataclass(frozen=True, kw_only=True)
class DecodeOptions:
    """How a sequence is decoded."""

    max_new_tokens: int
    stop_ids: Collection[int] = ()
    """Tokens that end the output; the stop token is its last one."""
    sampling: SamplingParams = GREEDY
    sts_temperatures: Sequence[float] | None = None
    """STS table, one positive temperature a position; None leaves the confidences as they are."""
    admit: Admit | None = None
    """Schedules the verification; None verifies the whole block."""
    generator: Generator | None = None
