"""Tiny targets of several families, with a tokenizer, and a run that overfits them."""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dspark_sglang.reference import DraftConfig
from dspark_sglang.training.config import TrainingConfig

VOCABULARY = 64
MASK = 63
WORDS = [f"w{number}" for number in range(VOCABULARY - 2)]

SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.15,
    "eos_token_id": VOCABULARY - 2,
    "pad_token_id": None,
    "bos_token_id": None,
}


def tiny_llama() -> Any:
    torch.manual_seed(3)
    return LlamaForCausalLM(LlamaConfig(**SHAPE))


def draft_config(**changes: object) -> DraftConfig:
    fields: dict[str, object] = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "intermediate_size": 32,
        "vocab_size": VOCABULARY,
        "num_hidden_layers": 2,
        "rms_norm_eps": 1e-5,
        "rope_theta": 1e4,
        "num_target_layers": 4,
        "target_layer_ids": (1, 2),
        "gamma": 3,
        "mask_token_id": MASK,
        "markov_head_type": "vanilla",
        "markov_rank": 4,
        "enable_confidence_head": True,
        "confidence_head_with_markov": True,
    }
    return DraftConfig(**{**fields, **changes})  # type: ignore[arg-type]


def save_tokenizer(folder: Path) -> None:
    ids = {word: number for number, word in enumerate([*WORDS, "<end>", "<mask>"])}
    model = Tokenizer(WordLevel(ids, unk_token="<mask>"))
    model.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<end>").save_pretrained(folder)


def run_config(target: Path, prompts: Path, output: Path, **fit: Any) -> TrainingConfig:
    return TrainingConfig.model_validate(
        {
            "target": str(target),
            "dtype": "float32",
            "prompts": [str(prompts)],
            "output": str(output),
            "answers": {"max_new_tokens": 40, "batch_size": 8},
            "draft": {"num_hidden_layers": 2, "mask_token_id": MASK, "markov_rank": 16},
            "fit": {
                "max_steps": 800,
                "held_out": 4,
                "evaluate_every": 200,
                "learning_rate": 3e-3,
                "cross_entropy": 1.0,
                "precision": "no",
                **fit,
            },
        }
    )
