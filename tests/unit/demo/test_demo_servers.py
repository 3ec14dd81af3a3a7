"""Command lines and environments of the servers."""

from pathlib import Path

import pytest

from dspark_sglang.demo.model import Models
from dspark_sglang.demo.servers import (
    EngineOptions,
    engine_command,
    engine_environ,
    external_collector,
)

MODELS = Models(Path("/models/target"), Path("/models/draft"))


def test_plain_decoding_has_no_draft() -> None:
    command = engine_command(EngineOptions("plain", MODELS, speculative=False), 1234)
    assert "/models/target" in command
    assert not any("draft" in part or "DSPARK" in part for part in command)


def test_dspark_with_tables_and_traces() -> None:
    options = EngineOptions(
        "dspark", MODELS, sps_file=Path("/t/sps.json"), trace_endpoint="127.0.0.1:4317"
    )
    command = engine_command(options, 1234)
    for flag, value in (
        ("--speculative-algorithm", "DSPARK"),
        ("--speculative-draft-model-path", "/models/draft"),
        ("--speculative-dspark-sps-table-path", "/t/sps.json"),
        ("--otlp-traces-endpoint", "127.0.0.1:4317"),
        ("--port", "1234"),
    ):
        assert command[command.index(flag) + 1] == value
    assert "--enable-trace" in command


def test_another_algorithm_with_its_own_draft() -> None:
    command = engine_command(EngineOptions("dflash", MODELS, algorithm="DFLASH"), 1234)
    assert command[command.index("--speculative-algorithm") + 1] == "DFLASH"
    assert command[command.index("--speculative-draft-model-path") + 1] == "/models/draft"


def test_environment_of_a_worker_under_control(tmp_path: Path) -> None:
    options = EngineOptions("a", MODELS, control_endpoint="127.0.0.1:7", worker_id="w")
    environ = engine_environ(options, tmp_path)
    assert environ["DSPARK_CONTROL_ENDPOINT"] == "127.0.0.1:7"
    assert environ["DSPARK_WORKER_ID"] == "w"
    assert environ["DSPARK_STATE_DIR"].startswith(str(tmp_path))
    assert "DSPARK_UPSTREAM_WORKER" not in environ


def test_environment_of_upstreams_worker(tmp_path: Path) -> None:
    environ = engine_environ(EngineOptions("a", MODELS, upstream_worker=True), tmp_path)
    assert environ["DSPARK_UPSTREAM_WORKER"] == "1"
    assert "DSPARK_CONTROL_ENDPOINT" not in environ


def test_how_threads_wait_is_left_to_the_platform(tmp_path: Path) -> None:
    assert "OMP_WAIT_POLICY" not in engine_environ(EngineOptions("a", MODELS), tmp_path)


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [("", ""), ("http://collector:4317/", "collector:4317"), ("collector:4317", "collector:4317")],
)
def test_collector_of_the_user(monkeypatch: pytest.MonkeyPatch, url: str, endpoint: str) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    assert external_collector() == endpoint
