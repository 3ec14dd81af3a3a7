"""The sampled chain follows the target's distribution, wherever the draft is rejected.

With p for the target and q for the draft, the first emitted token must follow p(. | root)
whatever q is, and the token after a kept draft x must follow p(. | x).
"""

import pytest
import torch

from dspark_kernels.chain_speculative_sampling import chain_speculative_sampling

VOCAB = 5
TRIALS = 60_000
GAMMA = 2
CHI_SQUARE_4 = 23.5
"""99.99 % point for 4 degrees of freedom."""


def distributions(kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Target `[slots, vocab]` and draft `[slots - 1, vocab]`, independent of the prefix."""
    target = torch.tensor([[0.5, 0.2, 0.15, 0.1, 0.05], [0.05, 0.1, 0.2, 0.25, 0.4]])
    target = torch.cat([target, torch.tensor([[0.3, 0.3, 0.2, 0.15, 0.05]])])
    drafts = {
        "equal": target[:2],
        "disjoint": torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0]]),
        "mixed": torch.tensor([[0.3, 0.3, 0.2, 0.1, 0.1], [0.3, 0.1, 0.2, 0.3, 0.1]]),
        "sure first": torch.stack([target[0], torch.tensor([0.4, 0.3, 0.1, 0.1, 0.1])]),
    }
    return target, drafts[kind]


def emitted(kind: str, block: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Accepted drafts `[trials]` and emitted tokens `[trials, slots]` of many trials."""
    torch.manual_seed(3)
    target, draft = distributions(kind)
    drafted = torch.multinomial(draft, TRIALS, replacement=True).T.contiguous()
    slots = GAMMA + 1
    predicts = torch.full((TRIALS * slots,), -1)
    accepted = torch.zeros(TRIALS, dtype=torch.int64)
    chain_speculative_sampling(
        predicts=predicts,
        accept_index=torch.full((TRIALS, slots), -1),
        accept_token_num=accepted,
        candidates=torch.cat([torch.zeros(TRIALS, 1, dtype=torch.int64), drafted], dim=1),
        retrive_index=torch.arange(TRIALS * slots).view(TRIALS, slots),
        retrive_next_token=torch.empty(0),
        retrive_next_sibling=torch.empty(0),
        uniform_samples=torch.rand(TRIALS, GAMMA),
        uniform_samples_for_final_sampling=torch.rand(TRIALS),
        target_probs=target.expand(TRIALS, slots, VOCAB),
        draft_probs=draft.expand(TRIALS, GAMMA, VOCAB),
        threshold_single=1.0,
        threshold_acc=1.0,
        deterministic=True,
        block_verification=block,
    )
    return accepted, predicts.view(TRIALS, slots)


def chi_square(tokens: torch.Tensor, expected: torch.Tensor) -> float:
    counts = torch.bincount(tokens, minlength=VOCAB).double()
    wanted = expected.double() * tokens.numel()
    return float(((counts - wanted) ** 2 / wanted).sum())


@pytest.mark.parametrize("block", [False, True], ids=["token", "block"])
@pytest.mark.parametrize("kind", ["equal", "disjoint", "mixed", "sure first"])
def test_emitted_tokens_follow_the_target(kind: str, block: bool) -> None:
    target, _ = distributions(kind)
    accepted, tokens = emitted(kind, block)
    # Further tokens of a short chain are the target's own, as the next step would emit.
    fill = torch.multinomial(target, TRIALS, replacement=True).T
    later = torch.arange(GAMMA + 1) > accepted.unsqueeze(1)
    tokens = torch.where(later, fill, tokens)
    for position in range(GAMMA + 1):
        assert chi_square(tokens[:, position], target[position]) < CHI_SQUARE_4, position
    for first in range(VOCAB):
        after = tokens[tokens[:, 0] == first, 1]
        assert chi_square(after, target[1]) < CHI_SQUARE_4, first


def test_the_cases_cover_every_branch() -> None:
    seen = {kind: set(emitted(kind, False)[0].tolist()) for kind in ("equal", "disjoint", "mixed")}
    assert seen == {"equal": {2}, "disjoint": {0, 1, 2}, "mixed": {0, 1, 2}}


@pytest.mark.parametrize("kind", ["mixed", "sure first"])
def test_acceptance_rate_is_the_overlap(kind: str) -> None:
    target, draft = distributions(kind)
    accepted, _ = emitted(kind, False)
    overlap = torch.minimum(target[0], draft[0]).sum()
    assert abs(float((accepted > 0).float().mean()) - float(overlap)) < 0.01
