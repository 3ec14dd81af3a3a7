"""Stage `fit`: descends the loss (12), looks at the held-out accept length, keeps the best draft.

The order of the samples and the anchors follow from seed, step and process alone, so a run that
is resumed from its checkpoint goes on as if it had never stopped.
"""

import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from accelerate import Accelerator

from dspark_sglang.training.accepting import Acceptance, acceptance, added
from dspark_sglang.training.blocks import blocks_at, drawn_anchors
from dspark_sglang.training.config import FitConfig
from dspark_sglang.training.learner import Learner
from dspark_sglang.training.objective import Losses, losses
from dspark_sglang.training.order import Order, generator_of
from dspark_sglang.training.states import Sample
from dspark_sglang.training.vocabulary import OUTSIDE

Log = Callable[[Mapping[str, float], int], None]


class Material(NamedTuple):
    """What a run learns from, by the samples' indices."""

    read: Callable[[int], Sample]
    train: Sequence[int]
    held_out: Mapping[str, Sequence[int]]
    """By domain; greedy answers."""


@dataclass
class Course:
    """Where a run stands; saved with its checkpoint."""

    step: int = 0
    seconds: float = 0.0
    best_accept_length: float = 0.0
    best_step: int = 0
    evaluations_since_best: int = 0


class Fit:
    """A run on some material, with its files in `folder`."""

    def __init__(
        self,
        trainee: Learner,
        material: Material,
        config: FitConfig,
        folder: Path,
    ) -> None:
        self.config, self.folder, self.material = config, folder, material
        self.accelerator = Accelerator(mixed_precision=config.precision)
        optimizer = torch.optim.AdamW(
            trainee.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.model, self.optimizer = self.accelerator.prepare(trainee, optimizer)
        self.course = Course()
        self.order = Order(material.train, config.seed + 1)

    @property
    def trainee(self) -> Learner:
        """The model without what several processes wrap around it."""
        return self.accelerator.unwrap_model(self.model)  # type: ignore[no-any-return]

    @property
    def is_over(self) -> bool:
        """Whether the schedule or the patience is at its end."""
        return self.share >= 1 or self.course.evaluations_since_best >= self.config.patience

    @property
    def share(self) -> float:
        """How much of the run is behind, 0..1."""
        limit = self.config.max_minutes
        by_time = 0.0 if limit is None else self.course.seconds / (60 * limit)
        return max(self.course.step / self.config.max_steps, by_time)

    def run(self, log: Log) -> None:
        """Goes on from where the run stands until it is over."""
        started = time.monotonic() - self.course.seconds
        while not self.is_over:
            parts = self.step()
            self.course.seconds = time.monotonic() - started
            if self.course.step % 20 == 0:
                log({name: float(part) for name, part in parts._asdict().items()}, self.course.step)
            if self.course.step % self.config.evaluate_every == 0 or self.share >= 1:
                self.evaluate(log)
                self.save()

    def step(self) -> Losses:
        """One step of the optimizer."""
        config = self.config
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * learning_rate_share(self.share, config.warmup)
        for turn in range(config.sequences_per_step):
            parts = self._losses(turn)
            self.accelerator.backward(parts.total / config.sequences_per_step)
        self.accelerator.clip_grad_norm_(self.model.parameters(), config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.course.step += 1
        return Losses(*(part.detach() for part in parts))

    def evaluate(self, log: Log) -> dict[str, Acceptance]:
        """Held-out acceptance by domain; keeps the weights when they are the best so far."""
        by_domain = {
            name: self._acceptance(indices) for name, indices in self.material.held_out.items()
        }
        figures = {f"accept_length/{name}": each.accept_length for name, each in by_domain.items()}
        mean = sum(figures.values()) / len(figures)
        log(
            {**figures, "accept_length": mean, "minutes": self.course.seconds / 60},
            self.course.step,
        )
        self.course.evaluations_since_best += 1
        if mean > self.course.best_accept_length:
            self.course.best_accept_length, self.course.best_step = mean, self.course.step
            self.course.evaluations_since_best = 0
            if self.accelerator.is_main_process:
                self.trainee.write(self.folder / "best")
        return by_domain

    def save(self) -> None:
        """The whole state of the run, in place of the one before."""
        newer = self.folder / "checkpoint.new"
        self.accelerator.save_state(str(newer))
        if self.accelerator.is_main_process:
            (newer / "course.json").write_text(json.dumps(asdict(self.course)))
            swap(newer, self.folder / "checkpoint")

    def resume(self) -> bool:
        """Takes up the run's checkpoint; False when there is none."""
        folder = self.folder / "checkpoint"
        if not folder.exists():
            return False
        self.accelerator.load_state(str(folder))
        self.course = Course(**json.loads((folder / "course.json").read_text()))
        return True

    def _losses(self, turn: int) -> Losses:
        config, number = self.config, self._number(turn)
        sample = self.material.read(self.order[number])
        anchors = drawn_anchors(
            sample, config.anchors_per_sequence, generator_of(config.seed, number)
        )
        blocks = blocks_at(sample, anchors, self.trainee.gamma)
        labels = self.trainee.vocabulary.labels(blocks.labels)
        with self.accelerator.autocast():
            out = self.model(sample, blocks)
            wanted = self.trainee.target_logits(sample, blocks)
        counts = blocks.is_inside & (labels != OUTSIDE)
        return losses(out, wanted, labels, counts, config)

    def _number(self, turn: int) -> int:
        """The running number of a sample over all steps and processes."""
        in_step = turn * self.accelerator.num_processes + self.accelerator.process_index
        each = self.config.sequences_per_step * self.accelerator.num_processes
        return int(self.course.step * each + in_step)

    def _acceptance(self, indices: Sequence[int]) -> Acceptance:
        with self.accelerator.autocast():
            return added(acceptance(self.trainee, self.material.read(index)) for index in indices)


def learning_rate_share(share: float, warmup: float) -> float:
    """A linear rise, then half a cosine down to zero."""
    if share < warmup:
        return (share + 1e-3) / (warmup + 1e-3)
    return 0.5 * (1 + math.cos(math.pi * min((share - warmup) / (1 - warmup), 1.0)))


def swap(newer: Path, older: Path) -> None:
    """Puts a folder in another's place; one whole folder exists at every moment."""
    aside = older.with_suffix(".old")
    shutil.rmtree(aside, ignore_errors=True)
    if older.exists():
        older.rename(aside)
    newer.rename(older)
    shutil.rmtree(aside, ignore_errors=True)
