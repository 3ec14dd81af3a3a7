"""The run card: what made a draft, next to its weights."""

import hashlib
import json
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dspark_sglang.training.config import TrainingConfig

PACKAGES = ("dspark-sglang", "torch", "transformers", "accelerate")


def run_card(config: TrainingConfig, data: Iterable[Path], figures: Any, course: Any) -> str:
    """A JSON document with config, versions, digests of the data, and the figures.

    Of paths it has the last part only: a card travels with the weights.
    """
    document = config.model_dump(mode="json", exclude={"prompts", "data", "output"})
    document["target"] = Path(config.target).name
    if older := document["draft"]["from_draft"]:
        document["draft"]["from_draft"] = Path(older).name
    card = {
        "config": document,
        "versions": {name: version(name) for name in PACKAGES},
        "machine": f"{platform.machine()}, {platform.python_version()}",
        "data": {path.name: digest(path) for path in data},
        "course": course,
        "figures": figures,
    }
    return json.dumps(card, indent=1) + "\n"


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
