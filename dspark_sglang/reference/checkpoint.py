"""Drafts on disk, in the public format: `config.json` and safetensors with SGLang's names.

In the file the backbone's weights stand at top level (`fc.weight`, `layers.0...`). Reading is
strict, because SGLang skips backbone weights that it does not know: a misspelt name would leave
a layer at its initial values without a word.
"""

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from dspark_sglang.reference.config_file import read_config, write_config
from dspark_sglang.reference.draft import Draft

Weights = dict[str, Tensor]

SHARED = ("embed_tokens.", "lm_head.", "rotary_emb.")
"""Weights that some checkpoints carry and SGLang skips: they are the target's or computed."""

FLOAT32 = "confidence_head."
"""Weights that keep float32 whatever the dtype of the rest, as in SGLang."""


def read_draft(
    folder: Path, dtype: torch.dtype | None = None, device: torch.device | str = "cpu"
) -> Draft:
    """The draft in `folder`, with the stored dtypes, or `dtype` for all but the confidence head.

    ValueError lists every bad config key, or every missing, unknown or misshapen weight.
    """
    with torch.device("meta"):
        draft = Draft(read_config(folder))
    weights = read_weights(folder)
    bad = list(_differences(weights, public_weights(draft)))
    if bad:
        raise ValueError(f"{folder}: weights do not fit config.json: {'; '.join(bad)}")
    stored = {_internal(name): weight for name, weight in weights.items()}
    draft.load_state_dict(stored, assign=True)
    return _converted(draft, dtype).to(device).eval()


def write_draft(draft: Draft, folder: Path) -> None:
    """Writes `config.json` and `model.safetensors` into `folder`, dtypes as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: weight.contiguous() for name, weight in public_weights(draft).items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    dtype = str(draft.backbone.fc.weight.dtype).removeprefix("torch.")
    write_config(draft.config, folder, dtype)


def public_weights(draft: Draft) -> Weights:
    """Every weight under its name in a public checkpoint."""
    state = draft.state_dict()
    return {name.removeprefix("backbone."): weight for name, weight in state.items()}


def read_weights(folder: Path) -> Weights:
    """All weights of all safetensors files of `folder` that belong to the draft."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ValueError(f"{folder}: no *.safetensors file")
    stored = {name: weight for file in files for name, weight in load_file(file).items()}
    plain = {name.removeprefix("model."): weight for name, weight in stored.items()}
    return {name: weight for name, weight in plain.items() if not name.startswith(SHARED)}


def _internal(name: str) -> str:
    return name if name.startswith(("markov_head.", "confidence_head.")) else f"backbone.{name}"


def _differences(found: Weights, wanted: Weights) -> Iterator[str]:
    if missing := wanted.keys() - found.keys():
        yield f"missing {', '.join(sorted(missing))}"
    if unknown := found.keys() - wanted.keys():
        yield f"unknown {', '.join(sorted(unknown))}"
    for name in sorted(found.keys() & wanted.keys()):
        have, want = tuple(found[name].shape), tuple(wanted[name].shape)
        if have != want:
            yield f"{name} has shape {have}, not {want}"


def _converted(draft: Draft, dtype: torch.dtype | None) -> Draft:
    if dtype is not None:
        for name, parameter in draft.named_parameters():
            parameter.data = parameter.data.to(torch.float32 if name.startswith(FLOAT32) else dtype)
    return draft
