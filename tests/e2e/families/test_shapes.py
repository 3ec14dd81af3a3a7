"""Shrinking a public config keeps what makes the family."""

import pytest

from .shapes import head_dim, public_config, scaled, text_config

SHRUNK = ("qwen3-4b", "qwen3-8b", "qwen3-14b", "llama-3.1-8b", "gemma-4-12b")
LENGTHS = {"num_hidden_layers", "max_window_layers", "sliding_window", "layer_types"}
LENGTHS |= {"vocab_size", "vocab_size_per_layer_input"}
SIZES = {"hidden_size", "intermediate_size", "head_dim", "global_head_dim"}
SIZES |= {"num_attention_heads", "num_key_value_heads", "num_global_key_value_heads"}
NESTED = {"text_config", "vision_config"}


def changed(public: dict, small: dict) -> set[str]:
    """Keys whose values differ, without those of tokens, which move with the vocabulary."""
    assert small.keys() == public.keys()
    return {key for key in public if public[key] != small[key] and "_token_i" not in key}


def ratios(text: dict) -> list[float]:
    heads, narrow = text["num_attention_heads"], text["num_key_value_heads"]
    width = head_dim(text)
    return [
        heads / narrow,
        heads / text.get("num_global_key_value_heads", narrow),
        text.get("global_head_dim", width) / width,
        text["hidden_size"] / (heads * width),
        text["intermediate_size"] / text["hidden_size"],
    ]


@pytest.mark.parametrize("name", SHRUNK)
def test_only_sizes_change_and_their_ratios_stay(name: str) -> None:
    public = public_config(name)
    small = scaled(public)
    assert changed(text_config(public), text_config(small)) <= LENGTHS | SIZES
    assert ratios(text_config(small)) == ratios(text_config(public))
    if "text_config" in public:
        assert changed(public, small) == NESTED
        vision = changed(public["vision_config"], small["vision_config"])
        assert vision == {"mm_embed_dim", "output_proj_dims"}
