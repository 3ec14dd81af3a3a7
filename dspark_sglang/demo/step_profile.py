"""`make bench-step`: where the time of a decoding step goes, plain and with DSPARK.

SGLang's own profiler records the scheduler while one request is answered; the time of each
operator, less that of the operators inside it, is added up by kind. The profiler slows small
operators and Python more than large ones, so the shares are for finding waste, not for speed.
Prints one JSON object last.
"""

import argparse
import gzip
import json
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from dspark_sglang.demo.client import Chat, generate
from dspark_sglang.demo.model import prepared_models
from dspark_sglang.demo.processes import ProcessFailed, one_line_faults
from dspark_sglang.demo.prompts import load_prompts
from dspark_sglang.demo.servers import EngineOptions, engine, work_folder
from dspark_sglang.demo.steps import Steps

KINDS = {
    "matrix products": ("mm", "linear", "addmm", "bmm", "matmul", "mkldnn"),
    "attention": ("scaled_dot_product", "softmax"),
    "copies": ("copy", "cat", "index", "clone", "contiguous", "_to_copy", "gather", "scatter"),
}
"""Operators of a kind by parts of their names; the first kind that fits counts."""
OTHER, OUTSIDE = "other operators", "outside of operators"
TRACE_LIMIT_S = 60.0


class Event(NamedTuple):
    """One operator in a thread; microseconds."""

    name: str
    start: float
    length: float


def kind_of(name: str) -> str:
    """The kind of an operator."""
    return next(
        (kind for kind, parts in KINDS.items() if any(part in name for part in parts)), OTHER
    )


def own_times(events: Iterable[Event]) -> Counter[str]:
    """Microseconds of each kind, of operators without those inside them."""
    times: Counter[str] = Counter()
    stack: list[Event] = []
    for event in sorted(events, key=lambda each: (each.start, -each.length)):
        while stack and stack[-1].start + stack[-1].length <= event.start:
            stack.pop()
        times[kind_of(event.name)] += event.length  # type: ignore[assignment]
        if stack:
            times[kind_of(stack[-1].name)] -= event.length  # type: ignore[assignment]
        stack.append(event)
    return times


def busiest_thread(trace: dict[str, Any]) -> list[Event]:
    """The operators of the thread that has most of them."""
    threads: dict[tuple[Any, Any], list[Event]] = defaultdict(list)
    for each in trace["traceEvents"]:
        if each.get("ph") == "X" and each.get("cat") == "cpu_op":
            event = Event(each["name"], float(each["ts"]), float(each["dur"]))
            threads[each["pid"], each["tid"]].append(event)
    return max(threads.values(), key=len)


def milliseconds(events: Sequence[Event], steps: int) -> dict[str, float]:
    """Of each kind a step, with what the thread did outside of operators."""
    end = max(event.start + event.length for event in events)
    whole = end - min(event.start for event in events)
    times = own_times(events)
    times[OUTSIDE] = whole - sum(times.values())  # type: ignore[assignment]
    return {kind: round(times[kind] / 1000 / steps, 2) for kind in (*KINDS, OTHER, OUTSIDE)}


def profiled(options: EngineOptions, text: str, tokens: int, folder: Path, steps: Steps) -> Any:
    """Milliseconds a step by kind, of one request after a warm-up."""
    with engine(options, folder) as server:
        server.wait_ready(steps.note)
        generate(server.url, text, tokens, ignore_eos=True)
        traces = folder / f"trace-{options.name}"
        _post(server.url, "start_profile", {"activities": ["CPU"], "output_dir": str(traces)})
        answer = generate(server.url, text, tokens, ignore_eos=True)
        _post(server.url, "stop_profile", {})
        return milliseconds(busiest_thread(_trace_in(traces)), answer.rounds or tokens - 1)


def _post(url: str, path: str, body: dict[str, Any]) -> None:
    sent = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/{path}", json.dumps(body).encode(), sent)
    urllib.request.urlopen(request, timeout=TRACE_LIMIT_S).read()


def _trace_in(folder: Path) -> dict[str, Any]:
    """The one trace of a folder, once it is whole."""
    until = time.monotonic() + TRACE_LIMIT_S
    while time.monotonic() < until:
        for path in folder.rglob("*.gz"):
            try:
                return json.loads(gzip.decompress(path.read_bytes()))  # type: ignore[no-any-return]
            except (EOFError, ValueError):
                pass
        time.sleep(0.5)
    raise ProcessFailed(f"the profiler wrote no whole trace into {folder}")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and traces")
    return parser.parse_args()


def measure(options: argparse.Namespace, steps: Steps) -> dict[str, dict[str, float]]:
    """Milliseconds a step by kind, of the plain server and of DSPARK."""
    steps("Prepare the model and its draft")
    models = prepared_models()
    text = Chat(models.target).render(load_prompts(limit=1)[0].text)
    found = {}
    with work_folder(options.keep) as folder:
        for name, speculative in (("plain", False), ("DSPARK", True)):
            steps(f"{name}: profile one request of {options.tokens} tokens")
            server = EngineOptions(name, models, speculative=speculative, dtype=options.dtype)
            found[name] = profiled(server, text, options.tokens, folder, steps)
    return found


def show(figures: dict[str, dict[str, float]], steps: Steps) -> None:
    """Prints the table."""
    table = Table(title="milliseconds a step")
    for column in ("", *figures):
        table.add_column(column, justify="left" if not column else "right")
    for kind in (*KINDS, OTHER, OUTSIDE):
        table.add_row(kind, *(f"{row[kind]:.2f}" for row in figures.values()))
    table.add_row("whole step", *(f"{sum(row.values()):.2f}" for row in figures.values()))
    steps.console.print(table)


def main() -> None:
    """Measures and prints."""
    options, steps = arguments(), Steps()
    with one_line_faults("bench-step"):
        figures = measure(options, steps)
    show(figures, steps)
    how = (
        f"CPU, {options.dtype}, one greedy request of {options.tokens} tokens after a warm-up, "
        "compact mode, under SGLang's profiler: own time of operators by kind, milliseconds a step"
    )
    print(json.dumps({"bench": "step", "figures": figures, "how": how}))


if __name__ == "__main__":
    main()
