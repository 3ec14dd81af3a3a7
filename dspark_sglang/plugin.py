"""Entry point of group `sglang.srt.plugins`: puts our worker behind DSPARK.

SGLang calls `register` in each of its processes, so this module imports nothing heavy.
SGLang swallows what a plugin raises: failing closed is done here, by registering
nothing when the installed SGLang is not the one we were written for.
"""

import logging
import sys

logger = logging.getLogger(__name__)


def register() -> None:
    """Check the contract with the installed SGLang, then register every hook."""
    if _is_detokenizer():
        return
    from dspark_sglang import contract, hooks
    from dspark_sglang.platforms import cpu

    faults = contract.faults()
    if faults:
        logger.error("%s", contract.report(faults))
        return
    if cpu.is_active():
        cpu.register_hooks()
    hooks.register()


def _is_detokenizer() -> bool:
    """The one process that has nothing of ours to run and should start quickly."""
    loaded = sys.modules
    return (
        "sglang.srt.managers.detokenizer_manager" in loaded
        and "sglang.srt.managers.scheduler" not in loaded
    )
