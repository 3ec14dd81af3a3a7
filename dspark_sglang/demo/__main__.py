"""`python -m dspark_sglang.demo`: the main job end to end, step by step, with a report.

Starts the control service and two real SGLang servers (DSPARK and plain decoding) on this machine,
answers prompts of three domains, replaces policy, STS and SPS table while requests run, compares
every answer with plain decoding and leaves nothing running.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dspark_sglang.demo.admin import admin
from dspark_sglang.demo.client import Chat
from dspark_sglang.demo.main_job import MainJob, Run
from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.otlp import Receiver, Span, receiver, tree_lines
from dspark_sglang.demo.processes import ProcessFailed, ended_by_signals
from dspark_sglang.demo.prompts import DOMAINS, load_prompts
from dspark_sglang.demo.report import Report, report_of, table_of
from dspark_sglang.demo.servers import (
    EngineOptions,
    control_service,
    engine,
    external_collector,
    work_folder,
)
from dspark_sglang.demo.steps import Steps
from dspark_sglang.demo.tracing import SHOWN, spans_of, wait_for_decode

WORKER_ID = "demo-engine"
SPANS_LIMIT_S = 20.0
"""SGLang exports spans in batches, every few seconds."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of one prompt per domain")
    parser.add_argument("--tokens", type=int, default=32, help="most tokens an answer")
    parser.add_argument("--report", type=Path, default=Path("demo-report.json"))
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and state")
    return parser.parse_args()


@contextmanager
def started(
    models: Models, folder: Path, trace_endpoint: str, tokens: int, steps: Steps
) -> Iterator[MainJob]:
    """Control service, DSPARK server and plain server for the length of the block."""
    with ExitStack() as stack:
        steps("Start the control service")
        control = stack.enter_context(control_service(folder))
        control.wait_ready(steps.note)
        steps("Start SGLang twice: with DSPARK under the control service, and plain")
        options = (
            EngineOptions(
                name="dspark",
                models=models,
                control_endpoint=control.endpoint,
                worker_id=WORKER_ID,
                trace_endpoint=trace_endpoint,
            ),
            EngineOptions(name="plain", models=models, speculative=False),
        )
        dspark, plain = (stack.enter_context(engine(each, folder)) for each in options)
        dspark.wait_ready(steps.note)
        plain.wait_ready(steps.note)
        operator = stack.enter_context(admin(control.endpoint))
        yield MainJob(dspark.url, plain.url, WORKER_ID, operator, tokens)


def collected(spans: Receiver | None, run: Run, steps: Steps) -> list[Span] | None:
    """The spans of all DSPARK requests; None when they went to another collector."""
    if spans is None:
        return None
    batches = (*run.before, *run.after)
    requests = [*run.change.answers, *(each for batch in batches for each in batch.answers)]
    if not wait_for_decode(spans, [each.trace_id for each in requests], SPANS_LIMIT_S):
        steps.note("some spans have not arrived in time")
    return spans.spans()


def show(report: Report, run: Run, spans: Sequence[Span] | None, steps: Steps) -> None:
    """Prints the table, the ratio and the span tree of a request that saw the change."""
    steps.console.print(table_of(report.rows))
    verified = report.verified_per_request
    domains = report.dspark_over_plain_by_domain.items()
    for line in (
        f"output identical to plain decoding: {'yes' if report.identical_to_plain else 'NO'}",
        "tokens per second, DSPARK over plain, one request at a time, median: "
        f"{report.dspark_over_plain_tokens_per_second:.2f} "
        f"({', '.join(f'{name} {ratio:.2f}' for name, ratio in domains)})",
        f"tokens verified a step: {verified['before']:.2f} before the change, "
        f"{verified['after']:.2f} after; applied {report.seconds_from_write_to_applied:.2f} s "
        f"after the write, revisions {report.revisions[0]} and {report.revisions[1]}",
    ):
        steps.console.print(line)
    if spans is None:
        steps.console.print("traces went to the collector of OTEL_EXPORTER_OTLP_ENDPOINT")
        return
    steps.console.print("span tree of a request that ran during the change:")
    trace = spans_of(spans, run.change.answers[0].trace_id)
    for line in tree_lines(trace, SHOWN):
        steps.console.print(f"  {line}")


def demonstrate(options: argparse.Namespace, stack: ExitStack, steps: Steps) -> Report:
    """The whole demonstration; `stack` ends what it starts."""
    steps("Prepare the model and its draft")
    models = prepared_models()
    prompts = load_prompts(limit=options.rounds * len(DOMAINS))
    chat = Chat(models.target)
    folder = stack.enter_context(work_folder(options.keep))
    spans = None if external_collector() else stack.enter_context(receiver())
    endpoint = spans.endpoint if spans else external_collector()
    job = stack.enter_context(started(models, folder, endpoint, options.tokens, steps))
    run = job.run([chat.render(prompt.text) for prompt in prompts], steps)
    steps("Collect the spans, end the servers")
    found = collected(spans, run, steps)
    report = report_of(prompts, run, found, steps.elapsed())
    show(report, run, found, steps)
    return report


def main() -> None:
    """Runs the demonstration; ends with status 1 when an answer differs from plain decoding."""
    options = arguments()
    steps = Steps()
    try:
        with ended_by_signals(), ExitStack() as stack:
            report = demonstrate(options, stack, steps)
            report.write(options.report)
    except (ProcessFailed, TimeoutError, RuntimeError) as fault:
        raise SystemExit(f"demo: {fault}") from None
    except KeyboardInterrupt:
        raise SystemExit("demo: interrupted; all servers are ended") from None
    steps(f"Done; the report is {options.report}")
    if not report.identical_to_plain:
        raise SystemExit("demo: an answer differs from plain decoding; see the table")


if __name__ == "__main__":
    main()
