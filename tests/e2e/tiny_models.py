"""A tiny random target and draft, whose heads divide by two, for tensor-parallel servers."""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from dspark_sglang.demo.model import Models

HIDDEN, HEADS, KV_HEADS, LAYERS, RANK, GAMMA = 64, 4, 2, 4, 8, 7
TARGET_LAYERS = (0, 1, 2)
TOKENIZER_FILES = ("tokenizer*.json", "special_tokens_map.json", "*.jinja", "vocab.json", "*.txt")


def tiny_models(folder: Path, tokenizer_of: Path) -> Models:
    """Write both checkpoints below `folder`, with the tokenizer of another model."""
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        vocab_size=json.loads((tokenizer_of / "config.json").read_text())["vocab_size"],
        max_position_embeddings=2048,
    )
    target, draft = folder / "target", folder / "draft"
    LlamaForCausalLM(config).save_pretrained(target)
    for pattern in TOKENIZER_FILES:
        for file in tokenizer_of.glob(pattern):
            shutil.copy(file, target)
    _write_draft(draft, config)
    return Models(target=target, draft=draft)


def _write_draft(folder: Path, target: LlamaConfig) -> None:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(_draft_config(target)))
    shapes = _draft_shapes(target)
    weights = {
        name: torch.ones(shape) if "norm" in name else 0.05 * torch.randn(shape)
        for name, shape in shapes.items()
    }
    save_file(weights, folder / "model.safetensors")


def _draft_config(target: LlamaConfig) -> dict[str, object]:
    return {
        "architectures": ["Qwen3DSparkModel"],
        "model_type": "qwen3",
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HIDDEN // HEADS,
        "intermediate_size": 2 * HIDDEN,
        "vocab_size": target.vocab_size,
        "num_hidden_layers": 1,
        "num_target_layers": LAYERS,
        "block_size": GAMMA,
        "tie_word_embeddings": False,
        "layer_types": ["full_attention"],
        "mask_token_id": 5,
        "target_layer_ids": list(TARGET_LAYERS),
        "enable_confidence_head": True,
        "confidence_head_with_markov": True,
        "markov_rank": RANK,
        "markov_head_type": "vanilla",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 2048,
        "hidden_act": "silu",
        "attention_bias": False,
        "dtype": "float32",
    }


def _draft_shapes(target: LlamaConfig) -> dict[str, tuple[int, ...]]:
    head, wide = HIDDEN // HEADS, 2 * HIDDEN
    layer = {
        "input_layernorm.weight": (HIDDEN,),
        "post_attention_layernorm.weight": (HIDDEN,),
        "mlp.gate_proj.weight": (wide, HIDDEN),
        "mlp.up_proj.weight": (wide, HIDDEN),
        "mlp.down_proj.weight": (HIDDEN, wide),
        "self_attn.q_proj.weight": (HIDDEN, HIDDEN),
        "self_attn.k_proj.weight": (KV_HEADS * head, HIDDEN),
        "self_attn.v_proj.weight": (KV_HEADS * head, HIDDEN),
        "self_attn.o_proj.weight": (HIDDEN, HIDDEN),
        "self_attn.q_norm.weight": (head,),
        "self_attn.k_norm.weight": (head,),
    }
    return {
        **{f"layers.0.{name}": shape for name, shape in layer.items()},
        "fc.weight": (HIDDEN, HIDDEN * len(TARGET_LAYERS)),
        "hidden_norm.weight": (HIDDEN,),
        "norm.weight": (HIDDEN,),
        "markov_head.markov_w1.weight": (target.vocab_size, RANK),
        "markov_head.markov_w2.weight": (target.vocab_size, RANK),
        "confidence_head.proj.weight": (1, HIDDEN + RANK),
        "confidence_head.proj.bias": (1,),
    }
