import json
from pathlib import Path

import pytest
import torch
from training_helpers import WORDS, run_config, save_tokenizer, tiny_llama

from dspark_sglang.training.config import TrainingConfig


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    tiny_llama().save_pretrained(folder)
    save_tokenizer(folder)
    return folder


@pytest.fixture(scope="session")
def prompt_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prompts") / "prompts.jsonl"
    rows = [
        {"prompt": f"{WORDS[i]} {WORDS[2 * i]} {WORDS[(7 * i) % 40]}", "domain": "ab"[i % 2]}
        for i in range(20)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def config(llama_folder: Path, prompt_file: Path, tmp_path: Path) -> TrainingConfig:
    return run_config(llama_folder, prompt_file, tmp_path / "run")
