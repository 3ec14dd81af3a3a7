"""The parallel half of DSpark: one pass that gives a hidden state for every row of a block.

Context features (2), their injection as keys and values of every draft layer (3), and the block
pass. Upstream: `models/dflash.py`, `DFlashDraftModel`.
"""

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from dspark_sglang.reference.config import DraftConfig
from dspark_sglang.reference.layers import DraftLayer, KeyValue

Context = tuple[KeyValue, ...]
"""Keys and values of the context, one entry a draft layer."""


class Backbone(nn.Module):
    """Everything of a draft before the LM head."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        captured = len(config.target_layer_ids) * config.hidden_size
        self.fc = nn.Linear(captured, config.hidden_size, bias=False)
        self.hidden_norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.layers = nn.ModuleList(DraftLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def features(self, captured: Sequence[Tensor]) -> Tensor:
        """Context features (2): RMSNorm(W_c [h^{l_1}; ...; h^{l_m}]), `[B, S, H]`.

        `captured` holds the outputs of the target layers l_1..l_m, each `[B, S, H]`.
        """
        stacked = torch.cat(list(captured), dim=-1).to(self.fc.weight.dtype)
        return self.hidden_norm(self.fc(stacked))  # type: ignore[no-any-return]

    def context(self, captured: Sequence[Tensor], positions: Tensor) -> Context:
        """Injection (3): each layer's keys and values of the features at `positions` `[B, S]`.

        They depend on nothing but the position itself, so a longer context is the old one
        followed by the new positions (`joined`): that is the draft's whole KV cache.
        """
        features = self.features(captured)
        layers = cast(Iterable[DraftLayer], self.layers)
        return tuple(layer.self_attn.keys_values(features, positions) for layer in layers)

    def forward(
        self, embeds: Tensor, positions: Tensor, context: Context, mask: Tensor | None = None
    ) -> Tensor:
        """Block pass: final normed hidden states `[B, Q, H]` of the rows `embeds` `[B, Q, H]`.

        For one block at anchor position a: `positions` a..a+Q-1 and a context of the positions
        before a; no mask, since the rows see all of it and each other. With a mask
        (`Attention.forward`) one pass serves many blocks of a sequence, as training does.
        """
        hidden = embeds.to(self.fc.weight.dtype)
        for layer, key_value in zip(self.layers, context, strict=True):
            hidden = layer(hidden, positions, key_value, mask)
        return self.norm(hidden)  # type: ignore[no-any-return]


def joined(context: Context, newer: Context) -> Context:
    """The context of both runs of positions."""
    return tuple(old.followed_by(new) for old, new in zip(context, newer, strict=True))
