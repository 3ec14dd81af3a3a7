"""Compares token ids with those of plain decoding, and examines every difference.

Greedy decoding is deterministic but for rounding: another batch shape may change the order of
floating-point sums. A difference is put down to that only if plain decoding itself had the two
tokens as its best candidates, closer to each other than rounding can move them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dspark_sglang.demo.client import Answer

ROUNDING_GAP = 1e-3
"""Largest gap of two log-probabilities that float32 rounding is accepted to close; logits of
magnitude 20 through 30 layers carry errors of about 1e-4."""


class Difference(NamedTuple):
    """The first token in which an answer differs from plain decoding."""

    prompt: int
    """Index of the prompt."""
    position: int
    """Index of the token in the answer."""
    plain_token: int | None
    """None when plain decoding had ended."""
    other_token: int | None
    gap: float | None
    """Log-probability of plain decoding's best candidate less that of its second best."""
    is_rounding: bool


def differences(plain: Sequence[Answer], other: Sequence[Answer]) -> list[Difference]:
    """The first difference of each answer, with plain decoding's candidates at that token.

    `plain` must carry the two best candidates of every token.
    """
    pairs = enumerate(zip(plain, other, strict=True))
    found = (_first_difference(number, *pair) for number, pair in pairs)
    return [each for each in found if each is not None]


def _first_difference(number: int, plain: Answer, other: Answer) -> Difference | None:
    if plain.token_ids == other.token_ids:
        return None
    shorter = min(len(plain.token_ids), len(other.token_ids))
    position = next(
        (at for at in range(shorter) if plain.token_ids[at] != other.token_ids[at]), shorter
    )
    mine, theirs = _token(plain, position), _token(other, position)
    candidates = plain.top_logprobs[position] if position < len(plain.top_logprobs) else ()
    gap = _gap(candidates)
    tied = {int(candidate[1]) for candidate in candidates[:2]}
    is_rounding = gap is not None and gap <= ROUNDING_GAP and {mine, theirs} == tied
    return Difference(number, position, mine, theirs, gap, is_rounding)


def _token(answer: Answer, position: int) -> int | None:
    return answer.token_ids[position] if position < len(answer.token_ids) else None


def _gap(candidates: Sequence[Any]) -> float | None:
    return float(candidates[0][0] - candidates[1][0]) if len(candidates) > 1 else None
