"""The platform class: SGLang's sanctioned seam for a device it does not know.

Everything that has a seam is answered here; what has none is hooked in `hooks`.
"""

# ruff: noqa: ARG002 (the signatures are upstream's)

import gc
import platform as host
from collections.abc import Callable
from typing import Any

import psutil
import torch
from sglang.srt.platforms.device_mixin import PlatformEnum
from sglang.srt.platforms.interface import KVPoolKind, PlatformCapabilities, SRTPlatform

from dspark_sglang.platforms.cpu.backends import ATTENTION_BACKEND

SPECULATIVE_ALGORITHMS = frozenset({"DSPARK", "DFLASH", "EAGLE3"})


class DSparkCpuPlatform(SRTPlatform):  # type: ignore[misc]
    """SGLang's engine on the host's CPU through torch alone.

    No Triton, no graphs, no pinned memory: `capabilities` says so and SGLang takes its
    torch paths.
    """

    _enum = PlatformEnum.OOT
    device_name = "cpu"
    device_type = "cpu"
    capabilities = PlatformCapabilities()

    def get_device_total_memory(self, device_id: int = 0) -> int:
        """Bytes of memory of the machine."""
        return int(psutil.virtual_memory().total)

    def get_current_memory_usage(self, device: torch.device | None = None) -> float:
        """Bytes in use on the machine, by everybody, so that total minus this is free."""
        memory = psutil.virtual_memory()
        return float(memory.total - memory.available)

    def get_available_memory(self, device_id: int = 0) -> tuple[int, int]:
        """(free, total) bytes."""
        memory = psutil.virtual_memory()
        return int(memory.available), int(memory.total)

    def get_device(self, device_id: int = 0) -> str:
        """Every rank shares the one CPU device."""
        return "cpu"

    def set_device(self, device: torch.device) -> None:
        """Nothing to select."""

    def get_device_name(self, device_id: int = 0) -> str:
        """The architecture, for logs."""
        return f"cpu ({host.machine()})"

    def get_device_uuid(self, device_id: int = 0) -> str:
        """A CPU has none; the architecture is stable."""
        return host.machine()

    def get_device_capability(self, device_id: int = 0) -> None:
        """A CPU has no compute capability."""

    def empty_cache(self) -> None:
        """Collect reference cycles; the CPU allocator keeps no cache of its own."""
        gc.collect()

    def get_torch_distributed_backend_str(self) -> str:
        """Gloo is the CPU's collective backend."""
        return "gloo"

    def get_torch_profiler_activity_str(self) -> str:
        """SGLang's profiler asks for the device's activity by name."""
        return "CPU"

    def get_torch_profiler_activity(self) -> torch.profiler.ProfilerActivity:
        """The profiler activity of that name."""
        return torch.profiler.ProfilerActivity.CPU

    def get_default_attention_backend(self) -> str:
        """Our backend, under a name that all of SGLang's lists accept (see `backends`)."""
        return ATTENTION_BACKEND

    def get_default_speculative_draft_attention_backend(self, algorithm: str) -> str:
        """The draft runs on the same backend."""
        return ATTENTION_BACKEND

    def supports_speculative_draft_attention_backend(self, algorithm: str, backend: str) -> bool:
        """Only ours serves non-causal draft blocks on a CPU."""
        return backend == ATTENTION_BACKEND

    def supports_speculative_algorithm(self, algorithm: str) -> bool:
        """DSPARK, and what drafts and verifies chains as well: DFLASH, and EAGLE3 with topk 1."""
        return algorithm.upper() in SPECULATIVE_ALGORITHMS

    def get_kv_pool_cls(self, *, kind: KVPoolKind) -> type | None:
        """The MHA pool that needs no Triton; in-tree classes for the rest."""
        if kind != "mha":
            return None
        from dspark_sglang.platforms.cpu.memory import CpuMHATokenToKVPool

        return CpuMHATokenToKVPool

    def get_speculative_cache_locs_fn(self) -> Callable[..., torch.Tensor]:
        """Where the verify window of each request is stored."""
        from dspark_sglang.platforms.cpu.replacements import speculative_cache_locs

        return speculative_cache_locs

    def get_compile_backend(self, mode: str | None = None) -> str:
        """Functions that SGLang compiles run as they are: Inductor needs a C++ compiler then,
        and its compilation would stall a server for the first request that meets one.
        """
        return "eager"

    def get_dispatch_key_name(self) -> str:
        """Fused operations use their torch-native forward."""
        return "native"

    def init_backend(self) -> None:
        """Called when a worker imports its model runner: offer the attention backend."""
        from dspark_sglang.platforms.cpu.backends import register

        register()

    def apply_server_args_defaults(self, server_args: Any) -> None:
        """No defaults beyond the attention backend, which `hooks` declares earlier."""
