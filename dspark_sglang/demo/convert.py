"""Turns a GGUF file into a checkpoint folder; the only module of the set-up that needs torch."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
from transformers.utils import logging


def convert_gguf(gguf: Path, target: Path) -> None:
    """Writes bfloat16 safetensors, config, generation config and tokenizer to `target`.

    Raises ValueError when the tokenizer came out such that chat answers would not stop.
    """
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    if fault := _chat_fault(tokenizer):
        raise ValueError(f"{gguf.name}: {fault}")
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent,
        gguf_file=gguf.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


def _chat_fault(tokenizer: Any) -> str | None:
    """Why a chat with this tokenizer would go wrong, or None."""
    if tokenizer.eos_token != "<|im_end|>":
        return f"the end-of-sequence token is {tokenizer.eos_token!r}, not '<|im_end|>'"
    chat = [{"role": "user", "content": "Hi"}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    if not text.endswith("<|im_start|>assistant\n"):
        return f"the chat template ends in {text[-30:]!r}"
    return None
