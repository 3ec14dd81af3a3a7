"""Where a sequential head starts, against its definition."""

import pytest
import torch
from training_helpers import VOCABULARY, draft_config

from dspark_sglang.reference import Draft
from dspark_sglang.reference.heads import BlockRows, teacher_forced_logits
from dspark_sglang.reference.sampling import draft_block
from dspark_sglang.training.initial import initialise
from dspark_sglang.training.initial_head import even_out_w1, start_head_from_target

pytestmark = pytest.mark.integration


def test_a_head_starts_as_the_components_of_the_embeddings() -> None:
    embeddings = torch.randn(60, 8) @ torch.diag(torch.tensor([5.0, 3, 2, 1, 0.1, 0.1, 0.1, 0.1]))
    draft = Draft(draft_config(vocab_size=61, mask_token_id=0, markov_rank=3))
    initialise(draft, 1)
    start_head_from_target(draft.markov_head, embeddings + 4)
    w1 = draft.get_parameter("markov_head.markov_w1.weight")
    assert torch.allclose(w1[:-1].T.cov(), torch.eye(3), atol=1e-4)
    assert not w1[-1].any()
    # The first component is the widest direction.
    wide = embeddings[:, 0] - embeddings[:, 0].mean()
    assert torch.corrcoef(torch.stack([w1[:-1, 0], wide]))[0, 1].abs() > 0.95
    assert not draft.get_parameter("markov_head.markov_w2.weight").any()


def test_the_recurrent_head_starts_with_the_token_in_its_output() -> None:
    draft = Draft(draft_config(markov_head_type="rnn", markov_rank=3))
    initialise(draft, 1)
    start_head_from_target(draft.markov_head, torch.randn(VOCABULARY - 1, 8))
    torch.nn.init.eye_(draft.get_parameter("markov_head.markov_w2.weight"))
    tokens, hidden = torch.arange(5), torch.zeros(5, 16)
    bias, _ = draft.head.bias(tokens, hidden, draft.head.initial_state(hidden))
    assert torch.allclose(bias[:, :3], draft.head.embed(tokens).tanh(), atol=0.15)


def test_a_rank_above_the_width_is_filled_up() -> None:
    draft = Draft(draft_config(vocab_size=61, mask_token_id=0, markov_rank=12))
    start_head_from_target(draft.markov_head, torch.randn(60, 8))
    assert draft.get_parameter("markov_head.markov_w1.weight")[:-1].std(dim=0).min() > 0.5


def trained(head: str) -> Draft:
    """A draft whose W1 has components of very different size that go together."""
    draft = Draft(draft_config(vocab_size=61, mask_token_id=0, markov_head_type=head))
    for parameter in draft.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        mixed = torch.diag(torch.tensor([1.0, 0.3, 0.05, 0.01])) @ torch.randn(4, 4)
        w1 = draft.get_parameter("markov_head.markov_w1.weight")
        w1.copy_(torch.randn(61, 4) @ mixed)
    return draft


def says(draft: Draft) -> tuple[torch.Tensor, ...]:
    """Tokens, logits and confidences of blocks, with given hidden states."""
    generator = torch.Generator().manual_seed(3)
    rows = BlockRows(*(torch.randn(7, 3, n, generator=generator) for n in (16, 61)))
    first = torch.arange(54, 61)
    tokens = draft_block(draft.head, rows, first, 0.0).tokens
    logits = teacher_forced_logits(draft.head, rows, torch.cat([first[:, None], tokens], 1)[:, :-1])
    confidence = draft.confidence_logits(rows.hidden, first, tokens)
    assert confidence is not None
    return tokens, logits, confidence


@pytest.mark.parametrize("head", ["vanilla", "rnn"])
def test_an_evened_head_says_what_it_said(head: str) -> None:
    draft = trained(head)
    before = says(draft)
    even_out_w1(draft)
    for old, new in zip(before, says(draft), strict=True):
        assert torch.allclose(old, new, atol=1e-4)
    w1 = draft.get_parameter("markov_head.markov_w1.weight")[:-1]
    assert torch.allclose(w1.T @ w1 / len(w1), torch.eye(4), atol=1e-3)


def test_an_even_head_stays_as_it_is() -> None:
    draft = trained("vanilla")
    even_out_w1(draft)
    once = {name: weight.clone() for name, weight in draft.state_dict().items()}
    even_out_w1(draft)
    assert all(torch.allclose(once[name], w, atol=1e-4) for name, w in draft.state_dict().items())


def test_a_component_that_is_missing_is_no_division_by_zero() -> None:
    draft = trained("vanilla")
    w1 = draft.get_parameter("markov_head.markov_w1.weight")
    for missing in (slice(0, 2), slice(0, 4)):
        torch.nn.init.zeros_(w1[:, missing])
        before = says(draft)
        even_out_w1(draft)
        assert all(
            torch.allclose(old, new, atol=1e-4)
            for old, new in zip(before, says(draft), strict=True)
        )


def test_other_tokens_keep_what_no_drafted_token_has() -> None:
    """W1 has one row of all other tokens, which may lie outside of what the others span."""
    draft = trained("vanilla")
    w1 = draft.get_parameter("markov_head.markov_w1.weight")
    torch.nn.init.zeros_(w1[:-1, 2:])
    before, other = says(draft), w1[-1].clone()
    even_out_w1(draft)
    assert all(
        torch.allclose(old, new, atol=1e-4) for old, new in zip(before, says(draft), strict=True)
    )
    assert torch.allclose(w1[-1, 2:], other[2:])


@pytest.mark.parametrize("head", ["gated", "none"])
def test_a_head_whose_components_matter_is_left_alone(head: str) -> None:
    is_none = head == "none"
    changes = {"markov_rank": 0, "confidence_head_with_markov": False} if is_none else {}
    draft = Draft(draft_config(markov_head_type=head, **changes))
    initialise(draft, 1)
    before = {name: weight.clone() for name, weight in draft.state_dict().items()}
    even_out_w1(draft)
    assert all(torch.equal(before[name], w) for name, w in draft.state_dict().items())
