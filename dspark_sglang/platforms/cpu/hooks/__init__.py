"""Every place where the CPU platform changes SGLang beyond its platform seam, and why.

All go through SGLang's own hook registry, so that they show in its log.
"""

import sys

from dspark_sglang.platforms.cpu.hooks.arguments import argument_hooks
from dspark_sglang.platforms.cpu.hooks.eagle import eagle_hooks
from dspark_sglang.platforms.cpu.hooks.kernels import kernel_hooks
from dspark_sglang.platforms.cpu.hooks.weights import update_hooks, weight_hooks
from dspark_sglang.platforms.cpu.hooks.worker import worker_hooks


def register_hooks() -> None:
    """Register the hooks with SGLang, which applies them when all plugins have run.

    Those on model code only where a scheduler lives: they import what they change.
    """
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    hooks = argument_hooks()
    if "sglang.srt.managers.scheduler" in sys.modules:
        hooks += kernel_hooks() + eagle_hooks() + worker_hooks() + weight_hooks() + update_hooks()
    for hook in hooks:
        HookRegistry.register(hook.target, hook.function, HookType(hook.kind))
