"""The reference against SGLang's own modules, run on a CPU without a server."""

from types import SimpleNamespace

import pytest
import torch
from reference_helpers import VOCAB, random_draft, tiny_config

from dspark_sglang.reference import SamplingParams
from dspark_sglang.reference.confidence import calibrated
from dspark_sglang.reference.config_file import config_to_json
from dspark_sglang.reference.heads import BlockRows, teacher_forced_logits
from dspark_sglang.reference.sampling import draft_block, target_probs, verify_greedy

pytest.importorskip("sglang")

from sglang.kernels.ops.speculative.dspark.dspark_accept import accept_greedy, softmax_temp
from sglang.srt.models import dspark as upstream
from sglang.srt.speculative.dflash_utils import (
    build_speculative_verify_target_probs,
    parse_dflash_draft_config,
)
from sglang.srt.speculative.dspark_components.dspark_config import parse_dspark_draft_config
from sglang.srt.speculative.dspark_components.dspark_draft import DraftNoise, draft_markov_block

BATCH, GAMMA = 4, 3
DTYPES = [torch.float32, torch.bfloat16]


def both_heads(kind: str, dtype: torch.dtype):
    """A draft and SGLang's head with the same weights, under the same names."""
    draft = random_draft(tiny_config(markov_head_type=kind), dtype)
    theirs = upstream.build_markov_head(SimpleNamespace(**config_to_json(draft.config))).to(dtype)
    theirs.load_state_dict(draft.markov_head.state_dict())
    return draft, theirs


