"""Public configs of the families, and the same configs shrunk to a size that a CPU answers with.

`configs/*.json` hold what the public checkpoints say: Qwen3 4B, 8B and 14B, Llama 3.1 8B, the
text model of Gemma 4 12B and DeepSeek-V4-Flash with its bundled draft (without its per-layer
and quantization tables, which nothing here reads). Shrinking touches widths, depth, window and
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
TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id")


def public_config(name: str) -> Json:
    """The config of a public checkpoint, as its `config.json` has it."""
    path = Path(__file__).parent / "configs" / f"{name}.json"
    document: Json = json.loads(path.read_text())
    return document


def head_dim(config: Json) -> int:
    """Width of a head, which Llama's configs leave to the reader."""
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def scaled(config: Json) -> Json:
    """The same architecture, thousands of times smaller."""
    narrower = head_dim(config) // HEAD_DIM
    fewer = max(1, math.gcd(*(config[key] for key in HEADS if key in config)) // 2)
    small = dict(config)
    _divide(small, HEADS, fewer)
    _divide(small, HEAD_WIDTHS, narrower)
    _divide(small, WIDTHS, narrower * fewer)
    _shorten(small)
    return small


def _divide(config: Json, keys: tuple[str, ...], divisor: int) -> None:
    for key in keys:
        if key in config:
            config[key] //= divisor


def _shorten(config: Json) -> None:
    """Fewer layers and tokens, and a shorter window."""
    for key in ("num_hidden_layers", "max_window_layers"):
        if key in config:
            config[key] = LAYERS
    for key in ("vocab_size", "vocab_size_per_layer_input"):
        if key in config:
            config[key] = VOCABULARY
    if config.get("sliding_window"):
        config["sliding_window"] = WINDOW
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:LAYERS]
    for key in TOKENS:
        if key in config:
            config[key] = _within_vocabulary(config[key])


def _within_vocabulary(token: int | list[int]) -> int | list[int]:
    if isinstance(token, list):
        return [token_id % VOCABULARY for token_id in token]
    return token % VOCABULARY
