"""Entry point of group `sglang.srt.plugins`: puts our worker behind DSPARK.

SGLang calls `register` in each of its processes (HTTP, scheduler, detokenizer), so
this module imports nothing heavy, and the hooks are placed only where the scheduler
is loaded anyway. SGLang swallows what a plugin raises: failing closed is done here,
by registering nothing when the installed SGLang is not the one we were written for.
"""

import logging
import sys

logger = logging.getLogger(__name__)


def register() -> None:
    """Check the contract with the installed SGLang, then register every hook."""
    from dspark_sglang.platforms import cpu

    if "sglang.srt.managers.scheduler" not in sys.modules:
        if cpu.is_active():
            cpu.register_hooks()
        return
    from dspark_sglang import contract, hooks

    faults = contract.faults()
    if faults:
        logger.error("%s", contract.report(faults))
        return
    if cpu.is_active():
        cpu.register_hooks()
    hooks.register()
