"""`make verify-lossless`: the output of DSPARK, token by token, against plain decoding.

Greedy, in float32, on four servers one after the other: plain; static; compact with a steep SPS
file; compact with policy, STS and SPS table replaced every 200 ms through the control service.
Prints one JSON object last and writes `lossless-report.json`; status 1 for any difference that
rounding does not explain.
"""

import argparse
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dspark_sglang.demo.admin import ARTIFACTS, admin
from dspark_sglang.demo.changer import Changes, changing
from dspark_sglang.demo.client import Answer, Chat, generate_all, mean
from dspark_sglang.demo.comparing import Difference, differences
from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.processes import one_line_faults
from dspark_sglang.demo.prompts import load_prompts
from dspark_sglang.demo.servers import EngineOptions, control_service, engine, work_folder
from dspark_sglang.demo.steps import Steps

WORKER_ID = "lossless-engine"
CHANGE_S = 0.2


class Pass(NamedTuple):
    """The answers of one way of DSPARK, compared with plain decoding."""

    name: str
    answers: list[Answer]
    differences: list[Difference]

    def figures(self) -> dict[str, Any]:
        """What the report says about this pass."""
        unexplained = [each for each in self.differences if not each.is_rounding]
        return {
            "identical": len(self.answers) - len(self.differences),
            "differences_by_rounding": len(self.differences) - len(unexplained),
            "differences_unexplained": len(unexplained),
            "accept_length": mean([each.accept_length for each in self.answers]),
            "verified_per_step": mean([each.verified_per_step for each in self.answers]),
            "differences": [each._asdict() for each in self.differences],
        }


@dataclass(frozen=True)
class Work:
    """The same texts for every server."""

    models: Models
    folder: Path
    texts: list[str]
    tokens: int
    concurrency: int
    steps: Steps

    def answers(
        self, options: EngineOptions, during: AbstractContextManager[Any] | None = None
    ) -> list[Answer]:
        """All texts on a fresh server, with the best candidates where it is plain."""
        with engine(options, self.folder) as server:
            server.wait_ready(self.steps.note)
            with during or nullcontext():
                return generate_all(
                    server.url,
                    self.texts,
                    self.tokens,
                    self.concurrency,
                    top_logprobs=0 if options.speculative else 2,
                )

    def compared(self, name: str, plain: Sequence[Answer], given: list[Answer]) -> Pass:
        """A pass of the report, its result said."""
        done = Pass(name, given, differences(plain, given))
        self.steps.note(f"{name}: {len(done.differences)} of {len(given)} answers differ")
        return done


def verify(work: Work) -> dict[str, Any]:
    """All passes; gives the figures of the report."""
    work.steps(f"Plain decoding of {len(work.texts)} prompts")
    plain = work.answers(EngineOptions("plain", work.models, speculative=False))
    work.steps("DSPARK, static")
    static = work.answers(EngineOptions("static", work.models, mode="static"))
    passes = [work.compared("static", plain, static)]
    work.steps("DSPARK, compact, steep SPS file")
    steep = Path(str(ARTIFACTS / "sps-steep.json"))
    compact = work.answers(EngineOptions("compact", work.models, sps_file=steep))
    passes.append(work.compared("compact", plain, compact))
    work.steps("DSPARK, compact, policy, STS and SPS table replaced every 200 ms")
    given, written, applied = under_change(work)
    passes.append(work.compared("changing", plain, given))
    work.steps.note(f"{written} schedules written, {applied} revisions seen applied")
    return {
        "prompts": len(work.texts),
        "tokens": sum(len(each.token_ids) for each in plain),
        "schedules_written": written,
        "revisions_seen_applied": applied,
        "passes": {each.name: each.figures() for each in passes},
    }


def under_change(work: Work) -> tuple[list[Answer], int, int]:
    """Answers while the schedule changes, schedules written, revisions seen applied."""
    with control_service(work.folder) as control:
        control.wait_ready(work.steps.note)
        options = EngineOptions(
            "changing", work.models, control_endpoint=control.endpoint, worker_id=WORKER_ID
        )
        with admin(control.endpoint) as operator:
            changes = Changes()
            given = work.answers(options, changing(operator, CHANGE_S, changes))
    return given, changes.written, len(changes.applied)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=Path, help="JSON lines with 'prompt' (default: our own)")
    parser.add_argument("--limit", type=int, help="only the first so many prompts")
    parser.add_argument("--tokens", type=int, default=64, help="most tokens an answer")
    parser.add_argument("--concurrency", type=int, default=8, help="requests at a time")
    parser.add_argument("--report", type=Path, default=Path("lossless-report.json"))
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and state")
    return parser.parse_args()


def summary(figures: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The one line that a reader of many benchmarks wants."""
    counts = {
        f"{name}_{key}": entry[key]
        for name, entry in figures["passes"].items()
        for key in ("identical", "differences_by_rounding", "differences_unexplained")
    }
    totals = {key: value for key, value in figures.items() if key != "passes"}
    how = (
        f"greedy, float32, CPU, up to {options.tokens} tokens, {options.concurrency} requests at "
        f"a time, token ids against plain decoding; schedules replaced every {CHANGE_S} s"
    )
    return {"bench": "verify-lossless", "figures": totals | counts, "how": how}


def run(options: argparse.Namespace, steps: Steps) -> dict[str, Any]:
    """Prepares the models and verifies; gives the figures."""
    steps("Prepare the model and its draft")
    models = prepared_models()
    chat = Chat(models.target)
    texts = [chat.render(each.text) for each in load_prompts(options.prompts, options.limit)]
    with work_folder(options.keep) as folder:
        return verify(Work(models, folder, texts, options.tokens, options.concurrency, steps))


def main() -> None:
    """Verifies; status 1 for a difference that rounding does not explain."""
    options = arguments()
    with one_line_faults("verify-lossless"):
        figures = run(options, Steps())
    options.report.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(summary(figures, options)))
    if any(each["differences_unexplained"] for each in figures["passes"].values()):
        raise SystemExit(f"verify-lossless: unexplained differences; see {options.report}")


if __name__ == "__main__":
    main()
