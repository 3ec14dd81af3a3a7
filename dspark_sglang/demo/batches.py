"""Batches of requests that run at once, and fair comparisons of two servers by them."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from dspark_sglang.demo.client import Answer, generate
from dspark_sglang.demo.tracing import new_trace_id, traceparent


class Traced(NamedTuple):
    """An answer and the trace id that its request was sent under."""

    answer: Answer
    trace_id: str


class Batch(NamedTuple):
    """Answers to texts that ran at once, and the seconds until the last was there."""

    answers: list[Traced]
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Of all answers together."""
        return sum(len(each.answer.token_ids) for each in self.answers) / self.seconds


def answer_traced(url: str, text: str, max_tokens: int, *, ignore_eos: bool = False) -> Traced:
    """One request under a trace id of its own."""
    trace_id = new_trace_id()
    answer = generate(
        url, text, max_tokens, traceparent=traceparent(trace_id), ignore_eos=ignore_eos
    )
    return Traced(answer, trace_id)


def answer_batch(
    url: str, texts: Sequence[str], max_tokens: int, *, ignore_eos: bool = False
) -> Batch:
    """All texts at once."""

    def answer(text: str) -> Traced:
        return answer_traced(url, text, max_tokens, ignore_eos=ignore_eos)

    started = time.perf_counter()
    with ThreadPoolExecutor(len(texts)) as pool:
        answers = list(pool.map(answer, texts))
    return Batch(answers, time.perf_counter() - started)


def take_turns(
    urls: Mapping[str, str],
    rounds: Sequence[Sequence[str]],
    max_tokens: int,
    say: Callable[[str], None],
    *,
    ignore_eos: bool = False,
) -> dict[str, list[Batch]]:
    """Every round of texts on every server, one server at a time, each in turn the first.

    `urls` has the server's name as key, and so has the result.
    """
    done: dict[str, list[Batch]] = {name: [] for name in urls}
    for number, texts in enumerate(rounds):
        order = list(urls)[:: -1 if number % 2 else 1]
        for name in order:
            batch = answer_batch(urls[name], texts, max_tokens, ignore_eos=ignore_eos)
            done[name].append(batch)
        speeds = (f"{name} {done[name][-1].tokens_per_second:.1f}" for name in urls)
        say(f"round {number + 1}: {', '.join(speeds)} tokens/s")
    return done


def median_ratio(ours: Sequence[Batch], other: Sequence[Batch]) -> float:
    """Median over the rounds of the ratio of tokens per second."""
    pairs = zip(ours, other, strict=True)
    return statistics.median(
        mine.tokens_per_second / theirs.tokens_per_second for mine, theirs in pairs
    )
