"""The name under which our attention backend is served.

SGLang checks backend names against fixed lists in many places: the CLI's choices, the
draft backends (`triton` is there, `torch_native` and `intel_amx` are not), deterministic
mode, and assertions inside models (Gemma 4, hybrid models). `triton` is the one name that
all of them accept and that cannot mean anything else here, since Triton has no CPU target.
So on this platform `triton` is our torch backend; `torch_native` stays SGLang's own.
"""

from typing import Any

ATTENTION_BACKEND = "triton"


def create(runner: Any) -> Any:
    """Build the backend for a model runner (SGLang's factory signature)."""
    from dspark_sglang.platforms.cpu.attention import CpuAttentionBackend

    return CpuAttentionBackend(runner)


def register() -> None:
    """Put our factory under the name, in the worker's attention registry."""
    from sglang.srt.layers.attention.attention_registry import register_attention_backend

    register_attention_backend(ATTENTION_BACKEND)(create)
