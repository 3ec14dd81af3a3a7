"""What is measured of a drafter: rounds by side, temperature and domain."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dspark_sglang.training.accepting import Acceptance

REFERENCE, ENGINE = "reference", "engine"


class Key(NamedTuple):
    """Where rounds were counted."""

    drafter: str
    side: str
    """REFERENCE or ENGINE."""
    temperature: float
    domain: str


Measured = dict[Key, Acceptance]
"""The rounds of all that was measured."""


def of_histogram(rounds: Iterable[int], gamma: int) -> Acceptance:
    """The acceptance of `rounds`, the numbers of rounds that accepted 0, 1, ... draft tokens."""
    counts = [*rounds]
    counts += [0] * (gamma + 1 - len(counts))
    at_least = [sum(counts[k:]) for k in range(gamma + 1)]
    tokens = sum((k + 1) * count for k, count in enumerate(counts))
    return Acceptance(at_least[0], tokens, tuple(at_least[:-1]), tuple(at_least[1:]))


def accept_lengths(
    measured: Measured, side: str, temperature: float
) -> dict[str, dict[str, float]]:
    """Accept length, bonus included, by drafter and domain."""
    found: dict[str, dict[str, float]] = {}
    for key, acceptance in measured.items():
        if (key.side, key.temperature) == (side, temperature):
            row = found.setdefault(key.drafter, {})
            row[key.domain] = round(acceptance.accept_length, 4)
    return found


def ratio(lengths: Mapping[str, Mapping[str, float]], ours: str, other: str) -> float | None:
    """Mean accept length over the domains of one drafter by that of another; None without both."""
    if ours not in lengths or other not in lengths:
        return None
    mine, theirs = lengths[ours], lengths[other]
    return round(sum(mine.values()) / sum(theirs[domain] for domain in mine), 4)
