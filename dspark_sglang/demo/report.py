"""What the demonstration found, as data, as a table and as `demo-report.json`."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from dspark_sglang.demo.batches import Batch, Traced, median_ratio
from dspark_sglang.demo.main_job import Run
from dspark_sglang.demo.otlp import Span
from dspark_sglang.demo.prompts import Prompt
from dspark_sglang.demo.tracing import revisions_of


@dataclass(frozen=True)
class Row:
    """One prompt: answered by plain decoding, and by DSPARK before and after the change."""

    domain: str
    prompt: str
    tokens: int
    accept_length: float
    """Before the change, the bonus token included."""
    verified_before: float
    """Tokens sent to the target a step, the anchor included."""
    verified_after: float
    revisions: tuple[int, ...]
    """Revisions that served the prompt's requests, in order."""
    identical: bool
    """Whether all answers of DSPARK have the token ids of plain decoding."""


@dataclass(frozen=True)
class Report:
    """The content of `demo-report.json`; speeds are tokens per second."""

    identical_to_plain: bool
    dspark_over_plain_tokens_per_second: float
    """Median over the prompts, one at a time before the change, both servers in the same run."""
    dspark_over_plain_by_domain: dict[str, float]
    """The same of each domain's prompts."""
    accept_length: dict[str, float]
    """Mean by domain, before the change."""
    verified_per_request: dict[str, float]
    """Mean tokens a request sends to the target a step, `before` and `after` the change."""
    revisions: tuple[int, ...]
    seconds_from_write_to_applied: float
    changed_while_requests_ran: bool
    dspark_tokens_per_second: tuple[float, ...]
    plain_tokens_per_second: tuple[float, ...]
    dspark_tokens_per_second_after: tuple[float, ...]
    rows: tuple[Row, ...]
    seconds: float
    """The whole run, start of the servers included."""

    def write(self, path: Path) -> None:
        """Writes the report as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")


def report_of(
    prompts: Sequence[Prompt], run: Run, spans: Sequence[Span] | None, seconds: float
) -> Report:
    """The report; without spans a row's revisions are those that the worker confirmed."""
    rows = rows_of(prompts, run, spans)
    return Report(
        identical_to_plain=all(row.identical for row in rows),
        dspark_over_plain_tokens_per_second=median_ratio(run.before, run.plain),
        dspark_over_plain_by_domain=speedup_by_domain(prompts, run),
        accept_length=accept_length_by_domain(rows),
        verified_per_request={
            "before": statistics.fmean(row.verified_before for row in rows),
            "after": statistics.fmean(row.verified_after for row in rows),
        },
        revisions=(run.first_revision, run.change.revision),
        seconds_from_write_to_applied=run.change.seconds,
        changed_while_requests_ran=run.change.while_running,
        dspark_tokens_per_second=_speeds(run.before),
        plain_tokens_per_second=_speeds(run.plain),
        dspark_tokens_per_second_after=_speeds(run.after),
        rows=tuple(rows),
        seconds=seconds,
    )


def rows_of(prompts: Sequence[Prompt], run: Run, spans: Sequence[Span] | None) -> list[Row]:
    """One row a prompt; the prompts of the first round also ran during the change."""
    plain, before, after = (_answers(each) for each in (run.plain, run.before, run.after))
    rows = []
    for number, prompt in enumerate(prompts):
        during = run.change.answers[number : number + 1]
        served = [before[number], *during, after[number]]
        revisions = (
            revisions_of(spans, [each.trace_id for each in served])
            if spans is not None
            else [run.first_revision, run.change.revision]
        )
        expected = plain[number].answer.token_ids
        rows.append(
            Row(
                domain=prompt.domain,
                prompt=prompt.text,
                tokens=len(expected),
                accept_length=before[number].answer.accept_length,
                verified_before=before[number].answer.verified_per_step,
                verified_after=after[number].answer.verified_per_step,
                revisions=tuple(revisions),
                identical=all(each.answer.token_ids == expected for each in served),
            )
        )
    return rows


def speedup_by_domain(prompts: Sequence[Prompt], run: Run) -> dict[str, float]:
    """Median over each domain's prompts of the ratio of tokens per second."""
    pairs: dict[str, list[tuple[Batch, Batch]]] = {}
    for prompt, ours, plain in zip(prompts, run.before, run.plain, strict=True):
        pairs.setdefault(prompt.domain, []).append((ours, plain))
    return {domain: median_ratio(*zip(*each, strict=True)) for domain, each in pairs.items()}


def accept_length_by_domain(rows: Sequence[Row]) -> dict[str, float]:
    """Mean accept length of each domain."""
    lengths: dict[str, list[float]] = {}
    for row in rows:
        lengths.setdefault(row.domain, []).append(row.accept_length)
    return {domain: statistics.fmean(values) for domain, values in lengths.items()}


def table_of(rows: Sequence[Row]) -> Table:
    """The rows for a terminal of 80 columns."""
    title = "Per prompt (float32, greedy; verified tokens a step, anchor included)"
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("domain", no_wrap=True)
    table.add_column("prompt", no_wrap=True, width=20)
    for name in ("tokens", "accept\nlength", "verified\nbefore", "\nafter", "revi-\nsions"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("as\nplain", no_wrap=True)
    for row in rows:
        table.add_row(
            row.domain,
            row.prompt,
            str(row.tokens),
            f"{row.accept_length:.2f}",
            f"{row.verified_before:.2f}",
            f"{row.verified_after:.2f}",
            ",".join(map(str, row.revisions)),
            "yes" if row.identical else "NO",
        )
    return table


def _answers(batches: Sequence[Batch]) -> list[Traced]:
    return list(chain.from_iterable(batch.answers for batch in batches))


def _speeds(batches: Sequence[Batch]) -> tuple[float, ...]:
    return tuple(batch.tokens_per_second for batch in batches)
