"""Reads and writes `config.json` of the public draft checkpoints, strict about its keys.

A key that we do not know may change what the model computes, so it is refused instead of
skipped; `config_keys` has the tables.
"""

import json
from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from dspark_sglang.reference.config import DraftConfig
from dspark_sglang.reference.config_keys import (
    IGNORED,
    NESTED,
    ONLY,
    OPTIONAL_FOR_DFLASH,
    RENAMED,
    Json,
)


def read_config(folder: Path) -> DraftConfig:
    """The config of the checkpoint in `folder`; ValueError lists everything that is wrong."""
    path = folder / "config.json"
    try:
        return config_from_json(json.loads(path.read_text()))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_config(config: DraftConfig, folder: Path, dtype: str) -> None:
    """Writes `config.json`; `dtype` is the weights' (`bfloat16`), for the readers that ask."""
    text = json.dumps({**config_to_json(config), "dtype": dtype}, indent=1)
    (folder / "config.json").write_text(text + "\n")


def config_from_json(document: Json) -> DraftConfig:
    """The config in a decoded `config.json`; ValueError lists every bad key."""
    if not isinstance(document, dict):
        raise ValueError(f"an object is needed, not {type(document).__name__}")
    found = _flat(document)
    found["rope_theta"], rope_problems = _rope_theta(found)
    if found.get("architectures") == ["DFlashDraftModel"]:
        found = {**OPTIONAL_FOR_DFLASH, **found}
    bad = [*rope_problems, *_key_problems(found)]
    if bad:
        raise ValueError("; ".join(bad))
    return DraftConfig(**_field_values(found))


def config_to_json(config: DraftConfig) -> Json:
    """The public form of `config`, without nested sections."""
    values = asdict(config)
    is_dflash = config.architecture == "DFlashDraftModel"
    document = {_key(name): value for name, value in values.items()}
    return {
        **document,
        "architectures": [config.architecture],
        "model_type": "qwen3",
        "block_size": config.num_block_rows if is_dflash else config.gamma,
        "target_layer_ids": list(config.target_layer_ids),
        "rope_parameters": {"rope_theta": config.rope_theta, "rope_type": "default"},
        "layer_types": ["full_attention"] * config.num_hidden_layers,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
    }


def _key(field: str) -> str:
    return RENAMED.get(field, field)


def _flat(document: Json) -> Json:
    flat = {key: value for key, value in document.items() if key not in NESTED}
    for section in NESTED:
        flat.update(_section(document, section))
    return flat


def _section(document: Json, key: str) -> Json:
    value = document.get(key) or {}
    if not isinstance(value, dict):
        raise ValueError(f"{key} = {value!r} must be an object")
    return value


def _field_values(found: Json) -> Json:
    """Arguments of `DraftConfig`. In the file DFlash counts the anchor in `block_size`."""
    given = {each.name: found.get(_key(each.name)) for each in fields(DraftConfig)}
    architecture = found["architectures"][0]
    return {
        **{name: value for name, value in given.items() if value is not None},
        "architecture": architecture,
        "target_layer_ids": tuple(found["target_layer_ids"]),
        "gamma": found["block_size"] - (architecture == "DFlashDraftModel"),
    }


def _rope_theta(found: Json) -> tuple[Any, list[str]]:
    """The rotary base, at top level or in `rope_parameters`, and what is wrong with them."""
    parameters = _section(found, "rope_parameters")
    found.pop("rope_parameters", None)
    theta = parameters.get("rope_theta", found.get("rope_theta"))
    kind = parameters.get("rope_type", "default")
    unknown = sorted(parameters.keys() - {"rope_theta", "rope_type"})
    wrong = []
    if kind != "default" or unknown:
        wrong.append(f"rope_type {kind!r} with {unknown} (only 'default' is implemented)")
    if found.get("rope_theta", theta) != theta:
        wrong.append(f"rope_theta {found['rope_theta']} and {theta} in rope_parameters differ")
    return theta, wrong


def _key_problems(found: Json) -> Iterator[str]:
    known = {_key(each.name): each for each in fields(DraftConfig)}
    required = [key for key, each in known.items() if each.default is MISSING] + ["architectures"]
    unknown = found.keys() - known.keys() - ONLY.keys() - IGNORED - {"layer_types"}
    missing = [key for key in required if found.get(key) is None]
    if unknown:
        yield f"unknown keys: {', '.join(sorted(unknown))}"
    if missing:
        yield f"missing keys: {', '.join(sorted(missing))}"
    for key, only in ONLY.items():
        if found.get(key, only) != only:
            yield f"{key} = {found[key]!r} (only {only!r} is implemented)"
    if set(found.get("layer_types") or ()) - {"full_attention"}:
        yield f"layer_types = {found['layer_types']} (only 'full_attention' is implemented)"
    for key, each in known.items():
        if key in found and found[key] is not None and not _fits(found[key], key, each.type):
            yield f"{key} = {found[key]!r} has the wrong type"


def _fits(value: Any, key: str, kind: Any) -> bool:
    """Whether a JSON value may stand for a field annotated `kind`."""
    if key == "architectures":
        return isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
    if key == "target_layer_ids":
        return isinstance(value, list) and all(type(item) is int for item in value)
    if kind is float:
        return type(value) in (int, float)
    return type(value) is (kind if kind in (int, bool) else str)
