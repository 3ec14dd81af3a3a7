"""Shrinking a public config keeps what makes the family."""

import pytest

from .shapes import head_dim, public_config, scaled

SHRUNK = ("qwen3-4b", "qwen3-8b", "qwen3-14b", "llama-3.1-8b", "gemma-4-12b")
LENGTHS = {"num_hidden_layers", "max_window_layers", "vocab_size", "vocab_size_per_layer_input"}
LENGTHS |= {"sliding_window", "layer_types", "bos_token_id", "eos_token_id", "pad_token_id"}
SIZES = {"hidden_size", "intermediate_size", "head_dim", "global_head_dim"}
SIZES |= {"num_attention_heads", "num_key_value_heads", "num_global_key_value_heads"}


def ratios(config: dict) -> list[float]:
    heads, narrow = config["num_attention_heads"], config["num_key_value_heads"]
    width = head_dim(config)
    return [
        heads / narrow,
        heads / config.get("num_global_key_value_heads", narrow),
        config.get("global_head_dim", width) / width,
        config["hidden_size"] / (heads * width),
        config["intermediate_size"] / config["hidden_size"],
    ]


@pytest.mark.parametrize("name", SHRUNK)
def test_only_sizes_change_and_their_ratios_stay(name: str) -> None:
    public = public_config(name)
    small = scaled(public)
    assert {key for key in public if public[key] != small[key]} <= LENGTHS | SIZES
    assert small.keys() == public.keys()
    assert ratios(small) == ratios(public)
