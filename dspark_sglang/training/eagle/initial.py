"""Where an Eagle3 draft may start: the target's last layer, on the fused features.

The projection of features starts as the identity on the last captured layer. In the attention,
the target's projections read the hidden half; what reads the embeddings stays random.
"""

from dataclasses import replace
from typing import Any, cast

import torch
from torch import nn

from dspark_sglang.training.eagle.draft import EagleDraft
from dspark_sglang.training.initial import copy_weight

EQUAL = (
    "self_attn.o_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
    "post_attention_layernorm",
)
"""Parts of the layer that are the target's as they are."""


@torch.no_grad()
def start_eagle_from_target(draft: EagleDraft, model: Any) -> None:
    """Copies the target's last layer and final norm; ValueError when their shapes differ."""
    decoder, ours, width = model.get_decoder(), draft.midlayer, draft.config.hidden_size
    theirs = decoder.layers[-1]
    for name in EQUAL:
        copy_weight(ours.get_submodule(name), theirs.get_submodule(name))
    for name in ("q_proj", "k_proj", "v_proj"):
        projection = cast(nn.Linear, ours.self_attn.get_submodule(name))
        projection.weight[:, width:] = theirs.self_attn.get_submodule(name).weight
    copy_weight(ours.hidden_norm, theirs.input_layernorm)
    copy_weight(draft.norm, decoder.norm)
    draft.fc.weight[:, :-width].zero_()
    draft.fc.weight[:, -width:] = torch.eye(width)


def start_eagle_from_draft(draft: EagleDraft, older: EagleDraft) -> None:
    """Copies another draft, of any gamma; ValueError when it was made for another target."""
    ours, theirs = (replace(each.config, gamma=1) for each in (draft, older))
    if ours != theirs:
        raise ValueError(f"from_draft: an Eagle3 draft of {theirs} does not fit {ours}")
    draft.load_state_dict(older.state_dict())
