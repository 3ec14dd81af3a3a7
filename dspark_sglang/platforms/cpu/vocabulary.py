"""Drafts over the tokens that a draft was trained on, as `reference.vocabulary` says.

Base logits, bias and choice of a draft token run over V' tokens instead of V. The drafted places
become tokens again before anybody else sees them, and so do the logits that a sampled acceptance
reads. Everything is made anew after upstream has replaced weights.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.platforms.cpu import packing
from dspark_sglang.reference.vocabulary import drafted_tokens

_ATTRIBUTE = "_dspark_vocabulary"


class DraftVocabulary(NamedTuple):
    """V' tokens of V, and the parts of draft and target that speak of them."""

    ids: Tensor
    """`[V']`"""
    size: int
    """V"""
    head: Any
    """The draft's head over places, see `PartialHead`."""
    lm_head: Tensor
    """The target's rows, packed."""

    def spread(self, logits: Tensor) -> Tensor:
        """Logits `[..., V']` over the whole vocabulary, -inf for other tokens."""
        whole = logits.new_full((*logits.shape[:-1], self.size), -torch.inf)
        return whole.index_copy_(-1, self.ids, logits)


class Kept(NamedTuple):
    """What a draft model keeps."""

    generation: int
    vocabulary: DraftVocabulary | None


class PartialHead:
    """Mixed into a copy of the draft's head: it takes places and biases V' tokens.

    Place p < V' is token ids[p], place V' + t is token t: an anchor may be any token.
    """

    def get_prev_embeddings(self, places: Tensor) -> Tensor:
        """W1 of the tokens at `places`."""
        tokens = self.tokens_of[places.long()]  # type: ignore[attr-defined]
        return super().get_prev_embeddings(tokens)  # type: ignore[misc,no-any-return]

    def project_bias(self, latent: Tensor) -> Tensor:
        """B over V' tokens."""
        return F.linear(latent, self.rows)  # type: ignore[attr-defined]


def vocabulary_of(draft_model: Any) -> DraftVocabulary | None:
    """The model's vocabulary, found at first use; None when it drafts all tokens."""
    kept: Kept | None = draft_model.__dict__.get(_ATTRIBUTE)
    if kept is None or kept.generation != packing.generation():
        kept = Kept(packing.generation(), _found(draft_model))
        draft_model.__dict__[_ATTRIBUTE] = kept
        draft_model.markov_head.__dict__[_ATTRIBUTE] = kept
    return kept.vocabulary


def base_logits(
    original: Callable[..., Any], draft_model: Any, hidden: Tensor
) -> tuple[Tensor, Tensor]:
    """In place of `DSparkDraftMixin.compute_base_logits`: over V' tokens where these are few."""
    vocabulary = vocabulary_of(draft_model)
    if vocabulary is None:
        return original(draft_model, hidden)  # type: ignore[no-any-return]
    scale = draft_model.logits_mup_width_multiplier
    scaled = hidden / scale if scale else hidden
    return packing.product(scaled.to(vocabulary.lm_head.dtype), vocabulary.lm_head), hidden


def sample_block(original: Callable[..., Any], **facts: Any) -> Any:
    """In place of `dspark_draft.sample_draft_block`; a batch without sampling keeps no logits."""
    kept: Kept | None = facts["markov_head"].__dict__.get(_ATTRIBUTE)
    if kept is None or kept.vocabulary is None:
        return original(**facts)
    vocabulary, sampling = kept.vocabulary, facts["sampling_info"]
    is_greedy = sampling is None or sampling.is_all_greedy
    facts["greedy_draft"] = facts["greedy_draft"] or is_greedy
    facts["markov_head"] = vocabulary.head
    facts["anchor_tokens"] = facts["anchor_tokens"] + len(vocabulary.ids)
    block = original(**facts)
    logits = block.corrected_logits
    return msgspec.structs.replace(
        block,
        draft_tokens=vocabulary.ids[block.draft_tokens],
        corrected_logits=None if logits is None else vocabulary.spread(logits),
    )


def _found(draft_model: Any) -> DraftVocabulary | None:
    head, lm_head = draft_model.markov_head, draft_model.lm_head
    tokens = drafted_tokens(head)
    is_plain = type(getattr(lm_head, "quant_method", None)).__name__ in packing.PLAIN_HEADS
    if tokens is None or not is_plain or getattr(lm_head, "tp_size", 1) > 1:
        return None
    rows = lm_head.weight.detach()[tokens].contiguous()
    return DraftVocabulary(tokens, head.vocab_size, _partial(head, tokens), packing.pack(rows))


def _partial(head: Any, tokens: Tensor) -> Any:
    partial = copy.copy(head)
    partial.__dict__["tokens_of"] = torch.cat([tokens, torch.arange(head.vocab_size)])
    partial.__dict__["rows"] = head.markov_w2.weight.detach()[tokens].contiguous()
    kind = type(head)
    partial.__class__ = type(f"Partial{kind.__name__}", (PartialHead, kind), {})
    return partial
