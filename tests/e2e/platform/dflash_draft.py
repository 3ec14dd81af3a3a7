"""A DFlash draft that accepts enough to be compared, from some steps of the project's own trainer.

The shipped DSpark draft predicts from the anchor's row on, DFlash from the row after it: without
its heads it runs under DFLASH, but accepts next to nothing. It learns the few answers by heart.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from dspark_sglang.demo.model import Models
from dspark_sglang.training.answers import Answer
from dspark_sglang.training.config import TrainingConfig
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.run import Run

STEPS = 60


def dflash_draft(models: Models, answers: Iterable[Answer], folder: Path) -> Path:
    """The folder of a draft that was trained on the target's own `answers`."""
    (folder / "answers.jsonl").write_text(
        "".join(json.dumps(answer._asdict()) + "\n" for answer in answers)
    )
    run = Run(_config(models, folder), Progress(print))
    run.stage("cache")
    run.stage("fit")
    return folder / "fit" / "best"


def _config(models: Models, folder: Path) -> TrainingConfig:
    shipped = json.loads((models.draft / "config.json").read_text())
    return TrainingConfig.model_validate(
        {
            "target": str(models.target),
            "dtype": "float32",
            "prompts": [],
            "output": str(folder),
            "draft": {
                "architecture": "DFlashDraftModel",
                "num_hidden_layers": shipped["num_hidden_layers"],
                "target_layer_ids": shipped["target_layer_ids"],
                "mask_token_id": shipped["mask_token_id"],
                "markov_head_type": "none",
                "markov_rank": 0,
                "enable_confidence_head": False,
                "from_draft": str(models.draft),
            },
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
