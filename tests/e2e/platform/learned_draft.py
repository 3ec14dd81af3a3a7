"""Drafts that accept enough to be compared, from some steps of the project's own trainer.

They learn the few answers that they are asked for by heart. The shipped draft is no DFlash draft:
it predicts from the anchor's row on, DFlash from the row after it.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dspark_sglang.demo.model import Models
from dspark_sglang.training.answers import Answer
from dspark_sglang.training.config import TrainingConfig
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.run import Run

STEPS = 60


def dflash_settings(models: Models) -> dict[str, Any]:
    shipped = json.loads((models.draft / "config.json").read_text())
    kept = ("num_hidden_layers", "target_layer_ids", "mask_token_id")
    return {
        **{name: shipped[name] for name in kept},
        "architecture": "DFlashDraftModel",
        "markov_head_type": "none",
        "markov_rank": 0,
        "enable_confidence_head": False,
        "from_draft": str(models.draft),
    }


def eagle3_settings(models: Models) -> dict[str, Any]:
    shipped = json.loads((models.draft / "config.json").read_text())
    return {"architecture": "Eagle3", "target_layer_ids": shipped["target_layer_ids"]}


def learned(
    models: Models, draft: Mapping[str, Any], answers: Iterable[Answer], folder: Path
) -> Run:
    """A run over the target's own `answers`; its draft is in `folder / "fit" / "best"`."""
    (folder / "answers.jsonl").write_text(
        "".join(json.dumps(answer._asdict()) + "\n" for answer in answers)
    )
    run = Run(_config(models, draft, folder), Progress(print))
    run.stage("cache")
    run.stage("fit")
    return run


def _config(models: Models, draft: Mapping[str, Any], folder: Path) -> TrainingConfig:
    return TrainingConfig.model_validate(
        {
            "target": str(models.target),
            "dtype": "float32",
            "prompts": [],
            "output": str(folder),
            "draft": draft,
            "fit": {
                "max_steps": STEPS,
                "anchors_per_sequence": 24,
                "learning_rate": 1e-3,
                "cross_entropy": 1.0,
                "precision": "no",
                "vocabulary": 1000,
                "held_out": 1,
            },
        }
    )
