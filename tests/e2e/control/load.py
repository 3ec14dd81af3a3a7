"""Steady load on a server, with the time of each request, for tests of what a change does."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from dspark_sglang.demo.client import Answer, generate, parse_answer


class Done(NamedTuple):
    """A finished request; times of `time.monotonic`."""

    started: float
    ended: float
    answer: Answer


class Load:
    """What came of the requests so far; any failure fails the test that looks."""

    def __init__(self) -> None:
        self.done: list[Done] = []
        self.failures: list[Exception] = []

    def started_after(self, moment: float) -> list[Done]:
        return [each for each in list(self.done) if each.started >= moment]

    def wait_for(self, count: int, started_after: float, limit_s: float = 120) -> list[Done]:
        """At least `count` requests that started after a moment and have ended."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            assert not self.failures, self.failures
            found = self.started_after(started_after)
            if len(found) >= count:
                return found
            time.sleep(0.05)
        raise AssertionError(f"only {len(found)} of {count} requests in {limit_s} s")


@contextmanager
def steady_load(
    url: str, texts: Sequence[str], max_tokens: int, concurrency: int
) -> Iterator[Load]:
    """Requests over and over, `concurrency` at a time, until the end of the block."""
    load, stop = Load(), threading.Event()

    def client(first: int) -> None:
        number = first
        while not stop.is_set():
            started = time.monotonic()
            try:
                answer = generate(url, texts[number % len(texts)], max_tokens)
            except Exception as error:
                load.failures.append(error)
                return
            load.done.append(Done(started, time.monotonic(), answer))
            number += concurrency

    threads = [threading.Thread(target=client, args=(n,)) for n in range(concurrency)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not load.failures, load.failures


@contextmanager
def streamed(url: str, text: str, max_tokens: int, trace_id: str) -> Iterator[Iterator[Answer]]:
    """A greedy completion as it comes: after each part, all that came so far."""
    sampling = {"max_new_tokens": max_tokens, "temperature": 0.0}
    body = json.dumps({"text": text, "stream": True, "sampling_params": sampling}).encode()
    headers = {
        "Content-Type": "application/json",
        "traceparent": f"00-{trace_id}-{'cd' * 8}-01",
    }
    request = urllib.request.Request(f"{url}/generate", body, headers)
    with urllib.request.urlopen(request, timeout=300) as response:
        parts = (line.removeprefix(b"data: ").strip() for line in response)
        yield (parse_answer(json.loads(part), 0.0) for part in parts if part.startswith(b"{"))
