"""Compares the engine's rounds with the reference's, and examines every difference.

Sums in another batch shape are rounded differently, which can flip the choice between two tokens
whose logits nearly agree. A difference is put down to that only if the reference's own logits of
the two tokens are that close. After one of the draft the reference goes on from what the engine
chose; after one of the target the two decode different texts, and the rest is skipped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dspark_sglang.demo.comparing import ROUNDING_GAP
from dspark_sglang.demo.parity.answered import Ids, Request
from dspark_sglang.demo.parity.rounds import EngineRound

if TYPE_CHECKING:
    from dspark_sglang.reference.records import Round

CONFIDENCE_TOLERANCE = 1e-4


class Reference(Protocol):
    """What `oracle.Oracle` answers."""

    def plain(self, ids: Ids, count: int) -> list[int]:
        """Plain greedy decoding."""

    def rounds(self, ids: Ids, count: int) -> "list[Round]":
        """The rounds that make `count` tokens."""

    def target_gap(self, ids: Ids, ours: int, theirs: int) -> float:
        """Difference of two logits of the target."""

    def draft_gap(self, ids: Ids, block: Sequence[int], theirs: int) -> float:
        """Difference of two logits of the draft."""


class Mismatch(NamedTuple):
    """One difference between engine and reference."""

    request: str
    what: str
    """`anchor`, `draft`, `confidence`, `verified`, `accepted` (bonus included) or `output`."""
    position: int
    """Of the token in question, in the sequence."""
    ours: float
    """The reference's token, confidence or count."""
    theirs: float
    """The engine's."""
    gap: float | None = None
    """The reference's logit of its token less that of the engine's."""

    @property
    def is_rounding(self) -> bool:
        """Whether the two tokens were as good as tied."""
        return self.gap is not None and abs(self.gap) <= ROUNDING_GAP


@dataclass
class Findings:
    """Of all requests of one head and batch size."""

    requests: int = 0
    rounds: int = 0
    """Compared ones."""
    skipped: int = 0
    """Rounds after a difference of the target."""
    accepted: int = 0
    batched: int = 0
    """Sum of the batch sizes of the rounds."""
    confidences: int = 0
    confidence_difference: float = 0.0
    mismatches: list[Mismatch] = field(default_factory=list)

    def add(self, request: Request, reference: Reference) -> None:
        """Compares one request."""
        self.requests += 1
        self.mismatches += _output(request, reference)
        ours: Iterator[Round] | None = None
        for number, theirs in enumerate(request.rounds, 1):
            ours = ours or iter(reference.rounds(*request.rest(theirs.position)))
            mine = next(ours)
            self._count(theirs)
            self._confidences(request, mine, theirs)
            if (found := difference(request, mine, theirs, reference)) is None:
                continue
            self.mismatches.append(found)
            if found.what != "draft":
                self.skipped += len(request.rounds) - number
                return
            ours = None

    def _count(self, theirs: EngineRound) -> None:
        self.rounds += 1
        self.accepted += theirs.accepted
        self.batched += theirs.batch

    def _confidences(self, request: Request, mine: "Round", theirs: EngineRound) -> None:
        """Compares those that follow equal tokens: c_k depends on the ones before x_k."""
        if mine.anchor != theirs.anchor:
            return
        last = first_difference(mine.drafts, theirs.drafts)
        pairs = list(zip(mine.confidences, theirs.confidences, strict=False))[: last + 1]
        for at, (ours, other) in enumerate(pairs, 1):
            self.confidences += 1
            self.confidence_difference = max(self.confidence_difference, abs(ours - other))
            if not abs(ours - other) <= CONFIDENCE_TOLERANCE:
                position = theirs.position + at
                self.mismatches.append(Mismatch(request.name, "confidence", position, ours, other))


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int:
    """Index of the first difference; the length of the shorter without one."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    shorter = min(len(ours), len(theirs))
    return next((at for at, (one, other) in pairs if one != other), shorter)


def difference(
    request: Request, mine: "Round", theirs: EngineRound, reference: Reference
) -> Mismatch | None:
    """The first of two rounds that start at the same position."""
    ids = request.before(theirs.position)
    if mine.anchor != theirs.anchor:
        return _of_target(request.name, "anchor", ids, (mine.anchor, theirs.anchor), reference)
    at = first_difference(mine.drafts, theirs.drafts)
    if at < len(mine.drafts):
        ours, other = mine.drafts[at], theirs.drafts[at]
        gap = reference.draft_gap(ids, (mine.anchor, *mine.drafts[: at + 1]), other)
        return Mismatch(request.name, "draft", len(ids) + 1 + at, ours, other, gap)
    if mine.verified != theirs.verified:
        return Mismatch(request.name, "verified", len(ids), mine.verified, theirs.verified)
    if (mine.accepted, mine.bonus) != (theirs.accepted, theirs.bonus):
        at = min(mine.accepted, theirs.accepted)
        ids = (*ids, mine.anchor, *mine.drafts[:at])
        tokens = _emitted(mine, at), _emitted(theirs, at)
        return _of_target(request.name, "accepted", ids, tokens, reference)
    return None


def _emitted(each: "Round | EngineRound", at: int) -> int:
    return each.drafts[at] if each.accepted > at else each.bonus


def _of_target(
    name: str, what: str, ids: Ids, tokens: tuple[int, int], reference: Reference
) -> Mismatch:
    """The target has chosen another token after `ids`; the reference's comes first."""
    return Mismatch(name, what, len(ids), *tokens, reference.target_gap(ids, *tokens))


def _output(request: Request, reference: Reference) -> Iterator[Mismatch]:
    plain = reference.plain(request.prompt, len(request.output))
    at = first_difference(plain, request.output)
    if at < len(request.output):
        ids = request.before(len(request.prompt) + at)
        yield _of_target(request.name, "output", ids, (plain[at], request.output[at]), reference)
