"""An Eagle3 draft in training, by "training-time test": it trains on its own states of each step.

All chains of a sequence grow in step: a pass over gamma steps, in which each chain's queries look
at the shared step-0 keys before it and at its own, so no mask of positions times steps is made.
"""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.training.blocks import Blocks
from dspark_sglang.training.eagle.checkpoint import Stored, write_eagle
from dspark_sglang.training.eagle.config import EagleConfig
from dspark_sglang.training.eagle.draft import EagleDraft
from dspark_sglang.training.eagle.layer import Chains
from dspark_sglang.training.learner import Frozen, Outputs, Proposal, target_logits
from dspark_sglang.training.states import Sample
from dspark_sglang.training.vocabulary import SubVocabulary


class EagleTrainee(nn.Module):
    """A `Learner`; the draft speaks over the vocabulary that it is trained on, also when served."""

    def __init__(self, config: EagleConfig, vocabulary: SubVocabulary, frozen: Frozen) -> None:
        super().__init__()
        self.vocabulary, self.draft = vocabulary, EagleDraft(config)
        self.embedding = nn.Buffer(frozen.embedding, persistent=False)
        self.lm_head = nn.Buffer(frozen.lm_head, persistent=False)

    @property
    def gamma(self) -> int:
        """As in `Learner`."""
        return self.draft.config.gamma

    def forward(self, sample: Sample, blocks: Blocks) -> Outputs:
        """As in `Learner`; there is no confidence."""
        chains, hidden = self._begun(sample, blocks), list[Tensor]()
        for tokens in blocks.previous.unbind(dim=1):
            chains = self.draft.grown(chains, F.embedding(tokens, self.embedding))
            hidden.append(self.draft.predicting(chains))
        return Outputs(self._logits(torch.stack(hidden, dim=1)), None)

    def target_logits(self, sample: Sample, blocks: Blocks) -> Tensor:
        """As in `Learner`."""
        return target_logits(self.lm_head, sample, blocks)

    def proposed(self, sample: Sample, blocks: Blocks) -> Proposal:
        """As in `Learner`."""
        chains, places = self._begun(sample, blocks), list[Tensor]()
        tokens = blocks.previous[:, 0]
        for _ in range(self.gamma):
            chains = self.draft.grown(chains, F.embedding(tokens, self.embedding))
            places.append(self._logits(self.draft.predicting(chains)).argmax(dim=-1))
            tokens = self.vocabulary.tokens(places[-1])
        return Proposal(torch.stack(places, dim=1), None)

    def write(self, folder: Path) -> None:
        """As in `Learner`."""
        write_eagle(Stored(self.draft, self.vocabulary), self.lm_head[:-1], folder)

    def _begun(self, sample: Sample, blocks: Blocks) -> Chains:
        embeds = F.embedding(sample.ids, self.embedding)
        return self.draft.begun(embeds, sample.captured, blocks.anchors)

    def _logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden.to(self.lm_head.dtype), self.lm_head[:-1])
