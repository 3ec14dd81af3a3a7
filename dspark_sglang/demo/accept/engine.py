"""The engine's side: SGLang servers that decode the same prompts, and their speed.

Blocks are verified whole (static mode), so that every position counts alike. Speed is measured at
one request at a time against a plain server, the two in turn.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from dspark_sglang.demo.accept.kept import Part
from dspark_sglang.demo.accept.measured import ENGINE, Key, Measured, of_histogram
from dspark_sglang.demo.batches import median_ratio, take_turns
from dspark_sglang.demo.client import Chat, generate
from dspark_sglang.demo.model import Models
from dspark_sglang.demo.prompts import Prompt
from dspark_sglang.demo.servers import EngineOptions, chain_flags, engine
from dspark_sglang.demo.steps import Steps

ALGORITHMS = {
    "Qwen3DSparkModel": "DSPARK",
    "DFlashDraftModel": "DFLASH",
    "LlamaForCausalLMEagle3": "EAGLE3",
}
"""Speculative algorithm by the architecture of a draft; the reference reads no others."""


def algorithm_of(draft: Path) -> str:
    """SGLang's name of the algorithm that serves the draft in a folder."""
    return ALGORITHMS[json.loads((draft / "config.json").read_text())["architectures"][0]]


@dataclass(frozen=True)
class Load:
    """What every server is asked."""

    models: Models
    prompts: Sequence[Prompt]
    tokens: int
    temperatures: Sequence[float]
    concurrency: int
    dtype: str
    timed: int
    """Prompts of each domain that speed is measured with."""
    gamma: int
    """Draft tokens a round."""

    def options(self, drafter: str, draft: Path) -> EngineOptions:
        """The server of a drafter."""
        algorithm = algorithm_of(draft)
        return EngineOptions(
            drafter,
            Models(self.models.target, draft),
            algorithm=algorithm,
            flags=chain_flags(self.gamma) if algorithm == "EAGLE3" else (),
            mode="static",
            dtype=self.dtype,
            max_requests=self.concurrency,
        )

    def plain_options(self) -> EngineOptions:
        """The server without speculation."""
        return EngineOptions("plain", self.models, speculative=False, dtype=self.dtype)


class Served:
    """A drafter's server at work."""

    def __init__(self, drafter: str, url: str, load: Load) -> None:
        self.drafter, self.url, self.load = drafter, url, load
        self.chat = Chat(load.models.target)

    def rounds(self, temperature: float) -> Measured:
        """The rounds of all prompts by domain."""

        def histogram(prompt: Prompt) -> tuple[int, ...]:
            text = self.chat.render(prompt.text)
            answer = generate(self.url, text, self.load.tokens, temperature=temperature)
            return answer.accepted_histogram

        with ThreadPoolExecutor(self.load.concurrency) as pool:
            found = list(pool.map(histogram, self.load.prompts))
        by_domain: dict[str, list[tuple[int, ...]]] = defaultdict(list)
        for prompt, each in zip(self.load.prompts, found, strict=True):
            by_domain[prompt.domain].append(each)
        return {
            Key(self.drafter, ENGINE, temperature, domain): of_histogram(
                _summed(parts), self.load.gamma
            )
            for domain, parts in by_domain.items()
        }

    def speeds(self, plain_url: str, steps: Steps) -> dict[str, float]:
        """Tokens per second by those of the plain server, greedy, one request at a time."""
        ratios = {}
        for domain in dict.fromkeys(each.domain for each in self.load.prompts):
            texts = [self.chat.render(p.text) for p in self.load.prompts if p.domain == domain]
            rounds = [[text] for text in texts[: self.load.timed]]
            urls = {"plain": plain_url, self.drafter: self.url}
            done = take_turns(urls, rounds, self.load.tokens, steps.note)
            ratios[domain] = round(median_ratio(done[self.drafter], done["plain"]), 3)
        return ratios


def _summed(histograms: Sequence[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip_longest(*histograms, fillvalue=0)]


def parts(
    drafts: dict[str, Path], load: Load, folder: Path, steps: Steps
) -> Iterator[tuple[str, Part]]:
    """The rounds of every drafter, and its speed over plain decoding by domain."""
    if not drafts:
        return
    with engine(load.plain_options(), folder) as plain:
        plain.wait_ready(steps.note)
        for name, draft in drafts.items():
            steps(f"{name}: the engine decodes {len(load.prompts)} prompts")
            with engine(load.options(name, draft), folder) as server:
                server.wait_ready(steps.note)
                served = Served(name, server.url, load)
                measured: Measured = {}
                for temperature in load.temperatures:
                    measured |= served.rounds(temperature)
                yield name, Part(measured, served.speeds(plain.url, steps))
