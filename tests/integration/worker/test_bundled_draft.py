"""Targets that bundle their draft: told apart by their config, and refused on a CPU."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dspark_sglang.platforms.cpu.activation import accelerator_present
from dspark_sglang.platforms.cpu.bundled import bundled_keys, refuse_bundled_draft

CONFIGS = Path(__file__).parents[2] / "e2e" / "families" / "configs"
BUNDLE = CONFIGS / "deepseek-v4-flash-dspark.json"
KEYS = [
    "dspark_block_size",
    "dspark_markov_rank",
    "dspark_noise_token_id",
    "dspark_target_layer_ids",
]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    shutil.copy(BUNDLE, tmp_path / "config.json")
    return tmp_path


def arguments(target: Path, draft: Path | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        model_path=str(target),
        revision=None,
        speculative_draft_model_path=draft and str(draft),
        speculative_draft_model_revision=None,
    )


def test_the_keys_of_a_bundle_are_found() -> None:
    config = json.loads(BUNDLE.read_text())
    assert bundled_keys(config) == KEYS
    nested = {"architectures": config["architectures"], "text_config": config}
    assert bundled_keys(nested) == KEYS


def test_other_checkpoints_bundle_nothing() -> None:
    config = json.loads(BUNDLE.read_text())
    without = {key: value for key, value in config.items() if key not in KEYS}
    assert bundled_keys(without) == []
    assert bundled_keys({"architectures": ["Qwen3DSparkModel"], "dspark_block_size": 7}) == []
    assert bundled_keys({}) == []


def test_a_bundle_is_refused_as_a_target_and_as_a_draft(bundle: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    shutil.copy(CONFIGS / "qwen3-4b.json", plain / "config.json")
    refuse_bundled_draft(arguments(plain))
    refuse_bundled_draft(arguments(tmp_path / "absent"))
    for named in (arguments(bundle), arguments(plain, bundle)):
        with pytest.raises(ValueError, match="dspark_markov_rank"):
            refuse_bundled_draft(named)


@pytest.mark.skipif(accelerator_present(), reason="the platform stays out")
def test_the_server_ends_at_start_with_one_error(bundle: Path) -> None:
    command = [sys.executable, "-m", "sglang.launch_server", "--device", "cpu"]
    command += ["--model-path", str(bundle), "--speculative-algorithm", "DSPARK"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode != 0
    errors = [line for line in done.stderr.splitlines() if "bundles its DSPARK draft" in line]
    assert len(errors) == 1
    assert done.stderr.rstrip().endswith(errors[0])
    for word in (str(bundle), *KEYS, "CPU", "GPU host", "Qwen3"):
        assert word in errors[0]
