"""SGLang on a plain CPU: the real engine, DSPARK, DFLASH and EAGLE3 included, no accelerator."""

from dspark_sglang.platforms.cpu.activation import activate, is_active
from dspark_sglang.platforms.cpu.hooks import register_hooks
from dspark_sglang.platforms.cpu.needs import NEEDS

__all__ = ["NEEDS", "activate", "is_active", "register_hooks"]
