"""Server arguments of the CPU platform, settled before SGLang resolves its own."""

import os
from collections.abc import Callable, Mapping
from operator import not_
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


CHAINS: Mapping[str, Callable[[Any], bool]] = {
    "speculative_eagle_topk": lambda value: value == 1,
    "speculative_num_steps": bool,
    "speculative_adaptive": not_,
    "enable_multi_layer_eagle": not_,
    "enable_deterministic_inference": not_,
}
"""Server arguments of EAGLE3 that the platform serves, and whether a value fits."""


def refuse_trees(server_args: Any) -> None:
    """ValueError for EAGLE3 with anything but chains of one length, naming what to pass."""
    from sglang.srt.arg_groups.overrides import resolving_view

    config = resolving_view(server_args)
    if config.device != "cpu" or config.speculative_algorithm != "EAGLE3":
        return
    values = {name: getattr(config, name) for name in CHAINS}
    if wrong := [name for name, value in values.items() if not CHAINS[name](value)]:
        shown = ", ".join(f"--{name.replace('_', '-')} {values[name]}" for name in wrong)
        raise ValueError(
            f"EAGLE3 with {shown}: the CPU platform verifies chains of one length; pass "
            "--speculative-eagle-topk 1 --speculative-num-steps 7 and none of the other options"
        )
