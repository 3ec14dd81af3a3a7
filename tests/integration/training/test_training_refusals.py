"""What cannot be trained is refused with what to do about it, before hours are spent."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from training_helpers import save_tokenizer, tiny_llama

from dspark_sglang.training.answers import Answer
from dspark_sglang.training.config import TrainingConfig, read_config
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.run import Run
from dspark_sglang.training.splitting import split

pytestmark = pytest.mark.integration


def run_of(config: TrainingConfig, **changes: dict[str, Any]) -> Run:
    """A run with some keys of its sections changed."""
    sections = {
        name: getattr(config, name).model_copy(update=change) for name, change in changes.items()
    }
    return Run(config.model_copy(update=sections), Progress(lambda text: None))


def done(config: TrainingConfig, *stages: str, **changes: dict[str, Any]) -> None:
    for stage in stages:
        run_of(config, **changes).stage(stage)


SHORT = {"max_steps": 4, "evaluate_every": 4}


@pytest.mark.parametrize(
    ("stages", "changes", "words"),
    [
        (("generate",), {"answers": {"max_prompt_tokens": 1}}, "answers.max_prompt_tokens = 1"),
        (("fit",), {}, "run the stages generate and cache"),
        (("evaluate",), {}, "run the stage fit"),
        (("generate",), {"draft": {"target_layer_ids": (4,)}}, "shows layers 0 to 3"),
        (("generate",), {"draft": {"target_layer_ids": (7,)}}, "must be different layers"),
        (
            ("generate", "cache", "fit"),
            {"answers": {"max_new_tokens": 10}},
            "raise answers.max_new_tokens",
        ),
        (
            ("generate", "cache", "fit"),
            {"draft": {"num_hidden_layers": 9}},
            "num_hidden_layers = 9: the target has 5 layers",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused(config, stages, changes, words) -> None:
    with pytest.raises(ValueError, match=words):
        done(config, *stages, **changes)


def test_a_draft_that_cannot_be_is_refused_before_anything_is_generated(config) -> None:
    with pytest.raises(ValueError, match="mask_token_id = 64"):
        done(config, "generate", draft={"mask_token_id": 64})
    assert not (config.output / "answers.jsonl").exists()


def test_another_target_does_not_go_on_in_the_folder(config, tmp_path: Path) -> None:
    done(config, "generate", "cache")
    torch.manual_seed(0)
    other = tiny_llama()
    with torch.no_grad():
        other.lm_head.weight.mul_(2)
    other.save_pretrained(tmp_path / "other")
    save_tokenizer(tmp_path / "other")
    changed = config.model_copy(update={"target": str(tmp_path / "other")})
    with pytest.raises(ValueError, match="made with other settings: target was"):
        done(changed, "cache")


def test_a_checkpoint_is_not_resumed_as_another_draft(config) -> None:
    done(config, "generate", "cache", "fit", fit=SHORT)
    for stage in ("fit", "evaluate"):
        with pytest.raises(ValueError, match="markov_rank was 16, is 8"):
            done(config, stage, fit=SHORT, draft={"markov_rank": 8})
    done(config, "fit", fit={**SHORT, "max_steps": 8})


def test_states_of_other_answers_are_noticed(config) -> None:
    done(config, "generate", "cache")
    path = config.output / "answers.jsonl"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(reversed(rows)))
    with pytest.raises(ValueError, match="are of another answer"):
        done(config, "fit", fit=SHORT)


def answer(number: int, length: int = 40, temperature: float = 0.0, domain: str = "a") -> Answer:
    return Answer(f"prompt {number}", domain, temperature, [1], [2] * length)


def test_a_fifth_of_a_domain_is_held_out_at_most() -> None:
    answers = [answer(i) for i in range(30)] + [answer(99, domain="b", length=3)]
    parts = split(answers, range(31), 1000, 7)
    assert {name: len(part) for name, part in parts.held_out.items()} == {"a": 6}
    assert len(parts.train) == 25
    assert not {*parts.train} & {*parts.held_out["a"]}


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([answer(0)], "no answer is left to train on"),
        ([answer(0), answer(1, temperature=1.0, length=1)], "no answer is left to train on"),
        ([answer(0, length=14), answer(1, temperature=1.0)], "no greedy answer is longer than"),
    ],
)
def test_too_few_answers_are_refused(answers, words) -> None:
    with pytest.raises(ValueError, match=words):
        split(answers, range(len(answers)), 48, 7)


def test_the_target_too_is_relative_to_the_file(tmp_path: Path, llama_folder: Path) -> None:
    (tmp_path / "model").symlink_to(llama_folder)
    path = tmp_path / "run.yaml"
    document = {"prompts": ["p"], "output": "o", "draft": {"mask_token_id": 1}}
    for target, wanted in (("model", str(tmp_path / "model")), ("org/name", "org/name")):
        path.write_text(yaml.safe_dump({**document, "target": target}))
        assert read_config(path).target == wanted


@pytest.mark.parametrize("temperatures", [[], [-1.0]])
def test_temperatures_that_mean_nothing_are_refused(config, temperatures) -> None:
    document = json.loads(config.model_dump_json())
    document["answers"]["temperatures"] = temperatures
    with pytest.raises(ValueError, match="temperatures"):
        TrainingConfig.model_validate(document)


def test_the_command_ends_with_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dspark_sglang.training", "--config", str(tmp_path / "none")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("training: ")
    assert "Traceback" not in ended.stderr
