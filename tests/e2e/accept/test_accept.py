"""`make bench-accept` on the shipped draft alone: both sides, tables, plots and figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)

COMMAND = (sys.executable, "-m", "dspark_sglang.demo.accept", "--drafters", "--drafts", ".")
SMALL = ("--limit", "2", "--tokens", "32", "--timed", "1", "--dtype", "float32")


def test_both_sides_count_the_rounds_of_the_shipped_draft(tmp_path: Path) -> None:
    command = [*COMMAND, *SMALL, "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    line = json.loads(done.stdout.splitlines()[-1])
    assert line["bench"] == "accept"
    figures = line["figures"]
    reference, engine = (
        figures["by_side"][f"{side}, temperature 0"]["shipped"] for side in ("reference", "engine")
    )
    # The last rounds of an answer count for the engine alone.
    assert engine == pytest.approx(reference, rel=0.25)
    assert figures["accept_length"]["shipped"] == engine
    assert figures["by_side"]["engine, temperature 1"]["shipped"].keys() == engine.keys()
    assert all(speed > 0.2 for speed in figures["tokens_per_second_over_plain"]["shipped"].values())
    plots = {
        f"{name}-{t}.png" for name in ("conditional", "accept-length", "block-length") for t in "01"
    }
    assert {path.name for path in tmp_path.glob("*.png")} == plots
    assert json.loads((tmp_path / "accept-report.json").read_text())["figures"] == figures
    assert "the engine decodes" in done.stdout
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "the engine decodes" not in again.stdout, "what is measured already is not measured anew"
    assert json.loads(again.stdout.splitlines()[-1]) == line
