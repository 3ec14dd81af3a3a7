"""Bounds on verify lengths, in the terms of SGLang's ranking.

SGLang admits the draft tokens with the largest survivals, adds the minimum length on top
and cuts off at the maximum. Tokens that a row gets anyway, or can never get, must then
not compete for the budget: the confidences handed to the ranking are rewritten so that
they are exactly those of the tokens in question.
"""

import torch

SMALLEST_SURVIVAL = 1e-12
"""Survivals below this stay out of SGLang's ranking; rewriting relies on it being > 0."""


def within_bounds(confidence: torch.Tensor, shortest: int, longest: int) -> torch.Tensor:
    """Confidences [R, gamma] whose survivals are those of the tokens that may be chosen.

    A row verifies `shortest`..`longest` tokens, the anchor included. Its first
    `shortest` - 1 draft tokens are given: their confidences are folded into the next one.
    Those past `longest` get confidence 0. No device sync.
    """
    given, last = shortest - 1, longest - 1
    bounded = torch.zeros_like(confidence)
    if given < last:
        bounded[:, : last - given] = confidence[:, given:last]
        bounded[:, 0] *= confidence[:, :given].prod(dim=1)
    return bounded
