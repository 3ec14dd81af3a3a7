"""A draft over few tokens drafts what the whole one would among these, and says so in tokens."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sglang.srt.models.dspark import GatedMarkovHead, RNNHead, VanillaMarkov
from sglang.srt.speculative.dspark_components.dspark_draft import (
    DraftNoise,
    sample_draft_block,
)

from dspark_sglang.platforms.cpu import packing, vocabulary
from dspark_sglang.reference.vocabulary import drafted_tokens, only

SIZE, WIDTH, RANK, GAMMA, BATCH = 64, 32, 8, 4, 3
KNOWN = torch.arange(3, SIZE, 5)


def head(kind: str) -> Any:
    torch.manual_seed(2)
    made: Any = {
        "vanilla": lambda: VanillaMarkov(vocab_size=SIZE, markov_rank=RANK),
        "gated": lambda: GatedMarkovHead(vocab_size=SIZE, markov_rank=RANK, hidden_size=WIDTH),
        "rnn": lambda: RNNHead(vocab_size=SIZE, markov_rank=RANK, hidden_size=WIDTH),
    }[kind]()
    made.requires_grad_(requires_grad=False)
    torch.nn.init.normal_(made.markov_w2.weight)
    unknown = torch.ones(SIZE, dtype=torch.bool)
    unknown[KNOWN] = False
    made.markov_w2.weight[unknown] = 0
    return made


def model(kind: str) -> SimpleNamespace:
    weight = torch.nn.Parameter(torch.randn(SIZE, WIDTH), requires_grad=False)
    lm_head = SimpleNamespace(weight=weight, quant_method=None, org_vocab_size=SIZE)
    return SimpleNamespace(
        markov_head=head(kind), lm_head=lm_head, logits_mup_width_multiplier=None
    )


def refused(*_args: Any) -> Any:
    raise AssertionError("all tokens were drafted")


def sampling(temperature: float) -> SimpleNamespace:
    ones = torch.ones(BATCH)
    return SimpleNamespace(
        is_all_greedy=temperature == 0,
        temperatures=ones * max(temperature, 1.0),
        top_ks=(ones if temperature == 0 else ones * 1000).long(),
    )


def drafted(head: Any, logits: torch.Tensor, hidden: torch.Tensor, temperature: float) -> Any:
    facts = {
        "base_logits": logits.view(BATCH, GAMMA, -1),
        "anchor_tokens": torch.tensor([0, 3, 62]),
        "draft_hidden": hidden.view(BATCH, GAMMA, WIDTH),
        "sampling_info": sampling(temperature),
        "markov_head": head,
        "noise": DraftNoise(key=7, offset=torch.zeros(1, dtype=torch.int64)),
        "device": torch.device("cpu"),
        "tp_sync": SimpleNamespace(sync=lambda _site, tokens: tokens),
        "greedy_draft": False,
    }
    return vocabulary.sample_block(sample_draft_block, **facts)


@pytest.mark.parametrize("kind", ["vanilla", "gated", "rnn"])
def test_it_drafts_what_the_whole_vocabulary_would_without_the_others(kind: str) -> None:
    draft, hidden = model(kind), torch.randn(BATCH * GAMMA, WIDTH)
    logits, features = vocabulary.base_logits(refused, draft, hidden)
    assert logits.shape == (BATCH * GAMMA, len(KNOWN))
    assert features is hidden
    found = drafted(draft.markov_head, logits, hidden, 0.0)
    whole = only(hidden @ draft.lm_head.weight.T, KNOWN)
    expected = drafted(head(kind), whole, hidden, 0.0)
    assert torch.equal(found.draft_tokens, expected.draft_tokens)
    assert set(found.draft_tokens.flatten().tolist()) <= set(KNOWN.tolist())
    assert found.corrected_logits is None


def test_sampled_blocks_carry_logits_of_the_whole_vocabulary() -> None:
    draft, hidden = model("vanilla"), torch.randn(BATCH * GAMMA, WIDTH)
    logits, _ = vocabulary.base_logits(refused, draft, hidden)
    found = drafted(draft.markov_head, logits, hidden, 1.0)
    assert found.corrected_logits.shape == (BATCH, GAMMA, SIZE)
    previous = torch.cat([torch.tensor([[0], [3], [62]]), found.draft_tokens[:, :-1]], dim=1)
    bias = draft.markov_head.markov_w2(draft.markov_head.markov_w1(previous))
    whole = (hidden @ draft.lm_head.weight.T).view(BATCH, GAMMA, SIZE) + bias
    torch.testing.assert_close(found.corrected_logits, only(whole, KNOWN), atol=1e-4, rtol=1e-4)
    chosen = found.corrected_logits.gather(2, found.draft_tokens[..., None])
    assert bool(chosen.isfinite().all())


def test_replaced_weights_make_another_vocabulary() -> None:
    draft, hidden = model("vanilla"), torch.randn(BATCH * GAMMA, WIDTH)
    before, _ = vocabulary.base_logits(refused, draft, hidden)
    draft.lm_head.weight.mul_(2)
    draft.markov_head.markov_w2.weight[KNOWN[0]] = 0
    packing.forget_packed()
    after, _ = vocabulary.base_logits(refused, draft, hidden)
    torch.testing.assert_close(after, 2 * before[:, 1:], atol=1e-4, rtol=1e-4)


def test_drafts_of_many_tokens_of_sharded_or_of_quantized_heads_stay_whole() -> None:
    def whole(*_args: Any) -> tuple[str, str]:
        return "all", "tokens"

    many = model("vanilla")
    torch.nn.init.normal_(many.markov_head.markov_w2.weight)
    sharded = model("vanilla")
    sharded.lm_head.tp_size = 2
    quantized = model("vanilla")
    quantized.lm_head.quant_method = SimpleNamespace()
    for draft in (many, sharded, quantized):
        assert vocabulary.base_logits(whole, draft, torch.randn(1, WIDTH)) == ("all", "tokens")


def test_tokens_are_known_by_their_rows() -> None:
    assert torch.equal(drafted_tokens(head("vanilla")), KNOWN)
    silent = head("vanilla")
    silent.markov_w2.weight.zero_()
    assert drafted_tokens(silent) is None
    assert drafted_tokens(torch.nn.Identity()) is None
