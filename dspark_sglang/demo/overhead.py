"""`make bench-overhead`: tokens per second of our worker against SGLang's own.

Two servers on the same platform, in the same mode and with the same tables: SGLang's worker reads
them from files, ours gets them from the control service. Both are up all the time, only one is
loaded at a time, they take turns in going first, and the median of the ratios counts.
Prints one JSON object last.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from dspark_sglang.demo.admin import ARTIFACTS, Schedule, admin
from dspark_sglang.demo.batches import Batch, answer_batch, median_ratio, take_turns
from dspark_sglang.demo.client import Chat, mean
from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.processes import one_line_faults
from dspark_sglang.demo.prompts import load_prompts
from dspark_sglang.demo.servers import EngineOptions, control_service, engine, work_folder
from dspark_sglang.demo.steps import Steps

WORKER_ID = "overhead-engine"
TABLES = Schedule("policy-scheduled.yaml", "sts-soft.json", "sps-example.json")
APPLY_LIMIT_S = 30.0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=6, help="requests at a time")
    parser.add_argument("--tokens", type=int, default=64, help="most tokens an answer")
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and state")
    return parser.parse_args()


@contextmanager
def both_workers(models: Models, folder: Path, steps: Steps) -> Iterator[dict[str, str]]:
    """URLs of a server with our worker, its tables applied, and of one with SGLang's own."""
    sps, sts = (Path(str(ARTIFACTS / file)) for file in (TABLES.sps, TABLES.sts))
    with ExitStack() as stack:
        steps("Start the control service and two servers")
        control = stack.enter_context(control_service(folder))
        control.wait_ready(steps.note)
        options = (
            EngineOptions("ours", models, control_endpoint=control.endpoint, worker_id=WORKER_ID),
            EngineOptions("upstream", models, upstream_worker=True, sps_file=sps, sts_file=sts),
        )
        ours, upstream = (stack.enter_context(engine(each, folder)) for each in options)
        ours.wait_ready(steps.note)
        upstream.wait_ready(steps.note)
        operator = stack.enter_context(admin(control.endpoint))
        operator.wait_applied(WORKER_ID, operator.bind(TABLES, "bench-overhead"), APPLY_LIMIT_S)
        yield {"ours": ours.url, "upstream": upstream.url}


def measure(options: argparse.Namespace, steps: Steps) -> dict[str, Any]:
    """The figures of the benchmark."""
    steps("Prepare the model and its draft")
    models = prepared_models()
    chat = Chat(models.target)
    texts = [chat.render(prompt.text) for prompt in load_prompts(limit=options.requests)]
    with (
        work_folder(options.keep) as folder,
        both_workers(models, folder, steps) as urls,
    ):
        steps(f"Warm both up, then {options.rounds} rounds of {len(texts)} requests in turn")
        for url in urls.values():
            answer_batch(url, texts, options.tokens)
        done = take_turns(urls, [texts] * options.rounds, options.tokens, steps.note)
    return figures_of(done["ours"], done["upstream"])


def figures_of(ours: Sequence[Batch], upstream: Sequence[Batch]) -> dict[str, Any]:
    """Median ratio and speeds; verified tokens, to show that both had the same work."""
    return {
        "ours_over_upstream": round(median_ratio(ours, upstream), 4),
        "ours_tokens_per_second": [round(each.tokens_per_second, 2) for each in ours],
        "upstream_tokens_per_second": [round(each.tokens_per_second, 2) for each in upstream],
        "ours_verified_per_step": round(_verified(ours), 3),
        "upstream_verified_per_step": round(_verified(upstream), 3),
    }


def _verified(batches: Sequence[Batch]) -> float:
    answers = chain.from_iterable(batch.answers for batch in batches)
    return mean([each.answer.verified_per_step for each in answers])


def main() -> None:
    """Measures and prints."""
    options = arguments()
    with one_line_faults("bench-overhead"):
        figures = measure(options, Steps())
    how = (
        f"CPU, float32, compact, {options.requests} requests of up to {options.tokens} tokens at a "
        f"time, {options.rounds} rounds in turn after a warm-up, same tables, tracing off; median "
        "of the ratios of tokens per second"
    )
    print(json.dumps({"bench": "overhead", "figures": figures, "how": how}))


if __name__ == "__main__":
    main()
