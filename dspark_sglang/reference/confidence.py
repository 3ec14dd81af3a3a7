"""The confidence head (7) and its calibration: how likely each draft token is to survive.

Upstream: `models/dspark.py`, `DSparkConfidenceHead`.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.reference.config import DraftConfig


class ConfidenceHead(nn.Module):
    """The logit of c_k = sigmoid(w . [h_k; W1[x_{k-1}]] + b), always in float32, as upstream."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.with_markov = config.confidence_head_with_markov
        self.proj = nn.Linear(
            config.hidden_size + (config.markov_rank if self.with_markov else 0), 1
        )

    def forward(self, hidden: Tensor, embedding: Tensor) -> Tensor:
        """Logits `[...]` from h_k `[..., H]` and W1[x_{k-1}] `[..., r]`."""
        parts = [hidden, embedding.to(hidden.dtype)] if self.with_markov else [hidden]
        weight, bias = self.proj.weight.float(), self.proj.bias.float()
        return F.linear(torch.cat(parts, dim=-1).float(), weight, bias).squeeze(-1)


def calibrated(logits: Tensor, temperatures: Tensor | None = None) -> Tensor:
    """Confidences `[..., gamma]`: sigmoid(logits / T), T `[gamma]` being the STS table.

    A temperature per position keeps the order of the logits of that position. Their product
    over a prefix is its survival probability.
    """
    return torch.sigmoid(logits if temperatures is None else logits / temperatures)
