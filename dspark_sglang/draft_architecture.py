"""Drafts that the installed SGLang has no model for, refused before anything is loaded.

SGLang would fall back to a generic model for the unknown name and fail on its weights, after
the target has been loaded. The published drafts for Gemma 4 are such (`Gemma4DSparkModel`).
"""

from typing import Any

from sglang.srt.models.dspark import EntryClass
from sglang.srt.models.registry import ModelRegistry
from sglang.version import __version__

from dspark_sglang.config_json import architectures, read_config_json

DENSE = tuple(model.__name__ for model in EntryClass)
"""Drafts that share the target's embedding and head, of any family."""

ONE_FAMILY = ("DSparkMiniMaxDraftModel", "Lfm2DSparkDraftModel", "DeepseekV4ForCausalLM")
"""Drafts for one family each. They stand here to spare the import of all models."""


def refuse_unknown_draft(server_args: Any) -> None:
    """Raise ValueError when `--speculative-draft-model-path` names such a draft."""
    path = server_args.speculative_draft_model_path
    if not path:
        return
    names = architectures(read_config_json(path, server_args.speculative_draft_model_revision))
    if names and not any(map(_has_model, names)):
        raise ValueError(fault(path, names))


def fault(path: str, names: list[str]) -> str:
    """Why the draft at `path` cannot be loaded, and what can be done."""
    return (
        f"--speculative-draft-model-path {path}: SGLang {__version__} has no model for the draft "
        f"architecture {', '.join(names)}. Use a draft of architecture {', '.join(DENSE)} that "
        f"was trained for this target (such drafts fit Qwen3, Llama and Gemma 4 targets alike), "
        f"or register a model for it in a package that SGLANG_EXTERNAL_MODEL_PACKAGE names."
    )


def _has_model(name: str) -> bool:
    known = name in DENSE or name in ONE_FAMILY
    return known or bool(ModelRegistry.is_arch_supported(name))
