"""The report of a run: figures, tables, plots, and how they were taken."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dspark_sglang.demo.accept.kept import Part, rows_of
from dspark_sglang.demo.accept.measured import ENGINE, REFERENCE, Measured, accept_lengths, ratio
from dspark_sglang.demo.accept.plots import save_block_lengths, save_conditional, save_lengths
from dspark_sglang.demo.accept.table import (
    Speeds,
    conditional_table,
    length_table,
    names_of,
    speed_table,
)
from dspark_sglang.demo.steps import Steps


@dataclass
class Results:
    """What a run has measured so far."""

    measured: Measured = field(default_factory=dict)
    speeds: dict[str, Mapping[str, float]] = field(default_factory=dict)
    block_lengths: dict[float, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    """By temperature, domain and drafter: the reference's accept length with 1, 2, ... tokens."""

    def add(self, drafter: str, part: Part) -> None:
        """Takes what was measured of a drafter on one side."""
        self.measured |= part.measured
        if part.speeds:
            self.speeds[drafter] = part.speeds
        for temperature, by_domain in part.block_lengths.items():
            for domain, row in by_domain.items():
                domains = self.block_lengths.setdefault(temperature, {})
                domains.setdefault(domain, {})[drafter] = row


DSPARK, DFLASH, EAGLE3 = "vanilla", "dflash", "eagle3"
HEADS = ("vanilla", "gated", "rnn")


def figures_of(measured: Measured, speeds: Speeds) -> dict[str, Any]:
    """Greedy accept lengths of the engine, or of the reference where no engine ran, and more."""
    temperatures = sorted({key.temperature for key in measured})
    sides = {
        (side, each): accept_lengths(measured, side, each)
        for each in temperatures
        for side in (ENGINE, REFERENCE)
    }
    best = sides[ENGINE, temperatures[0]] or sides[REFERENCE, temperatures[0]]
    named = {f"{side}, temperature {each:g}": rows for (side, each), rows in sides.items() if rows}
    return {
        "accept_length": best,
        "dspark_over_dflash": ratio(best, DSPARK, DFLASH),
        "dspark_over_eagle3": ratio(best, DSPARK, EAGLE3),
        "by_side": named,
        **{
            f"dspark_over_{other}_by_side": {
                side: ratio(rows, DSPARK, other) for side, rows in named.items()
            }
            for other in (DFLASH, EAGLE3)
        },
        "dspark_over_dflash_by_head": {
            head: ratio(best, head, DFLASH) for head in HEADS if head in best
        },
        "tokens_per_second_over_plain": {name: dict(row) for name, row in speeds.items()},
    }


def write_report(results: Results, folder: Path, steps: Steps) -> None:
    """Prints the tables, and writes plots and `accept-report.json` into `folder`."""
    measured = results.measured
    for temperature, lengths in results.block_lengths.items():
        steps.console.print(length_table(measured, temperature))
        for domain in names_of(measured, 3):
            steps.console.print(conditional_table(measured, temperature, domain))
        save_conditional(measured, temperature, folder / f"conditional-{temperature:g}.png")
        save_lengths(measured, temperature, folder / f"accept-length-{temperature:g}.png")
        save_block_lengths(lengths, temperature, folder / f"block-length-{temperature:g}.png")
    if results.speeds:
        steps.console.print(speed_table(results.speeds))
    figures = figures_of(measured, results.speeds)
    report = {
        "figures": figures,
        "measured": rows_of(measured),
        "block_lengths": results.block_lengths,
    }
    (folder / "accept-report.json").write_text(json.dumps(report, indent=1) + "\n")
    steps.note(f"report and plots: {folder}")


def summary(figures: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The one line that a reader of many benchmarks wants."""
    how = (
        f"CPU, {options.dtype}, up to {options.tokens} tokens an answer; accept length: tokens a "
        "round, bonus included, over all rounds of a domain; reference: walked along the target's "
        "own answers; engine: SGLang, whole blocks verified, "
        f"{options.concurrency} requests at a time; accept_length is greedy and the engine's, the "
        "reference's with --no-engine; "
        "ratios are of the means over the domains; speed: medians over "
        f"{options.timed} prompts a domain, one request at a time, in turn with a plain server; "
        "shipped is a longer run than the others; SGLang's DFLASH and EAGLE3 draft greedily at "
        "every temperature, their reference samples as DSPARK does"
    )
    return {"bench": "accept", "figures": dict(figures), "how": how}
