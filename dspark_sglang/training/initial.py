"""Where a draft starts: the target's last layers, which already turn features into predictions.

Training from there reaches in minutes what random weights need hours for. The context projection
starts as the identity on the last captured layer; the norms of queries and keys, which Llama has
not, start at the size that these have in the target.
"""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from dspark_sglang.reference import Draft
from dspark_sglang.reference.layers import DraftLayer

PROJECTIONS = (
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
    "input_layernorm",
    "post_attention_layernorm",
)


def initialise(draft: nn.Module, seed: int) -> None:
    """Random weights for all, and a head that says nothing yet."""
    generator = torch.Generator().manual_seed(seed)
    for module in draft.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02, generator=generator)
    for name, parameter in draft.named_parameters():
        if name.endswith(("markov_w2.weight", "confidence_head.proj.weight", ".bias")):
            nn.init.zeros_(parameter)


@torch.no_grad()
def start_from_target(draft: Draft, model: Any, some_ids: Sequence[int]) -> None:
    """Copies the target's last layers and final norm; ValueError when their shapes differ.

    `some_ids` is text on which the sizes of queries and keys are measured.
    """
    decoder = model.get_decoder()
    count = len(draft.backbone.layers)
    if count > len(decoder.layers):
        raise ValueError(
            f"num_hidden_layers = {count}: the target has {len(decoder.layers)} layers to start "
            "from; take fewer, or set from_target_layers to false"
        )
    sizes = _query_key_sizes(model, some_ids, count)
    pairs = zip(draft.backbone.layers, decoder.layers[-count:], sizes, strict=True)
    for ours, theirs, (query, key) in pairs:
        _copy_layer(ours, theirs)
        attention = cast(DraftLayer, ours).self_attn
        attention.q_norm.weight.fill_(query)
        attention.k_norm.weight.fill_(key)
    copy_weight(draft.backbone.norm, decoder.norm)
    copy_weight(draft.backbone.hidden_norm, decoder.layers[-1].input_layernorm)
    width = draft.config.hidden_size
    draft.backbone.fc.weight[:, :-width].zero_()
    draft.backbone.fc.weight[:, -width:] = torch.eye(width)


@torch.no_grad()
def start_from_draft(draft: Draft, older: Draft) -> None:
    """Copies a shallower or equal draft; ValueError when other weights differ in shape.

    Layers that it has not come first and add nothing yet.
    """
    surplus = len(draft.backbone.layers) - len(older.backbone.layers)
    moved = {_shifted(name, surplus): weight for name, weight in older.state_dict().items()}
    wrong = [
        name
        for name, weight in draft.state_dict().items()
        if name in moved and moved[name].shape != weight.shape
    ]
    if surplus < 0 or wrong:
        raise ValueError(f"from_draft: depth or shapes do not fit: {', '.join(wrong) or 'depth'}")
    draft.load_state_dict(moved, strict=False)
    for layer in cast(list[DraftLayer], list(draft.backbone.layers)[:surplus]):
        nn.init.zeros_(layer.self_attn.o_proj.weight)
        nn.init.zeros_(layer.mlp.down_proj.weight)


def _shifted(name: str, surplus: int) -> str:
    head, _, rest = name.partition("backbone.layers.")
    if not rest or head:
        return name
    number, _, tail = rest.partition(".")
    return f"backbone.layers.{int(number) + surplus}.{tail}"


def _copy_layer(ours: nn.Module, theirs: nn.Module) -> None:
    for name in PROJECTIONS:
        copy_weight(ours.get_submodule(name), theirs.get_submodule(name))


def copy_weight(ours: Any, theirs: Any) -> None:
    """Copies a module's weight; ValueError when the shapes differ."""
    if ours.weight.shape != theirs.weight.shape:
        raise ValueError(
            f"from_target_layers: a weight of the target has shape {tuple(theirs.weight.shape)}, "
            f"the draft's {tuple(ours.weight.shape)}; set it to false"
        )
    ours.weight.copy_(theirs.weight)


def _query_key_sizes(model: Any, some_ids: Sequence[int], count: int) -> list[tuple[float, float]]:
    """Root mean square of queries and of keys in each of the last `count` layers."""
    seen = list[float]()
    hooks = [
        projection.register_forward_hook(lambda _m, _i, out: seen.append(_size(out)))
        for layer in model.get_decoder().layers[-count:]
        for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj)
    ]
    model(torch.tensor([list(some_ids)], device=model.device), use_cache=False)
    for hook in hooks:
        hook.remove()
    return list(zip(seen[::2], seen[1::2], strict=True))


def _size(out: Tensor) -> float:
    return float(out.float().square().mean().sqrt())
