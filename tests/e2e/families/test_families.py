"""Tiny targets of each family, random weights and all: drafting changes no token of the output.

Greedy output of the real server with DSPARK is compared with that of the server without, and
both with transformers, in float32.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dspark_sglang.demo.model import Models
from dspark_sglang.demo.servers import EngineOptions

from ..platform.client import post_all
from ..platform.conftest import output_ids, serving
from .checkpoints import GAMMA, PROMPTS, TOKENS, write_family

pytestmark = pytest.mark.timeout(600)
TEXT_ONLY = ("--json-model-override-args", '{"language_model_only": true}')
FLAGS = ("--skip-tokenizer-init", "--context-length", "256", *TEXT_ONLY)
"""Requests are token ids: nothing here has a tokenizer or an image processor."""
TRIMMING = """{"sample_batch_tokens": [1, 20], "sample_steps_per_sec": [50.0, 5.0],
"max_batch_tokens": 64}"""
"""Steps take ten times as long from 20 tokens on: four requests share 15 drafts at most."""

FAMILIES = (("llama-3.1-8b", "static"), ("qwen3-4b", "compact"), ("gemma-4-12b", "compact"))


def request(prompt: list[int]) -> dict[str, Any]:
    params = {"temperature": 0, "max_new_tokens": TOKENS, "ignore_eos": True}
    return {"input_ids": prompt, "sampling_params": params}


def plain_answers(models: Models, folder: Path) -> list[list[int]]:
    options = EngineOptions("plain", models, speculative=False, flags=FLAGS)
    with serving(options, folder) as server:
        return [output_ids(answer) for answer in post_all(server.url, [*map(request, PROMPTS)])]


def drafted_answers(models: Models, folder: Path, mode: str) -> list[Mapping[str, Any]]:
    (folder / "sps.json").write_text(TRIMMING)
    sps = folder / "sps.json" if mode == "compact" else None
    options = EngineOptions("dspark", models, mode=mode, sps_file=sps, flags=FLAGS)
    with serving(options, folder) as server:
        return list(post_all(server.url, [*map(request, PROMPTS)]))


def assert_drafts_were_verified(answers: list[Mapping[str, Any]], mode: str) -> None:
    for meta in (answer["meta_info"] for answer in answers):
        assert 0 < meta["spec_verify_ct"] < TOKENS
        assert 1 < meta["spec_accept_length"] <= GAMMA + 1
        assert (meta.get("spec_cap_length", GAMMA + 1) < GAMMA + 1) is (mode == "compact")
    assert any(answer["meta_info"]["spec_accept_length"] < GAMMA for answer in answers)


@pytest.mark.parametrize(("name", "mode"), FAMILIES)
def test_drafting_changes_no_token(name: str, mode: str, tmp_path: Path) -> None:
    family = write_family(name, tmp_path)
    assert all(len(set(answer)) > 4 for answer in family.answers)
    assert plain_answers(family.models, tmp_path) == family.answers
    drafted = drafted_answers(family.models, tmp_path, mode)
    assert [output_ids(answer) for answer in drafted] == family.answers
    assert_drafts_were_verified(drafted, mode)


@pytest.mark.parametrize(("name", "mode"), [("qwen3-8b", "static"), ("qwen3-14b", "compact")])
def test_larger_shapes_draft_as_transformers_answers(name: str, mode: str, tmp_path: Path) -> None:
    """Other head ratios and no tied embeddings; without a server that decodes plainly."""
    family = write_family(name, tmp_path)
    drafted = drafted_answers(family.models, tmp_path, mode)
    assert [output_ids(answer) for answer in drafted] == family.answers
    assert_drafts_were_verified(drafted, mode)
