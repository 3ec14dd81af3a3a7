"""`make bench-attention`: the CPU platform's attention backend against SGLang's `torch_native`.

Two servers that decode plainly, alike but for `--attention-backend`. Both are up all the time,
only one is loaded at a time, they take turns in going first, and the median of the ratios of
seconds per output token counts. Prints one JSON object last.
"""

import argparse
import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from dspark_sglang.demo.batches import Batch, median_ratio, take_turns
from dspark_sglang.demo.client import mean, server_info
from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.processes import one_line_faults
from dspark_sglang.demo.servers import EngineOptions, engine, engine_environ, work_folder
from dspark_sglang.demo.steps import Steps
from dspark_sglang.platforms.cpu.backends import ATTENTION_BACKEND

OURS, OTHER = "ours", "torch_native"
BACKENDS = {OURS: ATTENTION_BACKEND, OTHER: "torch_native"}
"""The flag of each server by its name."""
WARM_UP_TOKENS = 4
WORDS = (  # noqa: SIM905  (a list literal would be a page long)
    "time year people way day thing life child world school state family group country problem "
    "hand part place case week company system program question work number night point home "
    "water room mother area money story fact month right study book word business issue side "
    "kind head house service friend father power hour game line end member law car city name"
).split()
"""Words of one token each in the usual vocabularies, so that words count as tokens."""


class Case(NamedTuple):
    """A load under which the two are compared."""

    words: int
    """Words of a prompt, about as many tokens."""
    requests: int
    """Requests at a time."""

    @property
    def name(self) -> str:
        """Its name in the figures, such as "250x8"."""
        return f"{self.words}x{self.requests}"

    def rounds(self, label: str, count: int) -> list[list[str]]:
        """So many rounds of prompts, none of which any other case, label or round repeats."""
        return [
            [
                prompt(self.words, f"{label} {self.name} {number} {each}")
                for each in range(self.requests)
            ]
            for number in range(count)
        ]


CASES = tuple(Case(words, requests) for words in (20, 250) for requests in (1, 8))


def prompt(words: int, seed: str) -> str:
    """So many words, always the same for a seed, without a common beginning between seeds."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds; twice for single requests")
    parser.add_argument("--tokens", type=int, default=32, help="tokens an answer")
    parser.add_argument("--keep", type=Path, help="folder that keeps logs")
    return parser.parse_args()


def options_of(name: str, models: Models) -> EngineOptions:
    """How the server of that name is started."""
    return EngineOptions(
        name,
        models,
        speculative=False,
        dtype="bfloat16",
        max_requests=max(case.requests for case in CASES),
        flags=("--attention-backend", BACKENDS[name]),
    )


@contextmanager
def both_backends(models: Models, folder: Path, steps: Steps) -> Iterator[dict[str, str]]:
    """URLs of the two servers by name, once both answer."""
    steps("Start two servers")
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(engine(options_of(name, models), folder)) for name in BACKENDS
        }
        for server in servers.values():
            server.wait_ready(steps.note)
        yield {name: server.url for name, server in servers.items()}


def measure(options: argparse.Namespace, steps: Steps) -> dict[str, Any]:
    """The figures of the benchmark."""
    steps("Prepare the model")
    models = prepared_models()
    with work_folder(options.keep) as folder, both_backends(models, folder, steps) as urls:
        steps("Warm both up")
        for case in CASES:
            take_turns(urls, case.rounds("warm-up", 1), WARM_UP_TOKENS, steps.note)
        done: dict[str, dict[str, list[Batch]]] = {}
        for case in CASES:
            count = options.rounds * (2 if case.requests == 1 else 1)
            steps(
                f"{case.requests} prompts of {case.words} words at a time, {count} rounds in turn"
            )
            rounds = case.rounds("measured", count)
            done[case.name] = take_turns(urls, rounds, options.tokens, steps.note, ignore_eos=True)
        found = {name: server_info(url).get("attention_backend") for name, url in urls.items()}
    return figures_of(done) | {"attention_backends": found}


def figures_of(done: Mapping[str, Mapping[str, Sequence[Batch]]]) -> dict[str, Any]:
    """Ratios and medians by case, from the batches by case and server."""
    return {
        # Seconds per token are the inverse of tokens per second: the sides change places.
        "ours_over_torch_native": {
            case: round(median_ratio(batches[OTHER], batches[OURS]), 4)
            for case, batches in done.items()
        },
        **{
            f"{name}_seconds_per_token": {
                case: round(_seconds_per_token(batches[name]), 5) for case, batches in done.items()
            }
            for name in BACKENDS
        },
        "prompt_tokens": {
            case: round(_prompt_tokens(batches[OURS]), 1) for case, batches in done.items()
        },
    }


def _seconds_per_token(batches: Sequence[Batch]) -> float:
    """Median over the batches; the tokens of all requests of a batch count."""
    return statistics.median(1 / batch.tokens_per_second for batch in batches)


def _prompt_tokens(batches: Sequence[Batch]) -> float:
    answers = chain.from_iterable(batch.answers for batch in batches)
    return mean([each.answer.prompt_tokens for each in answers])


def how(options: argparse.Namespace, threads: str) -> str:
    """How the figures were taken, in one sentence."""
    return (
        f"CPU, bfloat16, plain decoding, {threads} threads a server, one server busy at a time and "
        f"each in turn the first; cases are words of a prompt x requests at a time, "
        f"{options.tokens} tokens an answer, greedy, EOS ignored, distinct prompts; median over "
        f"{options.rounds} rounds ({2 * options.rounds} of single requests) of the ratio of "
        "seconds per output token, prefill included"
    )


def main() -> None:
    """Measures and prints."""
    options = arguments()
    threads = engine_environ(options_of(OURS, Models(Path(), Path())), Path())["OMP_NUM_THREADS"]
    with one_line_faults("bench-attention"):
        figures = measure(options, Steps())
    print(json.dumps({"bench": "attention", "figures": figures, "how": how(options, threads)}))


if __name__ == "__main__":
    main()
