"""What the CPU platform puts under SGLang's EAGLE worker, without a server."""

from types import SimpleNamespace

import pytest
import torch

from dspark_kernels.draft_chain import verify_chain_sampled
from dspark_sglang.platforms.cpu.attention import _lengths
from dspark_sglang.platforms.cpu.eagle import draft_cache_locs, next_tokens
from tests.chi_square import p_value

TRIALS = 40_000
UNLIKELY = 1e-4


def verified(candidates: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Accepted drafts and the token after them, as SGLang's `eagle_sample` asks."""
    batch, slots = candidates.shape
    places = torch.arange(batch * slots).view(batch, slots)
    predicts = torch.zeros(batch * slots, dtype=torch.int32)
    accept_index = torch.full((batch, slots), -1, dtype=torch.int32)
    accepted = torch.empty(batch, dtype=torch.int32)
    verify_chain_sampled(
        predicts=predicts,
        accept_index=accept_index,
        accept_token_num=accepted,
        candidates=candidates,
        retrive_index=places,
        retrive_next_token=places,
        retrive_next_sibling=places,
        uniform_samples=torch.rand(batch, slots),
        uniform_samples_for_final_sampling=torch.rand(batch),
        target_probs=target,
        draft_probs=torch.zeros_like(target),
        threshold_single=1.0,
        threshold_acc=1.0,
        deterministic=True,
    )
    last = accept_index.gather(1, accepted.long()[:, None]).squeeze(1)
    return accepted, predicts[last.long()].long()


def test_sampled_tokens_follow_the_target() -> None:
    """Whatever was drafted: the first token, and the one after two accepted ones."""
    torch.manual_seed(4)
    logits = torch.tensor([[2.0, 1.0, 0, 1, 0.5], [0, 1, 2, 0, 1], [1, 0, 0, 2, 0]])
    target = logits.softmax(dim=-1)
    candidates = torch.tensor([[4, 1, 2]]).expand(TRIALS, -1)
    accepted, bonus = verified(candidates, target.expand(TRIALS, -1, -1))
    first = torch.where(accepted > 0, candidates[:, 1], bonus)
    assert p_value(first[:, None], target[0]) > UNLIKELY
    assert p_value(bonus[accepted == 2][:, None], target[2]) > UNLIKELY
    second = torch.where(accepted > 1, candidates[:, 2], bonus)[accepted > 0]
    assert p_value(second[:, None], target[1]) > UNLIKELY


def test_a_draft_writes_the_slots_after_what_is_committed() -> None:
    table = torch.arange(60, dtype=torch.int32).view(3, 20)
    slots = torch.zeros(2 * 4, dtype=torch.int64)
    draft_cache_locs(torch.tensor([2, 0]), table, torch.tensor([5, 9]), slots, 1, 4)
    assert slots.tolist() == [45, 46, 47, 48, 9, 10, 11, 12]


def test_a_chain_goes_on_with_its_only_candidate() -> None:
    index, states = torch.tensor([[7], [3]]), torch.randn(2, 4)
    ids, kept, _, tree = next_tokens(1, torch.ones(2, 1), index, states, torch.ones(2, 1), 1)
    assert ids.tolist() == [7, 3]
    assert kept is states
    assert torch.equal(tree[1], index)


def mode(**answers: bool) -> SimpleNamespace:
    named = {"is_decode_or_idle": False, "is_target_verify": False, **answers}
    return SimpleNamespace(**{name: lambda value=value: value for name, value in named.items()})


def test_a_draft_pass_reads_the_tokens_drafted_before() -> None:
    batch = SimpleNamespace(forward_mode=mode(is_decode_or_idle=True), seq_lens=torch.tensor([5]))
    assert _lengths(batch, 0) == ([1], [5])
    assert _lengths(batch, 3) == ([1], [8])


def test_chains_are_verified_and_trees_are_not() -> None:
    info = SimpleNamespace(custom_mask=torch.ones(1), topk=1, draft_token_num=4)
    batch = SimpleNamespace(
        forward_mode=mode(is_target_verify=True), seq_lens=torch.tensor([5]), spec_info=info
    )
    assert _lengths(batch, 0) == ([4], [9])
    info.topk = 2
    with pytest.raises(NotImplementedError, match="chains only"):
        _lengths(batch, 0)
