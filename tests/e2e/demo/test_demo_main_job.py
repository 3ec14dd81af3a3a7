"""`make demo` as a user runs it: real servers, real changes, a report that says what happened."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest


@pytest.mark.timeout(600)
def test_the_demonstration_end_to_end(tmp_path: Path) -> None:
    report_file = tmp_path / "report.json"
    options = ["--rounds", "2", "--tokens", "32", "--keep", str(tmp_path / "keep")]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-m", "dspark_sglang.demo", *options, "--report", str(report_file)],
        capture_output=True,
        text=True,
        timeout=580,
        env=environ,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    report = json.loads(report_file.read_text())
    assert report["identical_to_plain"] is True
    assert report["changed_while_requests_ran"] is True
    assert set(report["accept_length"]) == {"math", "code", "chat"}
    assert all(1.0 <= length <= 8.0 for length in report["accept_length"].values())
    assert report["verified_per_request"]["before"] > 2 * report["verified_per_request"]["after"]
    first, second = report["revisions"]
    assert second > first > 0
    assert report["seconds_from_write_to_applied"] < 5.0
    assert report["dspark_over_plain_tokens_per_second"] > 0
    in_the_change = [row for row in report["rows"][:3] if row["revisions"] == [first, second]]
    assert len(in_the_change) == 3, report["rows"]
    assert "dspark.decode" in done.stdout
    assert "dspark.accepted_histogram" in done.stdout
    assert_nothing_runs(tmp_path / "keep")


def assert_nothing_runs(folder: Path) -> None:
    """No process whose command line or environment names the run's folder."""
    left = []
    for process in psutil.process_iter():
        try:
            named = [*process.cmdline(), *process.environ().values()]
        except psutil.Error:
            continue
        if process.pid != os.getpid() and any(str(folder) in text for text in named):
            left.append(process.cmdline())
    assert left == []
