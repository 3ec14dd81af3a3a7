"""Drafts to be compared: one config, the same data and budget, another draft each.

Each is trained in a folder of its own under the config's output and reads the config's data.
"""

from collections.abc import Mapping
from typing import Any

from dspark_sglang.training.config import AnyDraft, DraftSettings, EagleSettings, TrainingConfig

BLOCK_DRAFTERS: Mapping[str, Mapping[str, Any]] = {
    "dflash": {
        "architecture": "DFlashDraftModel",
        "markov_head_type": "none",
        "markov_rank": 0,
        "enable_confidence_head": False,
    },
    "vanilla": {"markov_head_type": "vanilla"},
    "gated": {"markov_head_type": "gated"},
    "rnn": {"markov_head_type": "rnn"},
}
"""What each sets in a DSpark draft's settings."""

DRAFTERS = ("eagle3", *BLOCK_DRAFTERS)


def as_drafter(config: TrainingConfig, name: str) -> TrainingConfig:
    """The run of drafter `name`; ValueError when `config` describes no DSpark draft."""
    draft = config.draft
    if not isinstance(draft, DraftSettings) or draft.architecture != "Qwen3DSparkModel":
        raise ValueError("draft.architecture: drafters are made from a Qwen3DSparkModel config")
    changes = {
        "draft": _settings(draft, name),
        "data": config.data or config.output,
        "output": config.output / name,
    }
    return config.model_copy(update=changes)


def _settings(draft: DraftSettings, name: str) -> AnyDraft:
    if name == "eagle3":
        return EagleSettings(
            architecture="Eagle3",
            target_layer_ids=draft.target_layer_ids,
            gamma=draft.gamma,
            from_target_layers=draft.from_target_layers,
        )
    return DraftSettings.model_validate({**draft.model_dump(), **BLOCK_DRAFTERS[name]})
