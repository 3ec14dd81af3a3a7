"""The drafters that are compared: trained ones in a folder, else trained here, and the shipped one.

Training here takes prompts of the package's own, so that a fresh clone can do it: one config, the
same answers, steps and starting point for every drafter (`training.drafters`).
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from dspark_sglang.demo.model import Models
from dspark_sglang.demo.processes import ProcessFailed
from dspark_sglang.demo.steps import Steps
from dspark_sglang.training.own_prompts import DOMAINS

SHIPPED = "shipped"


@dataclass(frozen=True)
class Budget:
    """What each drafter is trained with when none are given."""

    prompts: int
    """Of each domain."""
    steps: int


def trained_in(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """The drafters of a trainer's output folder. ValueError names what is missing."""
    found = {name: folder / name / "fit" / "best" for name in names}
    missing = [name for name, path in found.items() if not (path / "config.json").exists()]
    if missing:
        raise ValueError(
            f"{folder} has no draft for {', '.join(missing)} (NAME/fit/best); train them with "
            "python -m dspark_sglang.training --config FILE --drafter NAME, or leave the folder out"
        )
    return found


def train(
    names: Sequence[str], models: Models, budget: Budget, folder: Path, steps: Steps
) -> dict[str, Path]:
    """Trains each drafter, going on where an earlier call stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "drafters.yaml"
    config.write_text(yaml.safe_dump(_document(models, budget)))
    steps(f"Prompts of our own, {budget.prompts} of each domain, answered by the target")
    prompts = [f"--{domain}={budget.prompts}" for domain in DOMAINS]
    _run("dspark_sglang.training.own_prompts", *prompts, "--output", str(folder / "own.jsonl"))
    _run("dspark_sglang.training", "--config", str(config), "--stage", "generate", "cache")
    for name in names:
        steps(f"{name}: {budget.steps} steps of training")
        _run("dspark_sglang.training", "--config", str(config), "--drafter", name, "--stage", "fit")
    return trained_in(folder, names)


def _run(module: str, *arguments: str) -> None:
    environ = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2")}
    done = subprocess.run([sys.executable, "-m", module, *arguments], check=False, env=environ)
    if done.returncode:
        raise ProcessFailed(f"{module} {' '.join(arguments)} ended with {done.returncode}")


def _document(models: Models, budget: Budget) -> dict[str, object]:
    return {
        "target": str(models.target),
        "prompts": ["own.jsonl"],
        "output": ".",
        "answers": {"max_new_tokens": 128, "batch_size": 128},
        "draft": {
            "num_hidden_layers": 3,
            "target_layer_ids": [1, 8, 15, 22, 28],
            "mask_token_id": 5,
            "markov_rank": 64,
        },
        "fit": {
            "max_steps": budget.steps,
            "cross_entropy": 1.0,
            "l1": 0.5,
            "vocabulary": 6000,
            "evaluate_every": max(budget.steps // 4, 1),
        },
    }
