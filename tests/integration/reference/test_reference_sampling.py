"""Sampling is exact: chi-square against the target's own distribution, on every path."""

from collections import Counter
from itertools import product
from typing import Any

import pytest
import torch
from reference_helpers import ChainTarget, random_draft, set_markov_table, tiny_config
from scipy.stats import chisquare
from torch import Tensor

from dspark_sglang.reference import DecodeOptions, Generation, SamplingParams, generate
from dspark_sglang.reference.sampling import target_probs, verify_greedy, verify_sampled

ALPHA = 1e-4
"""Seeds are fixed, so a p-value under this means a wrong distribution, not bad luck."""
TRIALS, RUNS = 40_000, 500


def p_value(counts: Tensor, expected: Tensor) -> float:
    """Of the counts of events with the expected probabilities; impossible ones must be absent."""
    possible = expected > 1e-9
    assert counts[~possible].sum() == 0
    seen, wanted = counts[possible].double(), expected[possible].double()
    wanted = wanted / wanted.sum() * seen.sum()
    rare = wanted < 5
    if rare.any():
        seen, wanted = (torch.cat([x[~rare], x[rare].sum()[None]]) for x in (seen, wanted))
    return float(chisquare(seen.numpy(), wanted.numpy()).pvalue) if len(seen) > 1 else 1.0


def sequences_p_value(runs: list[Generation], chain: Tensor) -> float:
    """Of the runs' three tokens after token 0, in a Markov chain over three tokens."""
    sequences = list(product(range(3), repeat=3))
    exact = [float(chain[0, a] * chain[a, b] * chain[b, c]) for a, b, c in sequences]
    seen = Counter(tuple(run.tokens) for run in runs)
    counts = torch.tensor([seen[sequence] for sequence in sequences])
    return p_value(counts, torch.tensor(exact))


P_T = torch.tensor([[0.5, 0.2, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.3, 0.2]]).double()
DRAFTS = {
    "equal": P_T[:2],
    "mixed": torch.tensor([[0.2, 0.4, 0.3, 0.1], [0.3, 0.3, 0.3, 0.1]]),
    "disjoint support": torch.tensor([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]),
    "one-hot": torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_every_acceptance_path_gives_the_target(name: str) -> None:
    """Rejection of the first token, of the second, and a full accept, each by itself."""
    generator = torch.Generator().manual_seed(11)
    p_d = DRAFTS[name].double()
    tokens = torch.multinomial(p_d, TRIALS, replacement=True, generator=generator).T
    p_d_rows, p_t_rows = p_d.expand(TRIALS, -1, -1), P_T.expand(TRIALS, -1, -1)
    accepted, bonus = verify_sampled(tokens, p_d_rows, p_t_rows, generator)
    emitted = torch.cat([tokens, bonus[:, None]], dim=1)
    emitted.scatter_(1, accepted[:, None], bonus[:, None])
    chance = torch.minimum(P_T[:2], p_d).sum(dim=-1)
    reach = torch.stack([1 - chance[0], chance[0] * (1 - chance[1]), chance.prod()])
    assert p_value(torch.bincount(accepted, minlength=3), reach) > ALPHA
    for position in range(3):
        made = emitted[accepted >= position, position]
        assert p_value(torch.bincount(made, minlength=4), P_T[position]) > ALPHA, position
    for path in range(2):
        residual = (P_T[path] - p_d[path]).clamp(min=0)
        made = bonus[accepted == path]
        if residual.sum() > 0:
            assert p_value(torch.bincount(made, minlength=4), residual) > ALPHA, path


@pytest.mark.parametrize(
    ("config", "params"),
    [
        ({"gamma": 2}, SamplingParams(temperature=1.0)),
        ({"gamma": 1, "markov_head_type": "rnn"}, SamplingParams(temperature=0.7)),
        ({"gamma": 2, "markov_head_type": "gated"}, SamplingParams(temperature=1.2, top_k=2)),
        (
            {"gamma": 1, "markov_head_type": "none"},
            SamplingParams(temperature=1.0, top_p=0.8, greedy_draft=True),
        ),
    ],
    ids=["vanilla", "rnn", "gated top-k", "none top-p greedy draft"],
)
def test_whole_loop_gives_the_joint_distribution(
    config: dict[str, Any], params: SamplingParams
) -> None:
    """Sequences of three tokens of a Markov chain, against their exact probabilities."""
    torch.manual_seed(5)
    table = 1.2 * torch.randn(3, 3, dtype=torch.float64)
    target = ChainTarget(table)
    fields = {"vocab_size": 3, "mask_token_id": 2, "num_hidden_layers": 1, **config}
    draft = random_draft(tiny_config(**fields))
    options = DecodeOptions(
        max_new_tokens=3, sampling=params, generator=torch.Generator().manual_seed(17)
    )
    runs = [generate([0], target, draft, options) for _ in range(RUNS)]
    assert {each.accepted for run in runs for each in run.rounds} == set(range(config["gamma"] + 1))
    assert sequences_p_value(runs, target_probs(table, params)) > ALPHA


def test_admission_by_confidence_stays_exact() -> None:
    """A schedule that reads only c_1..c_k before token k is admitted changes nothing."""
    table = 1.2 * torch.randn(3, 3, dtype=torch.float64)
    draft = random_draft(tiny_config(vocab_size=3, mask_token_id=2, markov_rank=3))
    set_markov_table(draft, 0.5 * table)

    def admit(confidences: Any) -> int:
        good = [c > low for c, low in zip(confidences, (0.5, 0.59, 0.7), strict=True)]
        return good.index(False) if False in good else len(good)

    params = SamplingParams(temperature=1.0)
    generator = torch.Generator().manual_seed(23)
    options = DecodeOptions(max_new_tokens=3, sampling=params, admit=admit, generator=generator)
    runs = [generate([0], ChainTarget(table), draft, options) for _ in range(RUNS)]
    assert len({each.verified for run in runs for each in run.rounds}) > 1
    assert sequences_p_value(runs, target_probs(table, params)) > ALPHA


def test_greedy_verification() -> None:
    logits = torch.zeros(3, 3, 5)
    for row, wanted in enumerate([[1, 2, 3], [1, 2, 3], [1, 2, 3]]):
        logits[row, torch.arange(3), torch.tensor(wanted)] = 1
    verdict = verify_greedy(torch.tensor([[1, 2], [1, 4], [4, 2]]), logits)
    assert verdict.accepted.tolist() == [2, 1, 0]
    assert verdict.bonus.tolist() == [3, 2, 1]


def test_target_probs_keep_the_right_tokens() -> None:
    logits = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    for params, wanted in [
        (SamplingParams(temperature=1.0), [0.4, 0.3, 0.2, 0.1]),
        (SamplingParams(temperature=1.0, top_k=2), [4 / 7, 3 / 7, 0, 0]),
        (SamplingParams(temperature=1.0, top_p=0.65), [4 / 7, 3 / 7, 0, 0]),
        (SamplingParams(temperature=1.0, top_k=3, top_p=0.4), [1, 0, 0, 0]),
        (SamplingParams(temperature=0.5), [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
        (SamplingParams(temperature=0.0), [1, 0, 0, 0]),
        (SamplingParams(temperature=1.0, top_k=1), [1, 0, 0, 0]),
    ]:
        found = target_probs(logits, params)
        torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float32))


@pytest.mark.parametrize("bad", [{"temperature": -1.0}, {"top_k": -1}, {"top_p": 0.0}])
def test_refusals(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="are needed"):
        SamplingParams(**bad)
