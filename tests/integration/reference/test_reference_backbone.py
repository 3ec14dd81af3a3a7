"""The block pass: attention against Hugging Face's, context cache against recomputation."""

import pytest
import torch
from reference_helpers import HIDDEN, VOCAB, bigram_draft, random_draft, tiny_config, tiny_target
from torch import Tensor
from transformers import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3RotaryEmbedding

from dspark_sglang.reference import DecodeOptions, Decoder, Draft, generate_plain
from dspark_sglang.reference.backbone import joined


def random_captured(draft: Draft, length: int, batch: int = 1) -> list[Tensor]:
    count = len(draft.config.target_layer_ids)
    return [torch.randn(batch, length, HIDDEN, dtype=torch.float64) for _ in range(count)]


def span(start: int, length: int) -> Tensor:
    return torch.arange(start, start + length)[None]


def test_attention_is_qwen3_over_features_and_block() -> None:
    """Qwen3's attention over the features followed by the block's rows, nothing masked."""
    draft = random_draft(tiny_config())
    ours = draft.backbone.layers[0].self_attn
    config = Qwen3Config(
        hidden_size=HIDDEN,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
        attn_implementation="eager",
    )
    theirs = Qwen3Attention(config, 0).double()
    theirs.load_state_dict(ours.state_dict())
    features = torch.randn(1, 5, HIDDEN, dtype=torch.float64)
    block = torch.randn(1, 3, HIDDEN, dtype=torch.float64)
    both = torch.cat([features, block], dim=1)
    cos_sin = Qwen3RotaryEmbedding(config)(both, span(0, 8))
    wanted = theirs(both, position_embeddings=cos_sin, attention_mask=None)[0][:, 5:]
    context = ours.keys_values(features, span(0, 5))
    torch.testing.assert_close(ours(block, span(5, 3), context, None), wanted, rtol=1e-5, atol=1e-5)


def test_features_are_the_normed_projection_of_the_layers_in_order() -> None:
    draft = random_draft(tiny_config())
    low, high = random_captured(draft, 4)
    weight = draft.backbone.fc.weight
    projected = low @ weight[:, :HIDDEN].T + high @ weight[:, HIDDEN:].T
    scale = (projected.pow(2).mean(dim=-1, keepdim=True) + 1e-6).rsqrt()
    wanted = projected * scale * draft.backbone.hidden_norm.weight
    torch.testing.assert_close(draft.backbone.features([low, high]), wanted)


def test_every_row_sees_the_context_and_the_whole_block() -> None:
    draft = random_draft(tiny_config())
    captured = random_captured(draft, 4)
    embeds = torch.randn(1, 3, HIDDEN, dtype=torch.float64)

    def rows(embeds: Tensor, captured: list[Tensor]) -> Tensor:
        return draft.backbone(embeds, span(4, 3), draft.backbone.context(captured, span(0, 4)))

    base = rows(embeds, captured)
    last_changed = embeds.clone()
    last_changed[0, 2] += 1
    assert ((rows(last_changed, captured) - base).abs().amax(dim=-1) > 1e-6).all()
    first_changed = [layer.clone() for layer in captured]
    first_changed[1][0, 0] += 1
    assert ((rows(embeds, first_changed) - base).abs().amax(dim=-1) > 1e-6).all()


def test_batch_equals_single_sequences() -> None:
    draft = random_draft(tiny_config())
    captured = random_captured(draft, 6, batch=2)
    table = torch.randn(draft.config.vocab_size, HIDDEN, dtype=torch.float64)
    anchors, start = torch.tensor([7, 8]), torch.tensor([6, 6])
    positions = span(0, 6).expand(2, -1)
    context = draft.backbone.context(captured, positions)
    hidden = draft.block_hidden(anchors, start, context, lambda ids: table[ids])
    for b in range(2):
        alone = draft.backbone.context([layer[b : b + 1] for layer in captured], positions[:1])
        single = draft.block_hidden(anchors[b : b + 1], start[:1], alone, lambda ids: table[ids])
        torch.testing.assert_close(hidden[b : b + 1], single)


def test_one_masked_pass_equals_many_blocks() -> None:
    """How a trainer uses the mask: two anchors of one sequence, each with its own past."""
    draft = random_draft(tiny_config())
    captured = random_captured(draft, 6)
    context = draft.backbone.context(captured, span(0, 6))
    embeds = torch.randn(1, 6, HIDDEN, dtype=torch.float64)
    starts = (2, 5)
    positions = torch.cat([span(start, 3) for start in starts], dim=1)
    mask = torch.zeros(1, 1, 6, 6 + 6, dtype=torch.bool)
    for number, start in enumerate(starts):
        own = slice(3 * number, 3 * number + 3)
        mask[..., own, :start] = True
        mask[..., own, 6 + own.start : 6 + own.stop] = True
    together = draft.backbone(embeds, positions, context, mask)
    for number, start in enumerate(starts):
        own = slice(3 * number, 3 * number + 3)
        past = draft.backbone.context([layer[:, :start] for layer in captured], span(0, start))
        alone = draft.backbone(embeds[:, own], span(start, 3), past)
        torch.testing.assert_close(together[:, own], alone)


def test_context_grows_by_appending() -> None:
    draft = random_draft(tiny_config())
    captured = random_captured(draft, 7)
    whole = draft.backbone.context(captured, span(0, 7))
    first = draft.backbone.context([layer[:, :4] for layer in captured], span(0, 4))
    rest = draft.backbone.context([layer[:, 4:] for layer in captured], span(4, 3))
    for one, other in zip(whole, joined(first, rest), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("from_anchor", [True, False])
def test_decoding_keeps_both_caches_equal_to_recomputation(from_anchor: bool) -> None:
    """After rounds with accepted and rejected tokens, context and target cache are as new."""
    target, prompt = tiny_target(), [3, 14, 15, 9]
    options = DecodeOptions(max_new_tokens=12)
    plain = generate_plain(prompt, target, options)
    config = tiny_config(sample_from_anchor=from_anchor, markov_rank=VOCAB)
    draft = bigram_draft(config, plain)
    decoder = Decoder(target, draft, options)
    emitted, accepted = [decoder.prefill(prompt)], set[int]()
    for _ in range(8):
        done = decoder.step()
        accepted.add(done.accepted)
        emitted += [*done.drafts[: done.accepted], done.bonus]
    assert len(accepted) > 1
    ids = torch.tensor([prompt + emitted[:-1]])
    assert decoder.position == ids.shape[1] == decoder.cache.get_seq_length()
    step = target.forward(ids, target.new_cache(), draft.config.target_layer_ids)
    with torch.no_grad():
        fresh = draft.backbone.context(step.captured, span(0, ids.shape[1]))
    for one, other in zip(decoder.context, fresh, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-7)


def test_rows_without_the_anchors() -> None:
    """DFlash layout: one row more than drafts, and the anchor's row is dropped."""
    draft = random_draft(tiny_config(sample_from_anchor=False))
    table = torch.randn(draft.config.vocab_size, HIDDEN, dtype=torch.float64)
    context = draft.backbone.context(random_captured(draft, 4), span(0, 4))
    hidden = draft.block_hidden(
        torch.tensor([9]), torch.tensor([4]), context, lambda ids: table[ids]
    )
    ids = torch.tensor([[9, 5, 5, 5]])
    wanted = draft.backbone(table[ids], span(4, 4), context)[:, 1:]
    torch.testing.assert_close(hidden, wanted)
