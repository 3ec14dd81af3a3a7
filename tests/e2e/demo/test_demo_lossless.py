"""Output of DSPARK in every mode against plain decoding, on the project's own prompts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROMPTS = 16


@pytest.mark.timeout(1200)
def test_sixteen_prompts_are_lossless_in_every_mode(tmp_path: Path) -> None:
    report_file = tmp_path / "report.json"
    options = ["--limit", str(PROMPTS), "--tokens", "48", "--report", str(report_file)]
    done = subprocess.run(
        [sys.executable, "-m", "dspark_sglang.demo.lossless", *options],
        capture_output=True,
        text=True,
        timeout=1180,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    line = json.loads(done.stdout.splitlines()[-1])
    assert line["bench"] == "verify-lossless"
    assert line["how"]
    report = json.loads(report_file.read_text())
    assert report["prompts"] == PROMPTS
    assert set(report["passes"]) == {"static", "compact", "changing"}
    for name, each in report["passes"].items():
        assert each["differences_unexplained"] == 0, (name, each)
        assert each["identical"] + each["differences_by_rounding"] == PROMPTS
    assert report["passes"]["static"]["verified_per_step"] == 8.0
    assert report["passes"]["compact"]["verified_per_step"] < 4.0
    assert report["schedules_written"] > 10
    assert report["revisions_seen_applied"] > 5
