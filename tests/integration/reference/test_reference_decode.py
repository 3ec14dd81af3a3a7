"""The decode loop: greedy output is the target's own, whatever the draft proposes."""

import pytest
import torch
from reference_helpers import (
    HEADS,
    VOCAB,
    ChainTarget,
    bigram_draft,
    random_draft,
    set_markov_table,
    tiny_config,
    tiny_target,
)

from dspark_sglang.reference import DecodeOptions, SamplingParams, generate, generate_plain

PROMPT = [3, 14, 15, 9, 26]


@pytest.mark.parametrize("from_anchor", [True, False])
@pytest.mark.parametrize("head", HEADS)
def test_greedy_equals_plain(head: str, from_anchor: bool) -> None:
    target, options = tiny_target(), DecodeOptions(max_new_tokens=20)
    draft = random_draft(tiny_config(markov_head_type=head, sample_from_anchor=from_anchor))
    plain = generate_plain(PROMPT, target, options)
    assert len(set(plain)) > 5
    found = generate(PROMPT, target, draft, options)
    assert found.tokens == plain
    assert all(len(each.confidences) == 3 for each in found.rounds)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3"])
def test_greedy_equals_plain_with_accepted_drafts(kind: str) -> None:
    """The draft knows most of the output, so that rounds of every kind happen."""
    target, options = tiny_target(kind), DecodeOptions(max_new_tokens=40)
    plain = generate_plain(PROMPT, target, options)
    draft = bigram_draft(tiny_config(markov_rank=VOCAB), plain[:30])
    found = generate(PROMPT, target, draft, options)
    assert found.tokens == plain
    assert found.accept_length > 1.3
    assert {each.accepted for each in found.rounds} >= {0, 3}


@pytest.mark.parametrize("limit", [0, 1, 2, 9])
def test_admission_limits_what_is_verified(limit: int) -> None:
    target = tiny_target()
    plain = generate_plain(PROMPT, target, DecodeOptions(max_new_tokens=20))
    seen = []

    def admit(confidences: object) -> int:
        seen.append(confidences)
        return limit

    options = DecodeOptions(max_new_tokens=20, admit=admit)
    draft = bigram_draft(tiny_config(markov_rank=VOCAB), plain)
    found = generate(PROMPT, target, draft, options)
    assert found.tokens == plain
    assert {each.verified for each in found.rounds} == {min(limit, 3)}
    assert seen == [each.confidences for each in found.rounds]


def test_rounds_tell_how_the_tokens_came_about() -> None:
    target, options = tiny_target(), DecodeOptions(max_new_tokens=20)
    plain = generate_plain(PROMPT, target, options)
    draft = bigram_draft(tiny_config(markov_rank=VOCAB), plain)
    found = generate(PROMPT, target, draft, options)
    tokens = found.tokens[:1]
    for each in found.rounds:
        assert each.anchor == tokens[-1]
        tokens += [*each.drafts[: each.accepted], each.bonus]
    assert tokens[:20] == found.tokens


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma3"])
def test_captured_states_are_the_outputs_of_the_layers(kind: str) -> None:
    target, seen = tiny_target(kind), {}
    for number, layer in enumerate(target.model.model.layers):
        layer.register_forward_hook(
            lambda module, inputs, output, number=number: seen.update({number: output})
        )
    ids = torch.tensor([PROMPT])
    captured = target.forward(ids, target.new_cache(), (2, 0)).captured
    torch.testing.assert_close(captured, (seen[2], seen[0]), rtol=0, atol=0)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("head", HEADS)
def test_bfloat16_runs(head: str, temperature: float) -> None:
    """No product of mixed dtypes on the way; rounding may change tokens, so none are compared."""
    target = tiny_target()
    target.model.bfloat16()
    draft = random_draft(tiny_config(markov_head_type=head), torch.bfloat16)
    sampling = SamplingParams(temperature=temperature)
    options = DecodeOptions(max_new_tokens=8, sampling=sampling)
    found = generate(PROMPT, target, draft, options)
    assert len(found.tokens) == 8
    assert all(0 < c < 1 for each in found.rounds for c in each.confidences)


def test_stop_token_ends_the_output() -> None:
    target = tiny_target()
    plain = generate_plain(PROMPT, target, DecodeOptions(max_new_tokens=20))
    stop = plain[7]
    options = DecodeOptions(max_new_tokens=20, stop_ids=(stop,))
    draft = bigram_draft(tiny_config(markov_rank=VOCAB), plain)
    wanted = plain[: plain.index(stop) + 1]
    assert generate_plain(PROMPT, target, options) == wanted
    assert generate(PROMPT, target, draft, options).tokens == wanted


def test_sts_changes_confidences_and_not_tokens() -> None:
    target, draft = tiny_target(), random_draft(tiny_config())
    plain = generate(PROMPT, target, draft, DecodeOptions(max_new_tokens=5))
    options = DecodeOptions(max_new_tokens=5, sts_temperatures=[1.0, 2.0, 1.0])
    scaled = generate(PROMPT, target, draft, options)
    assert scaled.tokens == plain.tokens
    for one, other in zip(plain.rounds, scaled.rounds, strict=True):
        assert one.confidences[0::2] == other.confidences[0::2]
        logit = torch.logit(torch.tensor(one.confidences[1]))
        assert other.confidences[1] == pytest.approx(float(torch.sigmoid(logit / 2)), abs=1e-5)


def test_a_perfect_draft_is_always_accepted() -> None:
    """p_d = p_t: nothing is ever rejected, also when sampling."""
    table = torch.randn(8, 8, dtype=torch.float64)
    target = ChainTarget(table)
    draft = random_draft(tiny_config(vocab_size=8, markov_rank=8))
    set_markov_table(draft, table)
    target.embeddings.zero_()
    options = DecodeOptions(
        max_new_tokens=40,
        sampling=SamplingParams(temperature=1.0),
        generator=torch.Generator().manual_seed(2),
    )
    assert generate([1], target, draft, options).accept_length == 4


def test_refusals() -> None:
    target, options = tiny_target(), DecodeOptions(max_new_tokens=5)
    with pytest.raises(ValueError, match="prompt is empty"):
        generate([], target, random_draft(tiny_config()), options)
    with pytest.raises(ValueError, match="vocab_size 60 against 61"):
        generate(PROMPT, target, random_draft(tiny_config(vocab_size=60)), options)
    with pytest.raises(ValueError, match="shows layers 0 to 2"):
        generate(PROMPT, target, random_draft(tiny_config(target_layer_ids=(0, 3))), options)
    for table in ([1.0, 1.0], [1.0, 0.0, 1.0]):
        bad = DecodeOptions(max_new_tokens=5, sts_temperatures=table)
        with pytest.raises(ValueError, match="3 positive ones are needed"):
            generate(PROMPT, target, random_draft(tiny_config()), bad)
