"""The shipped draft on its real target: speculative greedy output is the target's own."""

import pytest
import torch
from transformers import AutoTokenizer

from dspark_sglang.demo.model import prepared_models
from dspark_sglang.reference import DecodeOptions, generate, generate_plain, read_draft
from dspark_sglang.reference.hf_target import HFTarget

PROMPTS = (
    "What is 12 + 30? Show the steps.",
    "Write a Python function that adds two numbers.",
)


def test_shipped_draft(capsys: pytest.CaptureFixture[str]) -> None:
    models = prepared_models()
    target = HFTarget.load(models.target, torch.float32)
    draft = read_draft(models.draft, torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(models.target)
    options = DecodeOptions(max_new_tokens=24)
    rounds = []
    for prompt in PROMPTS:
        chat = [{"role": "user", "content": prompt}]
        ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
        found = generate(ids, target, draft, options)
        assert found.tokens == generate_plain(ids, target, options)
        rounds += found.rounds
    lengths = [each.accepted + 1 for each in rounds]
    with capsys.disabled():
        print(f"\nmean accept length {sum(lengths) / len(lengths):.2f} in {len(rounds)} rounds")
    # A draft that is read or run wrongly accepts next to nothing.
    assert sum(each.accepted for each in rounds) >= len(rounds) / 4
