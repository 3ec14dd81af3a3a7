"""Starts the control service and SGLang servers as a user would, on free ports of this machine."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from dspark_sglang.demo.client import is_healthy
from dspark_sglang.demo.model import Models
from dspark_sglang.demo.processes import Child, Say, free_port, running

START_LIMIT_S = 300.0
SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True)
class EngineOptions:
    """How one SGLang server is started."""

    name: str
    """Shown in progress lines and used for the log file."""
    models: Models
    speculative: bool = True
    """False for plain decoding, without a draft."""
    algorithm: str = "DSPARK"
    """SGLang's speculative algorithm: DSPARK, DFLASH or EAGLE3; the draft must be of its kind."""
    mode: str = "compact"
    """`SGLANG_RAGGED_VERIFY_MODE`: static or compact."""
    dtype: str = "float32"
    control_endpoint: str = ""
    """host:port of the control service, empty for none."""
    worker_id: str = ""
    upstream_worker: bool = False
    """Leave SGLang's own speculative worker in place."""
    sps_file: Path | None = None
    sts_file: Path | None = None
    trace_endpoint: str = ""
    """host:port of an OTLP/gRPC receiver; turns tracing on."""
    max_requests: int = 8
    environ: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    """Further flags of `sglang.launch_server`."""


@dataclass(frozen=True)
class Engine:
    """A started SGLang server."""

    url: str
    child: Child

    def wait_ready(self, say: Say) -> None:
        """Returns when the server answers requests; raises ProcessFailed when it never does."""
        started = time.monotonic()
        self.child.wait_until(lambda: is_healthy(self.url), START_LIMIT_S, say)
        say(f"{self.child.name} answers after {time.monotonic() - started:.0f} s")


def chain_flags(gamma: int) -> tuple[str, ...]:
    """Flags of an EAGLE3 server that drafts chains of `gamma` tokens."""
    return ("--speculative-eagle-topk", "1", "--speculative-num-steps", str(gamma))


def engine_command(options: EngineOptions, port: int) -> list[str]:
    """The command line of `sglang.launch_server` for these options."""
    command = [sys.executable, "-m", "sglang.launch_server", "--device", "cpu"]
    command += ["--model-path", str(options.models.target), "--dtype", options.dtype]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    command += ["--max-running-requests", str(options.max_requests), "--max-total-tokens", "16384"]
    command += ["--mem-fraction-static", "0.4", "--log-level", "info", "--sleep-on-idle"]
    if options.speculative:
        command += ["--speculative-algorithm", options.algorithm]
        command += ["--speculative-draft-model-path", str(options.models.draft)]
    if options.sps_file:
        command += ["--speculative-dspark-sps-table-path", str(options.sps_file)]
    if options.sts_file:
        command += ["--speculative-dspark-confidence-sts-path", str(options.sts_file)]
    if options.trace_endpoint:
        command += ["--enable-trace", "--otlp-traces-endpoint", options.trace_endpoint]
    return [*command, *options.flags]


def engine_environ(options: EngineOptions, folder: Path) -> dict[str, str]:
    """The environment variables of one server."""
    settings = {
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
        "SGLANG_RAGGED_VERIFY_MODE": options.mode,
        "DSPARK_STATE_DIR": str(folder / f"state-{options.name}"),
    }
    if options.control_endpoint:
        settings["DSPARK_CONTROL_ENDPOINT"] = options.control_endpoint
    if options.worker_id:
        settings["DSPARK_WORKER_ID"] = options.worker_id
    if options.upstream_worker:
        settings["DSPARK_UPSTREAM_WORKER"] = "1"
    return settings | dict(options.environ)


@contextmanager
def engine(options: EngineOptions, folder: Path) -> Iterator[Engine]:
    """An SGLang server that is starting; call `wait_ready` before use. Ended after the block."""
    port = free_port()
    command = engine_command(options, port)
    log = folder / f"{options.name}.log"
    environ = engine_environ(options, folder)
    with running(f"SGLang ({options.name})", command, environ, log) as child:
        yield Engine(f"http://127.0.0.1:{port}", child)


@dataclass(frozen=True)
class Control:
    """A started control service."""

    endpoint: str
    child: Child

    def wait_ready(self, say: Say) -> None:
        """Returns when the service accepts calls."""
        self.child.wait_until(lambda: accepts_calls(self.endpoint), 60, say)


@contextmanager
def control_service(folder: Path, port: int | None = None) -> Iterator[Control]:
    """The control service with a database in `folder`, on a free port unless one is given."""
    endpoint = f"127.0.0.1:{port or free_port()}"
    command = [str(SCRIPTS / "dspark-control"), "--listen", endpoint]
    command += ["--database", f"sqlite:///{folder / 'control.db'}"]
    with running("dspark-control", command, {}, folder / "control.log") as child:
        yield Control(endpoint, child)


def accepts_calls(endpoint: str) -> bool:
    """Whether a gRPC server answers at host:port."""
    with grpc.insecure_channel(endpoint) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=1)
        except grpc.FutureTimeoutError:
            return False
    return True


@contextmanager
def work_folder(keep: Path | None = None) -> Iterator[Path]:
    """A folder for logs and state: `keep`, else a temporary one that is removed after the block."""
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="dspark-") as folder:
        yield Path(folder)


def external_collector() -> str:
    """host:port of the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names, "" for none."""
    url = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return url.split("://", 1)[-1].rstrip("/")
