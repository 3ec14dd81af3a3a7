"""Server arguments of the CPU platform, settled before SGLang resolves its own."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from dspark_sglang.platforms.cpu.backends import ATTENTION_BACKEND

SOURCE = "dspark_cpu"
"""Name of our declarations in SGLang's resolution log."""


def default_attention_backend(server_args: Any) -> None:
    """Prefer our backend before SGLang settles on `intel_amx` or `torch_native`."""
    from sglang.srt.arg_groups.overrides import declare_resolution, resolving_view

    config = resolving_view(server_args)
    if config.device == "cpu" and config.attention_backend is None:
        declare_resolution(server_args, SOURCE, attention_backend=ATTENTION_BACKEND)


def wait_passively(_server_args: Any) -> None:
    """Let OpenMP threads sleep, not spin, at barriers, in the processes that are spawned next.

    A spinning thread of one process holds the core that a thread of another, or of SGLang's
    own tokenizer, needs to reach its barrier; a shared machine then slows down tenfold.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def present_device(original: Callable[[Any], None], server_args: Any) -> None:
    """Let DSPARK's settings be resolved on a CPU.

    `_handle_dspark` accepts CUDA, NPU and XPU by name and never asks the platform. The
    device is declared as `cuda` while it runs, and the declaration withdrawn after it.
    """
    from sglang.srt.arg_groups.overrides import declare_resolution, resolving_view

    if resolving_view(server_args).device != "cpu":
        original(server_args)
        return
    declare_resolution(server_args, SOURCE, device="cuda")
    declared = server_args._resolved_overrides
    presented = declared[-1]
    try:
        original(server_args)
    finally:
        server_args._resolved_overrides = [entry for entry in declared if entry is not presented]


def refuse_trees(server_args: Any) -> None:
    """ValueError for EAGLE3 with anything but chains of one length, naming what to pass."""
    from sglang.srt.arg_groups.overrides import resolving_view

    config = resolving_view(server_args)
    if config.device != "cpu" or config.speculative_algorithm != "EAGLE3":
        return
    if wrong := [_shown(config, name) for name, fits in CHAINS.items() if not fits(config, name)]:
        raise ValueError(
            f"EAGLE3 with {', '.join(wrong)}: the CPU platform verifies chains of one length; pass "
            "--speculative-eagle-topk 1 --speculative-num-steps 7 and none of the other options"
        )


def _is_set(config: Any, name: str) -> bool:
    return bool(getattr(config, name))


def _is_unset(config: Any, name: str) -> bool:
    return not getattr(config, name)


CHAINS: Mapping[str, Callable[[Any, str], bool]] = {
    "speculative_eagle_topk": lambda config, name: getattr(config, name) == 1,
    "speculative_num_steps": _is_set,
    "speculative_adaptive": _is_unset,
    "enable_multi_layer_eagle": _is_unset,
    "enable_deterministic_inference": _is_unset,
}
"""Server arguments of EAGLE3, and whether a value fits."""


def _shown(config: Any, name: str) -> str:
    return f"--{name.replace('_', '-')} {getattr(config, name)}"
