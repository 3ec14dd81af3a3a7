"""What an Eagle3 draft is made of: the widths of its target, and which of its layers it reads."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from dspark_sglang.training.config import EagleSettings
from dspark_sglang.training.target import captured_layers, widths


@dataclass(frozen=True, kw_only=True)
class EagleConfig:
    """Architecture of an Eagle3 draft of one layer. ValueError names every bad field."""

    hidden_size: int
    """Width H, equal to the target's: embedding and LM head are shared."""
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int
    num_target_layers: int
    target_layer_ids: tuple[int, ...]
    """Target layers whose outputs are fused, counted from 0."""
    gamma: int
    """Draft tokens a chain."""

    def __post_init__(self) -> None:
        found = list(_problems(self))
        if found:
            raise ValueError("Eagle3 config: " + "; ".join(found))


def eagle_config(target: Any, settings: EagleSettings) -> EagleConfig:
    """The draft's config for a Hugging Face text config `target`."""
    layers = captured_layers(target, settings.target_layer_ids)
    return EagleConfig(**widths(target), target_layer_ids=layers, gamma=settings.gamma)


def _problems(config: EagleConfig) -> Iterator[str]:
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name != "target_layer_ids" and value <= 0:
            yield f"{field.name} = {value} must be positive"
    if config.num_key_value_heads > 0 and config.num_attention_heads % config.num_key_value_heads:
        yield "num_attention_heads must be a multiple of num_key_value_heads"
    ids, count = config.target_layer_ids, config.num_target_layers
    if not ids or len(set(ids)) != len(ids) or any(not 0 <= i < count for i in ids):
        yield f"target_layer_ids = {list(ids)} must be different layers in [0, {count})"
