"""Eagle3 drafts on disk: `config.json` and safetensors with the names of the public checkpoints.

SGLang reads them as `LlamaForCausalLMEagle3`. A draft over part of the vocabulary carries its own
rows of the LM head, and as `d2t` how far each draft id is from the target's.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from dspark_sglang.training.eagle.config import EagleConfig
from dspark_sglang.training.eagle.draft import EagleDraft
from dspark_sglang.training.vocabulary import SubVocabulary

TABLES = ("d2t", "t2d", "lm_head.weight")
"""What a file over part of the vocabulary has besides the draft's weights."""

EAGLE_ARCHITECTURES = ["LlamaForCausalLMEagle3"]

FIXED: Mapping[str, Any] = {
    "architectures": EAGLE_ARCHITECTURES,
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
}
"""Keys of `config.json` that never differ."""


class Stored(NamedTuple):
    """What a folder holds."""

    draft: EagleDraft
    vocabulary: SubVocabulary
    """What it drafts."""


def write_eagle(stored: Stored, lm_head: Tensor, folder: Path) -> None:
    """Writes `config.json` and `model.safetensors`; `lm_head` `[V', H]` is the target's."""
    folder.mkdir(parents=True, exist_ok=True)
    draft, vocabulary = stored
    weights = {name: weight.detach().cpu() for name, weight in draft.state_dict().items()}
    if not vocabulary.is_whole:
        weights |= _tables(vocabulary) | {"lm_head.weight": lm_head.cpu()}
    plain = {name: weight.contiguous() for name, weight in weights.items()}
    save_file(plain, folder / "model.safetensors", metadata={"format": "pt"})
    document = _document(draft.config, None if vocabulary.is_whole else len(vocabulary))
    (folder / "config.json").write_text(json.dumps(document, indent=1) + "\n")


def read_eagle(folder: Path) -> Stored:
    """The draft of a folder that `write_eagle` wrote; ValueError for any other."""
    config = _read_config(folder / "config.json")
    weights = load_file(folder / "model.safetensors")
    draft = EagleDraft(config)
    own = {name: weight for name, weight in weights.items() if name not in TABLES}
    try:
        draft.load_state_dict(own)
    except RuntimeError as error:
        raise ValueError(f"{folder}: weights do not fit config.json: {error}") from error
    every = torch.arange(config.vocab_size)
    ids = weights["d2t"] + every[: len(weights["d2t"])] if "d2t" in weights else every
    return Stored(draft, SubVocabulary(ids, config.vocab_size))


def _tables(vocabulary: SubVocabulary) -> dict[str, Tensor]:
    is_drafted = torch.zeros(vocabulary.vocab_size, dtype=torch.bool)
    is_drafted[vocabulary.ids] = True
    return {"d2t": vocabulary.ids - torch.arange(len(vocabulary)), "t2d": is_drafted}


def _document(config: EagleConfig, draft_vocab_size: int | None) -> dict[str, Any]:
    return {
        **FIXED,
        **asdict(config),
        "target_layer_ids": list(config.target_layer_ids),
        "draft_vocab_size": draft_vocab_size,
        "rope_parameters": {"rope_theta": config.rope_theta, "rope_type": "default"},
        "dtype": "float32",
        "eagle_config": {
            "use_aux_hidden_state": True,
            "eagle_aux_hidden_state_layer_ids": list(config.target_layer_ids),
        },
    }


def _read_config(path: Path) -> EagleConfig:
    """The config of a file that has exactly the keys that we write."""
    found = json.loads(path.read_text())
    names = [field.name for field in fields(EagleConfig)]
    if missing := [name for name in names if name not in found]:
        raise ValueError(f"{path}: missing keys: {', '.join(missing)}")
    values = {name: found[name] for name in names}
    config = EagleConfig(**{**values, "target_layer_ids": tuple(found["target_layer_ids"])})
    ours = _document(config, found.get("draft_vocab_size"))
    if wrong := [key for key in {**ours, **found} if ours.get(key) != found.get(key)]:
        raise ValueError(f"{path}: not what we write: {', '.join(wrong)}")
    return config