def random_rows(dtype: torch.dtype) -> tuple[BlockRows, torch.Tensor]:
    hidden = torch.randn(BATCH, GAMMA, 32).to(dtype)
    return BlockRows(hidden, torch.randn(BATCH, GAMMA, VOCAB).to(dtype)), torch.randint(
        VOCAB, (BATCH,)
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", ["vanilla", "gated", "rnn"])
def test_heads(kind: str, dtype: torch.dtype) -> None:
    draft, theirs = both_heads(kind, dtype)
    rows, _ = random_rows(dtype)
    previous = torch.randint(VOCAB, (BATCH, GAMMA))
    ours = teacher_forced_logits(draft.head, rows, previous)
    state = theirs.init_state(rows.hidden)
    for k in range(GAMMA):
        bias, state = theirs.step_bias(previous[:, k], hidden_states=rows.hidden[:, k], state=state)
        torch.testing.assert_close(ours[:, k], rows.logits[:, k] + bias, rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["vanilla", "gated", "rnn"])
def test_greedy_block(kind: str) -> None:
    """SGLang's whole drafting loop gives the same tokens and step logits."""
    draft, theirs = both_heads(kind, torch.float32)
    rows, anchors = random_rows(torch.float32)
    with torch.no_grad():
        block = draft_block(draft.head, rows, anchors, 0.0)
        tokens, logits = draft_markov_block(
            markov_head=theirs,
            base_logits=rows.logits,
            anchor_tokens=anchors,
            draft_hidden=rows.hidden,
            step_temperatures=torch.zeros(BATCH),
            noise=DraftNoise(key=1, offset=torch.zeros(1, dtype=torch.int64)),
            tp_sync=SimpleNamespace(sync=lambda site, tensor: tensor),
        )
        previous = torch.cat([anchors[:, None], block.tokens[:, :-1]], dim=1)
        ours = teacher_forced_logits(draft.head, rows, previous)
    assert torch.equal(block.tokens, tokens)
    torch.testing.assert_close(ours, logits)


@pytest.mark.parametrize("kind", ["vanilla", "gated", "rnn"])
def test_sampled_block(kind: str) -> None:
    """SGLang's sampled tokens, replayed: the same p_d for the same prefix."""
    draft, theirs = both_heads(kind, torch.float32)
    rows, anchors = random_rows(torch.float32)
    temperatures = torch.full((BATCH,), 0.7)
    with torch.no_grad():
        tokens, logits = draft_markov_block(
            markov_head=theirs,
            base_logits=rows.logits,
            anchor_tokens=anchors,
            draft_hidden=rows.hidden,
            step_temperatures=temperatures,
            noise=DraftNoise(key=1, offset=torch.zeros(1, dtype=torch.int64)),
            tp_sync=SimpleNamespace(sync=lambda site, tensor: tensor),
        )
        previous = torch.cat([anchors[:, None], tokens[:, :-1]], dim=1)
        ours = teacher_forced_logits(draft.head, rows, previous)
    wanted = softmax_temp(
        logits=logits.flatten(0, 1), temperatures=temperatures, rows_per_request=GAMMA
    )
    found = target_probs(ours.flatten(0, 1), SamplingParams(temperature=0.7))
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("with_markov", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_confidence(dtype: torch.dtype, with_markov: bool) -> None:
    config = tiny_config(confidence_head_with_markov=with_markov)
    draft = random_draft(config, dtype)
    draft.confidence_head.float()
    markov = upstream.build_markov_head(SimpleNamespace(**config_to_json(config))).to(dtype)
    markov.load_state_dict(draft.markov_head.state_dict())
    theirs = upstream.DSparkConfidenceHead(
        hidden_size=32, markov_rank=config.markov_rank, with_markov=with_markov
    )
    theirs.load_state_dict(draft.confidence_head.state_dict())
    theirs.sts_temperatures = torch.tensor([1.5, 0.8, 1.0])
    rows, anchors = random_rows(dtype)
    tokens = torch.randint(VOCAB, (BATCH, GAMMA))
    wanted, wanted_raw = theirs.predict(
        rows.hidden.flatten(0, 1), anchor_tokens=anchors, draft_tokens=tokens, markov_head=markov
    )
    raw = draft.confidence_logits(rows.hidden, anchors, tokens)
    torch.testing.assert_close(raw, wanted_raw)
    torch.testing.assert_close(calibrated(raw, theirs.sts_temperatures), wanted)


def test_greedy_verification() -> None:
    candidates = torch.randint(3, (64, GAMMA + 1))
    logits = torch.randn(64, GAMMA + 1, 3)
    accepted, bonus, _ = accept_greedy(
        candidates=candidates,
        target_logits=logits.flatten(0, 1),
        verify_num_draft_tokens=GAMMA + 1,
    )
    ours = verify_greedy(candidates[:, 1:], logits)
    assert torch.equal(ours.accepted, accepted.long())
    assert torch.equal(ours.bonus, bonus)


@pytest.mark.parametrize("spread", [3.0, 0.0], ids=["random", "ties"])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (5, 1.0), (0, 0.7), (8, 0.5)])
def test_target_distribution(top_k: int, top_p: float, spread: float) -> None:
    logits = spread * torch.randn(BATCH * (GAMMA + 1), VOCAB)
    info = SimpleNamespace(
        temperatures=torch.full((BATCH, 1), 0.8),
        top_ks=torch.full((BATCH,), top_k or VOCAB),
        top_ps=torch.full((BATCH,), top_p),
        need_top_k_sampling=top_k > 0,
        need_top_p_sampling=top_p < 1,
    )
    wanted = build_speculative_verify_target_probs(
        next_token_logits=logits, sampling_info=info, draft_token_num=GAMMA + 1, bs=BATCH
    )
    params = SamplingParams(temperature=0.8, top_k=top_k, top_p=top_p)
    found = target_probs(logits, params)
    # Which of equal tokens are kept is left open.
    both = [x.sort(dim=-1).values if spread == 0 else x for x in (found, wanted.flatten(0, 1))]
    torch.testing.assert_close(*both)


def test_config_is_read_alike() -> None:
    config = tiny_config(target_layer_ids=(0, 1, 3), markov_head_type="gated")
    theirs = parse_dspark_draft_config(draft_hf_config=config_to_json(config))
    assert theirs.gamma == config.gamma
    assert tuple(theirs.target_layer_ids) == config.target_layer_ids
    assert theirs.num_target_layers == config.num_target_layers
    assert theirs.mask_token_id == config.mask_token_id
    assert (theirs.markov_rank, theirs.markov_head_type) == (config.markov_rank, "gated")


def test_dflash_config_is_read_alike() -> None:
    config = tiny_config(
        architecture="DFlashDraftModel",
        markov_head_type="none",
        sample_from_anchor=False,
        enable_confidence_head=False,
    )
    theirs = parse_dflash_draft_config(draft_hf_config=config_to_json(config))
    assert theirs.block_size == config.gamma + 1
    assert tuple(theirs.target_layer_ids) == config.target_layer_ids
    assert theirs.mask_token_id == config.mask_token_id
