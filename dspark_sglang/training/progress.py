"""Progress of long stages: a bar in a terminal, a line now and then in a log, scalars for both."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rich.progress import track
from torch.utils.tensorboard import SummaryWriter

Item = TypeVar("Item")

SECONDS_BETWEEN_LINES = 20.0


class Progress:
    """Says how far a stage is; `say` also takes single lines."""

    def __init__(self, say: Callable[[str], None] = print) -> None:
        self.say = say

    def over(self, items: Sequence[Item], what: str) -> Iterator[Item]:
        """The items, one after the other."""
        if sys.stdout.isatty():
            yield from track(items, description=what)
        else:
            yield from self._logged(items, what)

    def _logged(self, items: Sequence[Item], what: str) -> Iterator[Item]:
        started = said = time.monotonic()
        for count, item in enumerate(items):
            yield item
            now = time.monotonic()
            if now - said > SECONDS_BETWEEN_LINES or count + 1 == len(items):
                said = now
                self.say(f"{what}: {count + 1} of {len(items)} after {now - started:.0f} s")


class Scalars:
    """Writes figures of a step for TensorBoard, and says some of them."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._progress = progress
        self._writer = SummaryWriter(str(folder))

    def __call__(self, figures: Mapping[str, float], step: int) -> None:
        """Takes the figures of a step."""
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)
        if "accept_length" in figures or step % 100 == 0:
            text = ", ".join(f"{name} {value:.3f}" for name, value in figures.items())
            self._progress.say(f"step {step}: {text}")

    def close(self) -> None:
        """Flushes what is written."""
        self._writer.close()
