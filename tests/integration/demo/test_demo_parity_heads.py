"""The drafts of `verify-parity`: one trained backbone, every head, the same on both sides."""

from pathlib import Path

import pytest
import torch

from dspark_sglang.demo.parity.heads import HEADS, make_pair
from dspark_sglang.drafts import shipped_draft
from dspark_sglang.reference import Draft, read_draft
from dspark_sglang.reference.heads import BlockRows
from dspark_sglang.reference.sampling import draft_block

SHIPPED = "smollm2-135m-instruct"


def drafted(draft: Draft) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Tokens and confidence logits of a block of made-up rows."""
    generator = torch.Generator().manual_seed(1)
    config = draft.config
    hidden = torch.randn(2, config.gamma, config.hidden_size, generator=generator)
    logits = torch.randn(2, config.gamma, config.vocab_size, generator=generator)
    anchors = torch.tensor([28, 260])
    with torch.no_grad():
        tokens = draft_block(draft.head, BlockRows(hidden, logits), anchors, 0.0).tokens
        return tokens, draft.confidence_logits(hidden, anchors, tokens)


@pytest.mark.parametrize("head", HEADS)
def test_engine_and_reference_are_given_the_same_draft(head: str, tmp_path: Path) -> None:
    shipped = shipped_draft(SHIPPED)
    pair = make_pair(head, shipped, tmp_path)
    base, engine = read_draft(shipped, torch.float32), read_draft(pair.engine, torch.float32)
    assert pair.reference.config.markov_head_type == head
    theirs, ours = drafted(engine), drafted(pair.reference)
    assert torch.equal(theirs[0], ours[0])
    assert torch.allclose(theirs[1], ours[1], atol=1e-5)
    assert head == "vanilla" or not torch.equal(drafted(base)[0], ours[0])
    own = pair.reference.backbone.state_dict()
    assert all(torch.equal(own[name], each) for name, each in base.backbone.state_dict().items())
