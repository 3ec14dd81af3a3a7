"""A whole draft: backbone, sequential head and confidence head, with the block's row layout.

A block at anchor position a feeds [token a, mask, ..., mask] at positions a, a+1, ...; row k of
the result stands for draft token x_k, at position a+k. When the anchor predicts, the row of x_k
is the one at position a+k-1; else (DFlash) the one at its own position.
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from dspark_sglang.reference.backbone import Backbone, Context
from dspark_sglang.reference.confidence import ConfidenceHead
from dspark_sglang.reference.config import DraftConfig
from dspark_sglang.reference.heads import SequentialHead, build_head


class Draft(nn.Module):
    """The trainable part of DSpark; embedding and LM head are the target's and stay outside."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.config = config
        self.backbone = Backbone(config)
        self.markov_head = build_head(config)
        self.confidence_head = ConfidenceHead(config) if config.enable_confidence_head else None

    @property
    def head(self) -> SequentialHead:
        """The sequential head, typed."""
        return cast(SequentialHead, self.markov_head)

    def block_hidden(
        self, anchors: Tensor, start: Tensor, context: Context, embed: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """h_1..h_gamma `[B, gamma, H]` of one block a sequence.

        `anchors` `[B]` are the tokens at positions `start` `[B]`, `context` covers the positions
        before, `embed` is the target's embedding.
        """
        rows = self.config.num_block_rows
        ids = torch.full((len(anchors), rows), self.config.mask_token_id, device=anchors.device)
        ids[:, 0] = anchors
        positions = start[:, None] + torch.arange(rows, device=start.device)
        return self.predicting(self.backbone(embed(ids), positions, context))

    def predicting(self, hidden: Tensor) -> Tensor:
        """h_1..h_gamma `[B, gamma, H]` among the block's rows `hidden` `[B, R, H]`."""
        return hidden[:, self.config.num_block_rows - self.config.gamma :]

    def confidence_logits(self, hidden: Tensor, anchors: Tensor, tokens: Tensor) -> Tensor | None:
        """Logits of c_1..c_gamma (7), `[B, gamma]`, for drafted `tokens` `[B, gamma]`.

        None without a confidence head.
        """
        if self.confidence_head is None:
            return None
        previous = torch.cat([anchors[:, None], tokens[:, :-1]], dim=1)
        return cast(Tensor, self.confidence_head(hidden, self.head.embed(previous)))
