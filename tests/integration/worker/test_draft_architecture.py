"""Drafts for which SGLang has no model are refused at start, with what to use instead."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dspark_sglang.draft_architecture import DENSE, refuse_unknown_draft

TARGET = Path(__file__).parents[2] / "e2e" / "families" / "configs" / "llama-3.1-8b.json"


def draft(folder: Path, architecture: str) -> Path:
    folder.mkdir()
    config = {"architectures": [architecture], "model_type": "qwen3", "block_size": 7}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def refuse(path: Path | None) -> None:
    refuse_unknown_draft(
        SimpleNamespace(
            speculative_draft_model_path=path and str(path), speculative_draft_model_revision=None
        )
    )


@pytest.mark.parametrize("name", ["Qwen3DSparkModel", "DSparkDraftModel", "LlamaForCausalLM"])
def test_a_draft_with_a_model_passes(name: str, tmp_path: Path) -> None:
    refuse(draft(tmp_path / "draft", name))


def test_no_draft_and_an_unreadable_one_are_left_to_the_engine(tmp_path: Path) -> None:
    refuse(None)
    refuse(tmp_path / "absent")


def test_the_server_ends_at_start_with_one_error(tmp_path: Path) -> None:
    target, unknown = tmp_path / "target", draft(tmp_path / "draft", "Gemma4DSparkModel")
    target.mkdir()
    (target / "config.json").write_text(TARGET.read_text())
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(target)]
    command += ["--speculative-algorithm", "DSPARK", "--speculative-draft-model-path", str(unknown)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode != 0
    error = done.stderr.rstrip().splitlines()[-1]
    for word in (str(unknown), "Gemma4DSparkModel", *DENSE, "SGLANG_EXTERNAL_MODEL_PACKAGE"):
        assert word in error
