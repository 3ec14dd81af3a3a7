"""A DSpark or DFlash draft in training: one pass over many blocks of a sequence.

It may be over part of the vocabulary, and is spread over the whole one when it is written.
"""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.reference import Draft, DraftConfig, write_draft
from dspark_sglang.reference.backbone import Context
from dspark_sglang.reference.heads import BlockRows, teacher_forced_logits
from dspark_sglang.reference.sampling import draft_block
from dspark_sglang.training.blocks import Blocks, inputs_at
from dspark_sglang.training.learner import Frozen, Outputs, Proposal, target_logits
from dspark_sglang.training.states import Sample
from dspark_sglang.training.vocabulary import SubVocabulary


class Trainee(nn.Module):
    """A `Learner` of a block draft; only the draft has parameters."""

    def __init__(self, full: DraftConfig, vocabulary: SubVocabulary, frozen: Frozen) -> None:
        super().__init__()
        self.full, self.vocabulary = full, vocabulary
        self.draft = Draft(vocabulary.config(full))
        self.embedding = nn.Buffer(frozen.embedding, persistent=False)
        self.lm_head = nn.Buffer(frozen.lm_head, persistent=False)

    @property
    def gamma(self) -> int:
        """As in `Learner`."""
        return self.full.gamma

    def forward(self, sample: Sample, blocks: Blocks) -> Outputs:
        """As in `Learner`."""
        rows = self.block_rows(sample, blocks)
        previous = self.vocabulary.rows(blocks.previous)
        logits = teacher_forced_logits(self.draft.head, rows, previous)[..., :-1]
        if self.draft.confidence_head is None:
            return Outputs(logits, None)
        embedding = self.draft.head.embed(previous)
        return Outputs(logits, self.draft.confidence_head(rows.hidden, embedding))

    def block_rows(self, sample: Sample, blocks: Blocks) -> BlockRows:
        """Hidden states and backbone logits of the blocks' gamma predictions."""
        inputs = inputs_at(sample, blocks.anchors, self.full)
        embeds = F.embedding(inputs.ids, self.embedding)
        context = self._context(sample)
        hidden = self.draft.backbone(embeds, inputs.positions, context, inputs.mask)
        hidden = self.draft.predicting(hidden)
        return BlockRows(hidden, F.linear(hidden.to(self.lm_head.dtype), self.lm_head))

    def target_logits(self, sample: Sample, blocks: Blocks) -> Tensor:
        """As in `Learner`."""
        return target_logits(self.lm_head, sample, blocks)

    def proposed(self, sample: Sample, blocks: Blocks) -> Proposal:
        """As in `Learner`."""
        rows = self.block_rows(sample, blocks)
        rows.logits[..., -1] = -torch.inf  # the row for tokens outside the vocabulary
        first = self.vocabulary.rows(blocks.previous[:, 0])
        tokens = draft_block(self.draft.head, rows, first, 0.0).tokens
        return Proposal(tokens, self.draft.confidence_logits(rows.hidden, first, tokens))

    def write(self, folder: Path) -> None:
        """As in `Learner`: over the whole vocabulary."""
        write_draft(self.spread(), folder)

    def spread(self) -> Draft:
        """The draft over the whole vocabulary."""
        return self.vocabulary.spread(self.draft, self.full)

    def _context(self, sample: Sample) -> Context:
        """The context of the whole sequence, which all blocks share."""
        captured = sample.captured.to(self.embedding.dtype)[None]
        positions = torch.arange(captured.shape[1], device=captured.device)[None]
        return self.draft.backbone.context([captured], positions)
