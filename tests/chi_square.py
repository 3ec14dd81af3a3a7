"""Chi-square tests of sampled tokens against exact distributions."""

from collections.abc import Sequence

import torch
from scipy.stats import chi2
from torch import Tensor
from torch.nn.functional import one_hot

FEWEST = 5.0
"""Expected count of a cell; rarer cells are pooled."""
NEVER = 1e-9
"""Probabilities below are rounding errors of what cannot happen."""


def p_value(samples: Tensor, joint: Tensor) -> float:
    """Of `samples` `[N, n]`, token sequences, that `joint` `[V] * n` gives the probabilities of.

    0 if a sequence occurs that is impossible.
    """
    vocab, joint = joint.shape[0], joint.flatten().double()
    places = vocab ** torch.arange(samples.shape[1] - 1, -1, -1)
    counts = torch.bincount((samples * places).sum(dim=1), minlength=joint.numel()).double()
    if counts[joint == 0].any():
        return 0.0
    seen, expected = _pooled(counts, joint * len(samples))
    if len(expected) < 2:
        return 1.0
    return float(chi2.sf(float(((seen - expected) ** 2 / expected).sum()), len(expected) - 1))


def _pooled(counts: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    """The rarest cells together, so many that each cell is expected often enough."""
    order = expected.argsort()
    rare = max(int((expected < FEWEST).sum()), 1)
    while rare < len(expected) and expected[order[:rare]].sum() < FEWEST:
        rare += 1

    def pooled(values: Tensor) -> Tensor:
        return torch.cat([values[order[:rare]].sum()[None], values[order[rare:]]])

    return pooled(counts), pooled(expected)


def window(joint: Tensor, places: Sequence[int]) -> Tensor:
    """The marginal distribution of some places of the sequences."""
    others = [place for place in range(joint.ndim) if place not in places]
    return joint.sum(dim=others) if others else joint


def conditional_p_value(tokens: Tensor, probabilities: Tensor, cells: Tensor, count: int) -> float:
    """Of tokens `[N]`, each drawn with its own `probabilities` `[N, V]`, in `count` kinds of cells.

    `cells` `[N, V]` is the cell of each possible token. Deviations from what the past foretells
    are a martingale, so their sums are normal with the covariances of the single draws added up,
    and the square of the sums in that metric is chi-square. 0 if an impossible token occurs.
    """
    if (probabilities.gather(1, tokens[:, None]) < NEVER).any():
        return 0.0
    masses = one_hot(cells, count).double().mul(probabilities.double()[..., None]).sum(dim=1)
    seen = one_hot(cells.gather(1, tokens[:, None]).squeeze(1), count).double()
    is_rare = masses.sum(dim=0) < FEWEST
    masses, seen = (
        torch.cat([x[:, ~is_rare], x[:, is_rare].sum(dim=1, keepdim=True)], dim=1)
        for x in (masses, seen)
    )
    deviation = (seen - masses).sum(dim=0)
    covariance = masses.sum(dim=0).diag() - masses.T @ masses
    sizes, axes = torch.linalg.eigh(covariance)
    is_free = sizes > NEVER * len(tokens)
    square = ((deviation @ axes)[is_free] ** 2 / sizes[is_free]).sum()
    return float(chi2.sf(float(square), int(is_free.sum()))) if is_free.any() else 1.0
