"""Each way that a verification can end, by itself: every head, filter, place and cut.

Per path the tokens after the accepted drafts are compared with the law that belongs to it: the
residual after a rejection, p_t after all drafts that were verified, which may be fewer than
gamma. Wrong rules do not pass, each at the one path that it spoils.
"""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from reference_helpers import HEADS, ChainTarget, random_draft, tiny_config
from torch import Generator, Tensor
from torch.nn.functional import pad

from dspark_sglang.reference import SamplingParams
from dspark_sglang.reference.heads import BlockRows
from dspark_sglang.reference.sampling import (
    DraftBlock,
    Verdict,
    draft_block,
    target_probs,
    verify_sampled,
)
from tests.chi_square import conditional_p_value

ALPHA = 1e-4
"""Seeds are fixed, so a p-value under this means a wrong distribution, not bad luck."""
VOCAB, GAMMA, TRIALS = 5, 3, 8000
PARAMS = {
    "plain": SamplingParams(temperature=1.0),
    "top-k": SamplingParams(temperature=0.8, top_k=3),
    "top-p": SamplingParams(temperature=1.2, top_p=0.8),
}
Verify = Callable[[Tensor, Tensor, Tensor, Generator], Verdict]


class Trials(NamedTuple):
    """Many verifications of blocks that were cut to `cut` drafts."""

    cut: int
    block: DraftBlock
    p_t: Tensor
    verdict: Verdict


def trials(kind: str, params: SamplingParams, cut: int, verify: Verify = verify_sampled) -> Trials:
    generator = Generator().manual_seed(29)
    target = ChainTarget(1.2 * torch.randn(VOCAB, VOCAB, generator=generator).double())
    fields = {"vocab_size": VOCAB, "mask_token_id": 2, "num_hidden_layers": 1, "gamma": GAMMA}
    draft = random_draft(tiny_config(markov_head_type=kind, **fields))
    with torch.no_grad():
        rows = block_rows(target, draft)
        anchors = torch.zeros(TRIALS, dtype=torch.int64)
        block = draft_block(draft.head, rows, anchors, params.draft_temperature, generator)
    logits = target.table[torch.cat([anchors[:, None], block.tokens], dim=1)]
    p_t = target_probs(logits, params)[:, : cut + 1]
    verdict = verify(block.tokens[:, :cut], block.probs[:, :cut], p_t, generator)
    return Trials(cut, block, p_t, verdict)


def block_rows(target: ChainTarget, draft) -> BlockRows:
    """Of a block at token 0 after two others, the same for all trials."""
    captured = target.forward(torch.tensor([[3, 1]]), [], draft.config.target_layer_ids).captured
    context = draft.backbone.context(captured, torch.arange(2)[None])
    hidden = draft.block_hidden(torch.tensor([0]), torch.tensor([2]), context, target.embed)
    many = hidden.expand(TRIALS, -1, -1)
    return BlockRows(many, target.lm_head(many))


def next_token_p_value(done: Trials, place: int) -> float:
    """Of the tokens after exactly `place` accepted drafts."""
    rows = done.verdict.accepted == place
    law = done.p_t[rows, place]
    if place < done.cut:
        law = (law - done.block.probs[rows, place]).clamp(min=0)
    law = law / law.sum(dim=-1, keepdim=True)
    cells = torch.arange(VOCAB).expand_as(law)
    assert rows.sum() > 10
    return conditional_p_value(done.verdict.bonus[rows], law, cells, VOCAB)


def acceptance_p_value(done: Trials, place: int) -> float:
    """Of how often the draft at `place` is accepted once those before it are."""
    rows = done.verdict.accepted >= place
    chance = torch.minimum(done.p_t, pad(done.block.probs, (0, 0, 0, 1))[:, : done.cut + 1])
    chance = chance[rows, place].sum(dim=-1)
    law = torch.stack([1 - chance, chance], dim=1)
    is_kept = (done.verdict.accepted[rows] > place).long()
    return conditional_p_value(is_kept, law, torch.arange(2).expand_as(law), 2)


@pytest.mark.parametrize("cut", range(GAMMA + 1))
@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("kind", HEADS)
def test_every_path_has_its_law(kind: str, name: str, cut: int) -> None:
    done = trials(kind, PARAMS[name], cut)
    for place in range(cut + 1):
        assert next_token_p_value(done, place) > ALPHA, place
    for place in range(cut):
        assert acceptance_p_value(done, place) > ALPHA, place


def spoiled_at(place: int, drafts: Tensor, p_d: Tensor, p_t: Tensor, random: Generator) -> Verdict:
    """Right but after `place` drafts: p_t where it should be the residual, and the reverse."""
    verdict = verify_sampled(drafts, p_d, p_t, random)
    law = p_t[:, place]
    if place == drafts.shape[1]:
        law = (law - torch.full_like(law, 1 / VOCAB)).clamp(min=0)
    wrong = torch.multinomial(law, 1, generator=random).squeeze(1)
    return Verdict(verdict.accepted, torch.where(verdict.accepted == place, wrong, verdict.bonus))


@pytest.mark.parametrize(
    ("cut", "place"), [(cut, place) for cut in range(GAMMA + 1) for place in range(cut + 1)]
)
def test_a_wrong_token_after_any_path_is_seen(cut: int, place: int) -> None:
    done = trials("vanilla", PARAMS["plain"], cut, lambda *args: spoiled_at(place, *args))
    assert next_token_p_value(done, place) < ALPHA


def test_a_wrong_acceptance_is_seen() -> None:
    def lenient(drafts: Tensor, p_d: Tensor, p_t: Tensor, random: Generator) -> Verdict:
        return verify_sampled(drafts, 0.7 * p_d, p_t, random)

    done = trials("vanilla", PARAMS["plain"], GAMMA, lenient)
    assert all(acceptance_p_value(done, place) < ALPHA for place in range(GAMMA))
