"""Replaces the schedule again and again while something else runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

from dspark_sglang.demo.admin import CYCLE, Admin


@dataclass
class Changes:
    """What was written, and the revisions that workers were seen to run; complete at the end."""

    written: int = 0
    applied: set[int] = field(default_factory=set)


@contextmanager
def changing(operator: Admin, period_s: float, changes: Changes) -> Iterator[None]:
    """Writes the next schedule every `period_s` for the length of the block; counts in `changes`.

    Raises at the end of the block what went wrong with a write.
    """
    faults: list[Exception] = []
    ended = threading.Event()

    def change() -> None:
        try:
            for schedule in cycle(CYCLE):
                if ended.wait(period_s):
                    return
                operator.bind(schedule, f"changed every {period_s} s")
                changes.written += 1
                changes.applied.update(each.applied_revision for each in operator.workers())
        except Exception as fault:
            faults.append(fault)

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    changes.applied.discard(0)
    if faults:
        raise faults[0]
