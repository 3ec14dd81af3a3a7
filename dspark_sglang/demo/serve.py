"""`make serve`: control service and SGLang with DSPARK, up until Ctrl-C, and what to try."""

import argparse
import time
from contextlib import ExitStack
from pathlib import Path

from dspark_sglang.demo.admin import ARTIFACTS, VERIFIES_ALL, VERIFIES_LITTLE, Admin, admin
from dspark_sglang.demo.model import prepared_models
from dspark_sglang.demo.processes import ProcessFailed, ended_by_signals
from dspark_sglang.demo.servers import (
    SCRIPTS,
    Control,
    Engine,
    EngineOptions,
    control_service,
    engine,
    external_collector,
    work_folder,
)
from dspark_sglang.demo.steps import Steps

WORKER_ID = "local-engine"
HELP = """
SGLang answers at {url}, the control service at {endpoint}. Logs: {folder}

Try in another terminal:
  curl -s {url}/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{{"model": "default", "messages": [{{"role": "user", "content": "What is 17 + 25?"}}]}}'
  export DSPARKCTL_SERVER={endpoint} PATH="{bin}:$PATH"
  dsparkctl workers
  dsparkctl sps apply {artifacts}/sps-steep.json --bind default --reason 'try a steep table'
  dsparkctl bind default --policy policy-verify-all
  dsparkctl history

Ctrl-C ends both.
"""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", default="bfloat16", help="dtype of the model")
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and state")
    return parser.parse_args()


def serve(options: argparse.Namespace, stack: ExitStack, steps: Steps) -> None:
    """Starts both servers, prints what to try, returns when one of them ends."""
    steps("Prepare the model and its draft")
    models = prepared_models()
    folder = stack.enter_context(work_folder(options.keep))
    steps("Start the control service")
    control = stack.enter_context(control_service(folder))
    control.wait_ready(steps.note)
    steps("Start SGLang with DSPARK")
    engine_options = EngineOptions(
        name="sglang",
        models=models,
        dtype=options.dtype,
        control_endpoint=control.endpoint,
        worker_id=WORKER_ID,
        trace_endpoint=external_collector(),
    )
    server = stack.enter_context(engine(engine_options, folder))
    server.wait_ready(steps.note)
    with admin(control.endpoint) as operator:
        begin(operator)
    steps.console.print(what_to_try(server, control, folder))
    while control.child.is_running() and server.child.is_running():
        time.sleep(0.5)
    dead = server.child if control.child.is_running() else control.child
    raise dead.failure("has ended by itself")


def begin(operator: Admin) -> None:
    """Stores the example artifacts and binds the schedule that verifies everything."""
    for file in (*VERIFIES_LITTLE, *VERIFIES_ALL):
        operator.put(file)
    operator.bind(VERIFIES_ALL, "serve: start")


def what_to_try(server: Engine, control: Control, folder: Path) -> str:
    """The text that a user reads once both servers are up."""
    return HELP.format(
        url=server.url,
        endpoint=control.endpoint,
        folder=folder,
        bin=SCRIPTS,
        artifacts=ARTIFACTS,
    )


def main() -> None:
    """Serves until Ctrl-C or SIGTERM."""
    options = arguments()
    steps = Steps()
    try:
        with ended_by_signals(), ExitStack() as stack:
            serve(options, stack, steps)
    except ProcessFailed as fault:
        raise SystemExit(f"serve: {fault}") from None
    except KeyboardInterrupt:
        steps("Stopped; all servers are ended")


if __name__ == "__main__":
    main()
