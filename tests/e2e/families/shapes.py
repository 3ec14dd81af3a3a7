"""Public configs of the families, and the same configs shrunk to a size that a CPU answers with.

`configs/*.json` hold what the public checkpoints say: Qwen3 4B, 8B and 14B, Llama 3.1 8B,
Gemma 4 12B and DeepSeek-V4-Flash with its bundled draft (that one without its per-layer and
quantization tables, which nothing here reads). Shrinking touches widths, depth, window and
vocabulary, and nothing that makes a family: its ratios of heads, head width against hidden
width, tied embeddings, rope parameters, norms, layer pattern and soft caps stay.
"""

import json
import math
from pathlib import Path
from typing import Any

Json = dict[str, Any]

HEAD_DIM = 16
"""Of the narrowest head; all other widths shrink by the same factor."""
LAYERS = 6
"""One period of Gemma's pattern: five sliding layers and a full one."""
VOCABULARY = 512
WINDOW = 8
"""Shorter than the prompts, so that sliding layers do forget."""

HEADS = ("num_attention_heads", "num_key_value_heads", "num_global_key_value_heads")
HEAD_WIDTHS = ("head_dim", "global_head_dim")
WIDTHS = ("hidden_size", "intermediate_size")
VISION_WIDTHS = ("mm_embed_dim", "output_proj_dims")


def public_config(name: str) -> Json:
    """The config of a public checkpoint, as its `config.json` has it."""
    path = Path(__file__).parent / "configs" / f"{name}.json"
    document: Json = json.loads(path.read_text())
    return document


def text_config(config: Json) -> Json:
    """The part about the language model, which is all of it for a model of text alone."""
    nested: Json = config.get("text_config", config)
    return nested


def head_dim(text: Json) -> int:
    """Width of a head, which Llama's configs leave to the reader."""
    return int(text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"])


def scaled(config: Json) -> Json:
    """The same architecture, thousands of times smaller."""
    text = text_config(config)
    narrower = head_dim(text) // HEAD_DIM
    fewer = max(1, math.gcd(*(text[key] for key in HEADS if key in text)) // 2)
    small = _divided(text, HEADS, fewer)
    small = _divided(small, HEAD_WIDTHS, narrower)
    small = _shortened(_divided(small, WIDTHS, narrower * fewer))
    if text is config:
        return small
    vision = _divided(config["vision_config"], VISION_WIDTHS, narrower * fewer)
    return _within_vocabulary(config) | {"text_config": small, "vision_config": vision}


def _divided(config: Json, keys: tuple[str, ...], divisor: int) -> Json:
    return config | {key: config[key] // divisor for key in keys if key in config}


def _shortened(text: Json) -> Json:
    """Fewer layers and tokens, and a shorter window."""
    lengths = {
        "num_hidden_layers": LAYERS,
        "max_window_layers": LAYERS,
        "vocab_size": VOCABULARY,
        "vocab_size_per_layer_input": VOCABULARY,
        "sliding_window": text.get("sliding_window") and WINDOW,
        "layer_types": text.get("layer_types", [])[:LAYERS],
    }
    return _within_vocabulary(text | {key: lengths[key] for key in lengths if key in text})


def _within_vocabulary(config: Json) -> Json:
    """Every token that the config names, folded into the small vocabulary."""
    named = {key: value for key, value in config.items() if "_token_i" in key and value is not None}
    return config | {key: _folded(value) for key, value in named.items()}


def _folded(token: int | list[int]) -> int | list[int]:
    return [each % VOCABULARY for each in token] if isinstance(token, list) else token % VOCABULARY
