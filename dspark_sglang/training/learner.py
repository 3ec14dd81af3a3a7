"""What fitting and evaluation ask of a draft in training, whatever its architecture.

`Trainee` (DSpark, DFlash) and `EagleTrainee` are two; nothing else in the trainer tells them apart
but `makers`, which builds them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.training.blocks import Blocks
from dspark_sglang.training.states import Sample
from dspark_sglang.training.vocabulary import SubVocabulary


class Frozen(NamedTuple):
    """What the draft borrows from the target."""

    embedding: Tensor
    """`[V, H]`"""
    lm_head: Tensor
    """`[V' + 1, H]`"""


class Outputs(NamedTuple):
    """Teacher-forced predictions of A blocks."""

    logits: Tensor
    """`[A, gamma, V']`; of DSpark U_k + B_k (4)."""
    confidence_logits: Tensor | None
    """`[A, gamma]`"""


class Proposal(NamedTuple):
    """Greedily drafted tokens of A blocks."""

    tokens: Tensor
    """Places in the vocabulary, `[A, gamma]`."""
    confidence_logits: Tensor | None
    """`[A, gamma]`"""


class Learner(Protocol):
    """A draft in training, a module whose parameters are the draft's alone."""

    vocabulary: SubVocabulary

    @property
    def gamma(self) -> int:
        """Draft tokens a block."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """What is trained."""

    def forward(self, sample: Sample, blocks: Blocks) -> Outputs:
        """Predictions for the blocks, given the answer's own tokens before each position."""

    def target_logits(self, sample: Sample, blocks: Blocks) -> Tensor:
        """The target's logits for each label, `[A, gamma, V']`."""

    def proposed(self, sample: Sample, blocks: Blocks) -> Proposal:
        """What is drafted at the blocks' anchors, each token after the drafted ones before it."""

    def write(self, folder: Path) -> None:
        """Writes the draft as it is served."""


def target_logits(lm_head: Tensor, sample: Sample, blocks: Blocks) -> Tensor:
    """As in `Learner`, with the frozen `lm_head` `[V' + 1, H]`."""
    with torch.no_grad():
        wanted, places = torch.unique(blocks.sources, return_inverse=True)
        logits = F.linear(sample.final[wanted].to(lm_head.dtype), lm_head[:-1])
        return logits[places]
