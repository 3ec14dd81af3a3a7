"""An Eagle3 draft: fused features of the target, one layer, and chains that feed on themselves.

A chain at anchor a begins with the state of position a - 1, fused from the target, and takes the
anchor's token: its state then predicts x_{a+1}. From there it goes on with its own state and the
token before. As in SGLang, a cell's rotary position is that of its state, one before its token's.
"""

from typing import cast

import torch
from torch import Tensor, nn

from dspark_sglang.reference.layers import KeyValue
from dspark_sglang.training.eagle.config import EagleConfig
from dspark_sglang.training.eagle.layer import Chains, EagleLayer


class EagleDraft(nn.Module):
    """The trainable part; embedding and LM head are the target's and stay outside."""

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        self.config = config
        captured = len(config.target_layer_ids) * config.hidden_size
        self.fc = nn.Linear(captured, config.hidden_size, bias=False)
        self.midlayer = EagleLayer(config)
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def begun(self, embeds: Tensor, captured: Tensor, anchors: Tensor) -> Chains:
        """Chains at `anchors` `[A]`, each > 0, without a token yet.

        `embeds` `[S, H]` and `captured` `[S, m H]` are the sequence's; a chain sees nothing at or
        after its anchor.
        """
        features = self.fc(captured.to(self.fc.weight.dtype))
        cells = self.midlayer.cells(embeds[1:].to(self.fc.weight.dtype), features[:-1])
        places = torch.arange(len(cells), device=cells.device)
        context = self.midlayer.self_attn.keys_values(cells[None], places[None])
        keys = context.keys
        empty = keys.new_zeros(len(anchors), keys.shape[1], 0, keys.shape[3])
        mask = places < anchors[:, None] - 1
        own = KeyValue(empty, empty)
        return Chains(features[anchors - 1], anchors - 1, context, mask[:, None, None], own)

    def grown(self, chains: Chains, embeds: Tensor) -> Chains:
        """The chains after one more token each, of the embeddings `[A, H]`."""
        return cast(Chains, self.midlayer(embeds.to(self.fc.weight.dtype), chains))

    def predicting(self, chains: Chains) -> Tensor:
        """What the LM head reads `[A, H]` to predict the chains' next token."""
        return cast(Tensor, self.norm(chains.hidden))
