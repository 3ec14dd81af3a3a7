"""What a draft takes from its target: widths, vocabulary, and which layers it reads."""

from typing import Any

from dspark_sglang.reference import DraftConfig
from dspark_sglang.training.config import DraftSettings

CAPTURED_LAYERS = 5


def draft_config(target: Any, settings: DraftSettings) -> DraftConfig:
    """The draft's config for a Hugging Face text config `target`."""
    return DraftConfig(
        **widths(target),
        architecture=settings.architecture,
        sample_from_anchor=settings.architecture != "DFlashDraftModel",
        num_hidden_layers=settings.num_hidden_layers,
        target_layer_ids=captured_layers(target, settings.target_layer_ids),
        gamma=settings.gamma,
        mask_token_id=settings.mask_token_id,
        markov_head_type=settings.markov_head_type,
        markov_rank=settings.markov_rank,
        enable_confidence_head=settings.enable_confidence_head,
        confidence_head_with_markov=settings.enable_confidence_head and settings.markov_rank > 0,
    )


def widths(target: Any) -> dict[str, Any]:
    """What every draft has in common with its target, by the names of `DraftConfig`."""
    heads = target.num_attention_heads
    return {
        "hidden_size": target.hidden_size,
        "num_attention_heads": heads,
        "num_key_value_heads": target.num_key_value_heads,
        "head_dim": getattr(target, "head_dim", None) or target.hidden_size // heads,
        "intermediate_size": target.intermediate_size,
        "vocab_size": target.vocab_size,
        "rms_norm_eps": target.rms_norm_eps,
        "rope_theta": rope_theta(target),
        "max_position_embeddings": target.max_position_embeddings,
        "num_target_layers": target.num_hidden_layers,
    }


def captured_layers(target: Any, asked: tuple[int, ...] | None) -> tuple[int, ...]:
    """The layers that a draft reads, spread over the target when none are asked for."""
    return tuple(asked or spread_layers(target.num_hidden_layers))


def spread_layers(count: int) -> tuple[int, ...]:
    """Five layers from the second to the third last, [1, 9, 17, 25, 33] of 36; fewer if small."""
    first, last = min(1, count - 2), max(count - 3, 0)
    steps = [
        first + (last - first) * place / (CAPTURED_LAYERS - 1) for place in range(CAPTURED_LAYERS)
    ]
    return tuple(sorted({round(step) for step in steps}))


def rope_theta(target: Any) -> float:
    """The rotary base; where layers differ, that of full attention."""
    parameters = getattr(target, "rope_parameters", None) or {}
    parameters = parameters.get("full_attention", parameters)
    return float(parameters.get("rope_theta") or getattr(target, "rope_theta", 10000.0))
