"""`make bench-accept`: tokens a round of each drafter, by the reference and by the engine.

Eagle3-style, DFlash, DSpark with each head and the shipped draft, on any prompts. Writes tables,
three plots a temperature and `accept-report.json` into a folder and prints one JSON object last.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dspark_sglang.demo.accept.drafts import SHIPPED, Budget, train, trained_in
from dspark_sglang.demo.accept.engine import Load, parts
from dspark_sglang.demo.accept.kept import Kept
from dspark_sglang.demo.accept.measured import ENGINE, REFERENCE
from dspark_sglang.demo.accept.reference import Questions, Walks, part_of
from dspark_sglang.demo.accept.report import Results, figures_of, summary, write_report
from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.processes import one_line_faults
from dspark_sglang.demo.prompts import Prompt, load_prompts
from dspark_sglang.demo.servers import work_folder
from dspark_sglang.demo.steps import Steps
from dspark_sglang.reference.config_file import read_config
from dspark_sglang.training.drafters import DRAFTERS
from dspark_sglang.training.progress import Progress

BOTH_SIDES = ("tokens", "temperatures", "dtype")
"""Options that what is measured depends on."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=Path, help="JSON lines with 'prompt' (default: our own)")
    parser.add_argument("--limit", type=int, help="only the first so many prompts of a domain")
    parser.add_argument("--drafts", type=Path, help="the trainer's output folder of the drafters")
    parser.add_argument("--drafters", nargs="*", choices=DRAFTERS, default=DRAFTERS)
    parser.add_argument(
        "--draft",
        nargs="*",
        action="extend",
        type=named,
        default=[],
        metavar="NAME=FOLDER",
        help="more drafts",
    )
    parser.add_argument("--prompts-trained", type=int, default=300, help="of a domain, to train on")
    parser.add_argument("--steps-trained", type=int, default=800, help="steps of each drafter")
    parser.add_argument("--tokens", type=int, default=96, help="most tokens an answer")
    parser.add_argument("--temperatures", nargs="+", type=float, default=(0.0, 1.0))
    parser.add_argument("--concurrency", type=int, default=8, help="requests at a time")
    parser.add_argument("--timed", type=int, default=5, help="prompts of a domain timed alone")
    parser.add_argument("--dtype", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--no-engine", action="store_true", help="the reference's side only")
    parser.add_argument("--output", type=Path, default=Path("runs/accept"))
    options = parser.parse_args()
    if len(dict(options.draft)) < len(options.draft):
        parser.error("--draft: each NAME names one draft")
    return options


def named(text: str) -> tuple[str, Path]:
    """A draft of the command line."""
    name, _, folder = text.partition("=")
    if not re.fullmatch(r"[\w.-]+", name) or name in {*DRAFTERS, SHIPPED}:
        raise argparse.ArgumentTypeError(
            f"{text!r}: NAME must be of letters, digits, '.', '_' and '-', and none of "
            f"{', '.join((*DRAFTERS, SHIPPED))}, which are measured already"
        )
    if not (Path(folder) / "config.json").exists():
        raise argparse.ArgumentTypeError(f"{text!r}: {folder!r} holds no draft (config.json)")
    return name, Path(folder)


def limited(prompts: list[Prompt], limit: int | None) -> list[Prompt]:
    """The first `limit` of each domain."""
    seen: dict[str, int] = {}
    kept = []
    for prompt in prompts:
        seen[prompt.domain] = seen.get(prompt.domain, 0) + 1
        if limit is None or seen[prompt.domain] <= limit:
            kept.append(prompt)
    return kept


def drafts_of(options: argparse.Namespace, models: Models, steps: Steps) -> dict[str, Path]:
    """Every drafter's folder, the shipped draft among them."""
    if options.drafts:
        found = trained_in(options.drafts, options.drafters)
    else:
        budget = Budget(options.prompts_trained, options.steps_trained)
        found = train(options.drafters, models, budget, options.output / "drafters", steps)
    return {**found, **dict(options.draft), SHIPPED: models.draft}


class Bench:
    """One run."""

    def __init__(self, options: argparse.Namespace, steps: Steps) -> None:
        self.options, self.steps = options, steps
        steps("Prepare the model and the drafters")
        self.models = prepared_models()
        self.prompts = limited(load_prompts(options.prompts), options.limit)
        self.drafts = drafts_of(options, self.models, steps)
        self.config = read_config(self.models.draft)
        self.results = Results()

    def reference(self) -> None:
        """Walks every drafter along the target's answers."""
        options, kept = self.options, self._kept(REFERENCE, ())
        folder = options.output / f"answers-{options.dtype}-{options.tokens}"
        walks = Walks(self._questions(), folder, Progress(self.steps.note))
        self.steps(f"The target answers {len(self.prompts)} prompts")
        walks.prepare()
        for name, draft in self.drafts.items():
            self.steps(f"{name}: the reference counts rounds")
            if (part := kept.read(name, draft)) is None:
                part = part_of(walks, name, draft, self.config.gamma)
                kept.write(name, draft, part)
            self.results.add(name, part)

    def engine(self) -> None:
        """Serves every drafter."""
        options, kept = self.options, self._kept(ENGINE, ("concurrency", "timed"))
        found = {name: kept.read(name, draft) for name, draft in self.drafts.items()}
        missing = {name: self.drafts[name] for name, part in found.items() if part is None}
        with work_folder(options.output / "servers") as folder:
            for name, part in parts(missing, self._load(), folder, self.steps):
                kept.write(name, self.drafts[name], part)
                found[name] = part
        for name, each in found.items():
            if each is not None:
                self.results.add(name, each)

    def _kept(self, side: str, names: Sequence[str]) -> Kept:
        """Where the parts of a side are, by the options called `names` and those of both sides."""
        settings = {name: getattr(self.options, name) for name in (*BOTH_SIDES, *names)}
        settings["prompts"] = [[each.domain, each.text] for each in self.prompts]
        return Kept(self.options.output / "measured", side, settings)

    def _load(self) -> Load:
        options = self.options
        return Load(
            self.models,
            self.prompts,
            options.tokens,
            options.temperatures,
            options.concurrency,
            options.dtype,
            options.timed,
            self.config.gamma,
        )

    def _questions(self) -> Questions:
        return Questions(
            self.models.target,
            self.prompts,
            self.options.tokens,
            tuple(self.options.temperatures),
            self.options.dtype,
            self.config.target_layer_ids,
            self.config.mask_token_id,
        )


def run(options: argparse.Namespace, steps: Steps) -> dict[str, Any]:
    """Measures, writes the report and gives its figures."""
    bench = Bench(options, steps)
    bench.reference()
    if not options.no_engine:
        bench.engine()
    write_report(bench.results, options.output, steps)
    return figures_of(bench.results.measured, bench.results.speeds)


def main() -> None:
    """Measures and prints."""
    options = arguments()
    with one_line_faults("bench-accept"):
        figures = run(options, Steps())
    print(json.dumps(summary(figures, options)))


if __name__ == "__main__":
    main()
