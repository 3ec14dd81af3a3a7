"""The main job on running servers: answers, a change of schedule in mid-run, answers again.

`__main__` sets the servers up; `report` says what came of it.
"""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from dspark_sglang.demo.admin import VERIFIES_ALL, VERIFIES_LITTLE, Admin, Schedule
from dspark_sglang.demo.batches import Batch, Traced, answer_batch, answer_traced, take_turns
from dspark_sglang.demo.prompts import DOMAINS
from dspark_sglang.demo.steps import Steps

APPLY_LIMIT_S = 30.0
UNDER_WAY = 0.3
"""Share of the time that a batch takes after which all of it is decoding and none is done."""


class Change(NamedTuple):
    """A schedule that was written while requests ran, and what came of both."""

    revision: int
    seconds: float
    """From the start of the write to the worker's confirmation that it runs it."""
    while_running: bool
    """Whether every request was still running when the worker confirmed."""
    answers: list[Traced]


class Run(NamedTuple):
    """All that the job brought: answers in the order of the prompts."""

    plain: list[Batch]
    """One prompt each, as in `before`."""
    before: list[Batch]
    first_revision: int
    change: Change
    after: list[Batch]


@dataclass(frozen=True)
class MainJob:
    """Two servers and the control service, with the worker id of the server that has DSPARK."""

    dspark_url: str
    plain_url: str
    worker_id: str
    admin: Admin
    max_tokens: int

    def run(self, texts: Sequence[str], steps: Steps) -> Run:
        """The whole job; `texts` are chats whose domains take turns."""
        size = len(DOMAINS)
        rounds = [texts[first : first + size] for first in range(0, len(texts), size)]
        steps("Write a schedule that verifies all over gRPC; wait until the worker runs it")
        first, seconds = self.apply(VERIFIES_ALL, "demo: flat cost table")
        steps.note(f"revision {first} runs {seconds:.2f} s after the write")
        steps("Answer math, code and chat prompts, one at a time, on both servers in turn")
        urls = {"DSPARK": self.dspark_url, "plain": self.plain_url}
        done = take_turns(urls, [[text] for text in texts], self.max_tokens, steps.note)
        steps("Replace policy, STS and SPS table over gRPC while requests run")
        change = self.change_under_load(rounds[0], VERIFIES_LITTLE, done["DSPARK"][0].seconds)
        steps.note(f"revision {change.revision} runs {change.seconds:.2f} s after the write")
        steps("Answer the same prompts under the new schedule")
        after = [answer_batch(self.dspark_url, group, self.max_tokens) for group in rounds]
        return Run(done["plain"], done["DSPARK"], first, change, after)

    def apply(self, schedule: Schedule, reason: str) -> tuple[int, float]:
        """Writes a schedule and waits until the worker runs it: (revision, seconds)."""
        started = time.monotonic()
        revision = self.admin.bind(schedule, reason)
        self.admin.wait_applied(self.worker_id, revision, APPLY_LIMIT_S)
        return revision, time.monotonic() - started

    def change_under_load(
        self, texts: Sequence[str], schedule: Schedule, batch_seconds: float
    ) -> Change:
        """Writes a schedule while the texts, which take about `batch_seconds`, are answered."""
        with ThreadPoolExecutor(len(texts)) as pool:
            running: list[Future[Traced]] = [
                pool.submit(answer_traced, self.dspark_url, text, self.max_tokens) for text in texts
            ]
            time.sleep(UNDER_WAY * batch_seconds)
            revision, seconds = self.apply(schedule, "demo: steep cost table")
            while_running = not any(each.done() for each in running)
            answers = [each.result() for each in running]
        return Change(revision, seconds, while_running, answers)
