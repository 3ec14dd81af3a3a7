"""When the CPU platform may claim the machine.

SGLang asks this in each process, and on a GPU host the answer is always no; so nothing
heavy is imported to give it (SGLang has torch loaded by then).
"""

import os

PLATFORM_PATH = "dspark_sglang.platforms.cpu.platform.DSparkCpuPlatform"


def activate() -> str | None:
    """Return the dotted path of the platform class, or None where it must stay out.

    It stays out when any accelerator is present and when `SGLANG_USE_CPU_ENGINE=1` asks for
    SGLang's own CPU engine.
    """
    if os.environ.get("SGLANG_USE_CPU_ENGINE", "0") == "1":
        return None
    return None if accelerator_present() else PLATFORM_PATH


def accelerator_present() -> bool:
    """Whether torch sees any device besides the CPU (CUDA, ROCm, XPU, MPS, NPU, MUSA, HPU, ...)."""
    import torch

    if torch.accelerator.is_available():
        return True
    names = ("cuda", "xpu", "mps", "npu", "musa", "hpu")
    modules = (getattr(torch, name, None) for name in names)
    return any(module is not None and module.is_available() for module in modules)


def is_active() -> bool:
    """Whether this process runs on the CPU platform (it resolves SGLang's platform)."""
    from sglang.srt import platforms

    path = PLATFORM_PATH.rsplit(".", 1)
    kind = type(platforms.current_platform)
    return [kind.__module__, kind.__qualname__] == path
