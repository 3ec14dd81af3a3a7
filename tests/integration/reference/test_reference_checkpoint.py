"""Checkpoints: bit equal after a round trip, strict about names and shapes."""

import shutil
from pathlib import Path

import pytest
import torch
from reference_helpers import HEADS, random_draft, tiny_config
from safetensors.torch import load_file, save_file

from dspark_sglang.drafts import shipped_draft
from dspark_sglang.reference import read_draft, write_draft
from dspark_sglang.reference.checkpoint import public_weights


def same_bits(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and torch.equal(one[name], other[name]) for name in one
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("head", HEADS)
def test_round_trip(tmp_path: Path, head: str, dtype: torch.dtype) -> None:
    draft = random_draft(tiny_config(markov_head_type=head), dtype)
    write_draft(draft, tmp_path)
    again = read_draft(tmp_path)
    assert again.config == draft.config
    assert same_bits(public_weights(draft), public_weights(again))


def test_shipped_draft_round_trip(tmp_path: Path) -> None:
    shipped = shipped_draft("smollm2-135m-instruct", lambda text: None)
    write_draft(read_draft(shipped), tmp_path)
    stored = load_file(shipped / "model.safetensors")
    assert same_bits(stored, load_file(tmp_path / "model.safetensors"))


def test_dtype_of_all_but_the_confidence_head(tmp_path: Path) -> None:
    write_draft(random_draft(tiny_config(), torch.float32), tmp_path)
    draft = read_draft(tmp_path, torch.bfloat16)
    kinds = {name: weight.dtype for name, weight in public_weights(draft).items()}
    assert kinds.pop("confidence_head.proj.weight") == torch.float32
    assert kinds.pop("confidence_head.proj.bias") == torch.float32
    assert set(kinds.values()) == {torch.bfloat16}


def test_names_of_other_writers(tmp_path: Path) -> None:
    """A `model.` prefix, several files, and the target's own weights beside the draft's."""
    draft = random_draft(tiny_config())
    write_draft(draft, tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    half = len(weights) // 2
    parts = [dict(list(weights.items())[:half]), dict(list(weights.items())[half:])]
    parts[0] = {f"model.{name}": weight for name, weight in parts[0].items()}
    parts[1] |= {"lm_head.weight": torch.ones(2), "model.embed_tokens.weight": torch.ones(2)}
    for number, part in enumerate(parts):
        save_file(part, tmp_path / f"model-{number}.safetensors")
    assert same_bits(public_weights(draft), public_weights(read_draft(tmp_path)))


def test_every_difference_is_listed(tmp_path: Path) -> None:
    write_draft(random_draft(tiny_config()), tmp_path)
    path = tmp_path / "model.safetensors"
    weights = load_file(path)
    weights["layers.0.mlp.gate_projection.weight"] = weights.pop("layers.0.mlp.gate_proj.weight")
    weights["markov_head.gate_proj.weight"] = torch.ones(1)
    weights["fc.weight"] = weights["fc.weight"][:, 1:].contiguous()
    save_file(weights, path)
    with pytest.raises(ValueError, match="weights do not fit") as error:
        read_draft(tmp_path)
    text = str(error.value)
    assert "missing layers.0.mlp.gate_proj.weight" in text
    assert "unknown layers.0.mlp.gate_projection.weight, markov_head.gate_proj.weight" in text
    assert "fc.weight has shape (32, 63), not (32, 64)" in text


def test_no_weights(tmp_path: Path) -> None:
    write_draft(random_draft(tiny_config()), tmp_path / "full")
    (tmp_path / "bare").mkdir()
    shutil.copy(tmp_path / "full" / "config.json", tmp_path / "bare")
    with pytest.raises(ValueError, match=r"no \*\.safetensors"):
        read_draft(tmp_path / "bare")
