"""Checkpoints that bring their DSPARK draft along: recognised at start, refused on a CPU.

DeepSeek-V4 is published so, with `dspark_*` keys in the target's `config.json`. Without this
check a server would fail on a missing kernel, minutes into loading hundreds of gigabytes.
"""

from typing import Any

from dspark_sglang.config_json import ConfigJson, architectures, read_config_json

PREFIX = "dspark_"
"""Of the keys that describe a bundled draft."""

FAMILY = "DeepseekV4"
"""How the names of the architectures begin that bundle one."""


def refuse_bundled_draft(server_args: Any) -> None:
    """Raise ValueError when the target, or what is named as its draft, bundles a draft."""
    named = (
        (server_args.model_path, server_args.revision),
        (server_args.speculative_draft_model_path, server_args.speculative_draft_model_revision),
    )
    for path, revision in named:
        if path and (keys := bundled_keys(read_config_json(path, revision))):
            raise ValueError(fault(path, keys))


def bundled_keys(config: ConfigJson) -> list[str]:
    """The keys in a decoded `config.json` that say that it bundles a draft, sorted.

    Empty for other architectures: a draft by itself may carry the same keys.
    """
    if not any(name.startswith(FAMILY) for name in architectures(config)):
        return []
    text = config.get("text_config") or {}
    return sorted(key for key in {**config, **text} if key.startswith(PREFIX))


def fault(path: str, keys: list[str]) -> str:
    """Why the checkpoint at `path` cannot be served here, and what can be done."""
    return (
        f"{path} is a DeepSeek-V4 checkpoint that bundles its DSPARK draft (its config.json has "
        f"{', '.join(keys)}). It cannot be served on a CPU: SGLang has DeepSeek-V4's compressed "
        f"attention and its FP8/FP4 experts as kernels of accelerators only. Serve it on a GPU "
        f"host, where --speculative-algorithm DSPARK finds the draft without "
        f"--speculative-draft-model-path; or serve a Qwen3, Llama or Gemma 4 target here, with a "
        f"draft of its own."
    )
