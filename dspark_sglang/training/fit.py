"""Stage `fit`: descends the loss (12), looks at the held-out accept length, keeps the best draft.

The order of the samples and the anchors follow from seed, step and process alone, so a run that
is resumed from its checkpoint goes on as if it had never stopped.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast, gather_object

from dspark_sglang.training.accepting import Acceptance, acceptance, added
from dspark_sglang.training.blocks import blocks_at, drawn_anchors
from dspark_sglang.training.config import FitConfig
from dspark_sglang.training.course import Course, read_course, swap, whole_checkpoint
from dspark_sglang.training.learner import Learner
from dspark_sglang.training.objective import Losses, losses
from dspark_sglang.training.order import Order, generator_of
from dspark_sglang.training.states import Sample
from dspark_sglang.training.vocabulary import OUTSIDE

Log = Callable[[Mapping[str, float], int], None]

LOG_EVERY = 20
"""Steps between two logs of the loss."""


class Material(NamedTuple):
    """What a run learns from, by the samples' indices."""

    read: Callable[[int], Sample]
    train: Sequence[int]
    held_out: Mapping[str, Sequence[int]]
    """By domain; greedy answers."""


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

    def run(self, log: Log) -> None:
        """Goes on from where the run stands until it is over; the main process logs."""
        started = time.monotonic() - self.course.seconds
        log = log if self.accelerator.is_main_process else _silent
        while not self.course.is_over(self.config):
            parts = self.step()
            self.course.seconds = self._agreed(time.monotonic() - started)
            if self.course.step % LOG_EVERY == 0:
                log({name: float(part) for name, part in parts._asdict().items()}, self.course.step)
            at_end = self.course.share(self.config) >= 1
            if self.course.step % self.config.evaluate_every == 0 or at_end:
                self.evaluate(log)
                self.save()

    def step(self) -> Losses:
        """One step of the optimizer."""
        turns = self.config.sequences_per_step
        for group in self.optimizer.param_groups:
            group["lr"] = self.course.learning_rate(self.config)
        for turn in range(turns):
            is_last = turn == turns - 1
            with nullcontext() if is_last else self.accelerator.no_sync(self.model):
                parts = self._losses(turn)
                self.accelerator.backward(parts.total / turns)
        self.accelerator.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.course.step += 1
        return Losses(*(part.detach() for part in parts))

    def evaluate(self, log: Log) -> None:
        """Held-out acceptance by domain; keeps the weights when they are the best so far."""
        by_domain = self._acceptances()
        figures = {f"accept_length/{name}": each.accept_length for name, each in by_domain.items()}
        mean = sum(figures.values()) / len(figures)
        minutes = self.course.seconds / 60
        log({**figures, "accept_length": mean, "minutes": minutes}, self.course.step)
        if self.course.is_best(mean) and self.accelerator.is_main_process:
            self.trainee.write(self.folder / "best")

    def save(self) -> None:
        """The whole state of the run, in place of the one before."""
        newer = self.folder / "checkpoint.new"
        self.accelerator.save_state(str(newer))
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            self.course.write(newer)
            swap(newer, self.folder / "checkpoint")
        self.accelerator.wait_for_everyone()

    def resume(self) -> bool:
        """Takes up the run's checkpoint; False when there is none."""
        folder = whole_checkpoint(self.folder / "checkpoint")
        if folder is None:
            return False
        self.accelerator.load_state(str(folder))
        self.course = read_course(folder)
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

    def _agreed(self, seconds: float) -> float:
        """The main process's clock, where the clock decides anything."""
        if self.config.max_minutes is None:
            return seconds
        return float(broadcast(torch.tensor([seconds], device=self.accelerator.device)))

    def _acceptances(self) -> dict[str, Acceptance]:
        """By domain; the processes share the answers."""
        held_out = self.material.held_out
        all_of_them = [(name, index) for name, part in held_out.items() for index in part]
        mine = all_of_them[self.accelerator.process_index :: self.accelerator.num_processes]
        with self.accelerator.autocast():
            parts = gather_object(
                [(name, acceptance(self.trainee, self.material.read(i))) for name, i in mine]
            )
        return {name: added(each for of, each in parts if of == name) for name in held_out}


def _silent(_figures: Mapping[str, float], _step: int) -> None:
    """Logs nothing."""
