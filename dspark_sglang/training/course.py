"""Where a run stands, how far that is, and its checkpoint's folder."""

import json
import math
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from dspark_sglang.training.config import FitConfig

FILE = "course.json"


@dataclass
class Course:
    """The state of a run beside its weights; saved with its checkpoint."""

    step: int = 0
    seconds: float = 0.0
    best_accept_length: float = 0.0
    best_step: int = 0
    evaluations_since_best: int = 0

    def share(self, config: FitConfig) -> float:
        """How much of the run is behind, 0..1."""
        by_time = self.seconds / (60 * config.max_minutes) if config.max_minutes else 0.0
        return max(self.step / config.max_steps, by_time)

    def is_over(self, config: FitConfig) -> bool:
        """Whether the schedule or the patience is at its end."""
        return self.share(config) >= 1 or self.evaluations_since_best >= config.patience

    def learning_rate(self, config: FitConfig) -> float:
        """A linear rise, then half a cosine down to zero."""
        share, warmup = self.share(config), config.warmup
        if share < warmup:
            return config.learning_rate * (share + 1e-3) / (warmup + 1e-3)
        behind = min((share - warmup) / (1 - warmup), 1.0)
        return config.learning_rate * 0.5 * (1 + math.cos(math.pi * behind))

    def is_best(self, accept_length: float) -> bool:
        """Takes the figure of an evaluation; whether it is the best so far."""
        if accept_length <= self.best_accept_length:
            self.evaluations_since_best += 1
            return False
        self.best_accept_length, self.best_step = accept_length, self.step
        self.evaluations_since_best = 0
        return True

    def write(self, folder: Path) -> None:
        """Into a checkpoint."""
        (folder / FILE).write_text(json.dumps(asdict(self)))


def read_course(folder: Path) -> Course:
    """From a checkpoint."""
    return Course(**json.loads((folder / FILE).read_text()))


def swap(newer: Path, older: Path) -> None:
    """Puts a folder in another's place; one whole folder exists at every moment."""
    aside = older.with_suffix(".old")
    shutil.rmtree(aside, ignore_errors=True)
    if older.exists():
        older.rename(aside)
    newer.rename(older)
    shutil.rmtree(aside, ignore_errors=True)


def whole_checkpoint(folder: Path) -> Path | None:
    """The checkpoint, or the one before if a crash came between the two renames of `swap`."""
    return next((path for path in (folder, folder.with_suffix(".old")) if path.exists()), None)
