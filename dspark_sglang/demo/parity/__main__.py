"""`make verify-parity`: the engine's drafts, confidences and accept lengths against the reference.

For each head one SGLang server on the CPU decodes all prompts, greedily in float32, one at a time
and then several at a time, while a recorder writes down every round. The reference decodes the
same prompts one by one, and every round is compared. Prints one JSON object last and writes
`parity-report.json`; status 1 for any difference that rounding does not explain.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from dspark_sglang.demo.client import Chat
from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.parity.answered import Ids, Request
from dspark_sglang.demo.parity.comparing import Findings
from dspark_sglang.demo.parity.engine import Load, answered
from dspark_sglang.demo.parity.heads import HEADS, make_pair
from dspark_sglang.demo.parity.oracle import Oracle, PlainOracle
from dspark_sglang.demo.parity.report import figures_of, summary
from dspark_sglang.demo.processes import one_line_faults
from dspark_sglang.demo.prompts import load_prompts
from dspark_sglang.demo.servers import work_folder
from dspark_sglang.demo.steps import Steps
from dspark_sglang.reference.config import HeadType


@dataclass(frozen=True)
class Work:
    """What all heads share."""

    models: Models
    load: Load
    folder: Path
    oracle: PlainOracle
    steps: Steps

    def compared(self, head: HeadType) -> dict[str, Findings]:
        """The findings of one head by batch size."""
        self.steps(f"{head}: the engine decodes")
        pair = make_pair(head, self.models.draft, self.folder / f"draft-{head}")
        models = Models(self.models.target, pair.engine)
        requests = answered(head, models, self.load, self.folder, self.steps.note)
        self.steps(f"{head}: the reference decodes, every round is compared")
        oracle = Oracle(self.oracle, pair.reference)
        return {
            f"{head}_batch_{batch}": self._pass(oracle, requests[batch], batch)
            for batch in requests
        }

    def _pass(self, oracle: Oracle, requests: list[Request], batch: int) -> Findings:
        findings = Findings()
        for request in requests:
            findings.add(request, oracle)
        count, differing = findings.rounds, len(findings.mismatches)
        self.steps.note(f"batch {batch}: {count} rounds compared, {differing} differences")
        return findings


def token_ids(target: Path, texts: list[str]) -> list[Ids]:
    """The texts as token ids of the target."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(target)
    return [tuple(tokenizer.encode(text, add_special_tokens=False)) for text in texts]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=Path, help="JSON lines with 'prompt' (default: our own)")
    parser.add_argument("--limit", type=int, default=50, help="only the first so many prompts")
    parser.add_argument("--tokens", type=int, default=64, help="tokens an answer")
    parser.add_argument("--heads", nargs="+", choices=HEADS, default=HEADS)
    parser.add_argument("--batches", nargs="+", type=int, default=(1, 8), help="requests at a time")
    parser.add_argument("--mode", choices=("compact", "static"), default="compact")
    parser.add_argument("--report", type=Path, default=Path("parity-report.json"))
    parser.add_argument("--keep", type=Path, help="folder that keeps logs, rounds and drafts")
    return parser.parse_args()


def run(options: argparse.Namespace, steps: Steps) -> dict[str, Findings]:
    """Prepares the models and compares; gives the findings by head and batch size."""
    steps("Prepare the model and its draft")
    models = prepared_models()
    chat = Chat(models.target)
    texts = [chat.render(each.text) for each in load_prompts(options.prompts, options.limit)]
    prompts = token_ids(models.target, texts)
    load = Load(prompts, options.tokens, options.batches, options.mode)
    with work_folder(options.keep) as folder:
        work = Work(models, load, folder, PlainOracle(models.target), steps)
        passes = [work.compared(head) for head in options.heads]
    return {name: found for each in passes for name, found in each.items()}


def main() -> None:
    """Compares; status 1 for a difference that rounding does not explain."""
    options = arguments()
    with one_line_faults("verify-parity"):
        findings = run(options, Steps())
    figures = {name: figures_of(each) for name, each in findings.items()}
    details = {name: [m._asdict() for m in each.mismatches] for name, each in findings.items()}
    report = {"figures": figures, "mismatches": details}
    options.report.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(summary(figures, options)))
    if any(each["unexplained"] for each in figures.values()):
        raise SystemExit(f"verify-parity: unexplained differences; see {options.report}")


if __name__ == "__main__":
    main()
