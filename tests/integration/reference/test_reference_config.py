"""The public config format: read, written, and strict about keys."""

import json
from pathlib import Path
from typing import Any

import pytest
from reference_helpers import HEADS, tiny_config

from dspark_sglang.drafts import shipped_draft
from dspark_sglang.reference.config_file import (
    config_from_json,
    config_to_json,
    read_config,
    write_config,
)


def document(**changes: Any) -> dict[str, Any]:
    return {**config_to_json(tiny_config()), **changes}


@pytest.mark.parametrize("head", HEADS)
def test_written_config_reads_back(tmp_path: Path, head: str) -> None:
    config = tiny_config(markov_head_type=head)
    write_config(config, tmp_path, "bfloat16")
    assert read_config(tmp_path) == config
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "bfloat16"


def test_shipped_draft() -> None:
    config = read_config(shipped_draft("smollm2-135m-instruct", lambda text: None))
    assert config.gamma == 7
    assert config.num_block_rows == 7
    assert config.target_layer_ids == (1, 8, 15, 22, 28)
    assert config.rope_theta == 100000.0


def test_dflash_counts_the_anchor_in_its_block() -> None:
    """A published DFlash config: fields in a section, no head keys at all."""
    found = document(architectures=["DFlashDraftModel"], block_size=16)
    for key in ("markov_head_type", "markov_rank", "enable_confidence_head", "mask_token_id"):
        del found[key]
    for key in ("confidence_head_with_markov", "sample_from_anchor", "target_layer_ids"):
        del found[key]
    found["dflash_config"] = {"mask_token_id": 7, "target_layer_ids": [1, 2]}
    config = config_from_json(found)
    assert (config.gamma, config.num_block_rows, config.sample_from_anchor) == (15, 16, False)
    assert (config.markov_head_type, config.mask_token_id) == ("none", 7)
    assert config_from_json(config_to_json(config)) == config
    assert config_to_json(config)["block_size"] == 16


def test_all_bad_keys_are_named_at_once(tmp_path: Path) -> None:
    found = document(surprise=1, another=2, hidden_act="gelu", layer_types=["sliding_attention"])
    del found["mask_token_id"], found["markov_rank"]
    (tmp_path / "config.json").write_text(json.dumps(found))
    with pytest.raises(ValueError, match=r"config\.json") as error:
        read_config(tmp_path)
    text = str(error.value)
    assert "unknown keys: another, surprise" in text
    assert "missing keys: markov_rank, mask_token_id" in text
    assert "hidden_act = 'gelu'" in text
    assert "sliding_attention" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rope_theta": 5.0}, "rope_theta 5.0 and 10000.0"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0}}, "'yarn'"),
        ({"rope_parameters": 3}, "rope_parameters = 3"),
        ({"hidden_size": "32"}, "hidden_size = '32' has the wrong type"),
        ({"architectures": ["LlamaForCausalLM"]}, "architecture = 'LlamaForCausalLM'"),
        ({"architectures": ["DFlashDraftModel"]}, "DFlashDraftModel has"),
        ({"block_size": 0}, "gamma = 0 must be positive"),
        ({"target_layer_ids": [0, 4]}, r"different layers in \[0, 4\)"),
        ({"target_layer_ids": []}, "target_layer_ids is empty"),
        ({"mask_token_id": 61}, r"mask_token_id = 61 must lie in \[0, 61\)"),
        ({"markov_rank": 0}, "markov_rank = 0"),
        ({"markov_head_type": "none"}, "markov_rank = 6"),
        ({"markov_head_type": "lstm"}, "'lstm' must be one of vanilla"),
        ({"num_key_value_heads": 3}, "multiple of num_key_value_heads = 3"),
        ({"use_sliding_window": True}, "use_sliding_window = True"),
    ],
)
def test_refusals(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        config_from_json(document(**changes))
