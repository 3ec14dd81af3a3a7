"""The engine's rounds against the reference's, on the project's own prompts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROMPTS = 6
TOKENS = 24
HEADS = ("vanilla", "rnn")


@pytest.mark.timeout(900)
def test_drafts_confidences_and_accept_lengths_are_the_references(tmp_path: Path) -> None:
    options = ["--limit", str(PROMPTS), "--tokens", str(TOKENS), "--batches", "8"]
    done = subprocess.run(
        [sys.executable, "-m", "dspark_sglang.demo.parity", *options, "--heads", *HEADS],
        capture_output=True,
        text=True,
        timeout=880,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    line = json.loads(done.stdout.splitlines()[-1])
    assert line["bench"] == "verify-parity"
    assert set(line["figures"]) == {f"{head}_batch_8" for head in HEADS}
    for name, each in line["figures"].items():
        assert each["unexplained"] == 0, (name, each)
        assert each["requests"] == PROMPTS
        assert each["rounds"] > 2 * PROMPTS
        assert each["confidences"] > 6 * each["rounds"]
        assert each["confidence_max_difference"] < 1e-4
        # A head or a batch that does nothing would prove nothing.
        assert each["accept_length"] > 1.1
        assert each["batch_mean"] > 2
