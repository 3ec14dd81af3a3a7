"""Entry point of group `sglang.srt.plugins`: puts our worker behind DSPARK.

SGLang calls `register` in each of its processes, so this module imports nothing heavy.
SGLang swallows what a plugin raises: failing closed is done here, part by part. What the
installed SGLang does not fit is not registered, and says so in one error.
"""

import logging
import sys

logger = logging.getLogger(__name__)


def register() -> None:
    """Register the hooks of each part whose contract with the installed SGLang holds."""
    if _is_detokenizer():
        return
    from dspark_sglang import contract
    from dspark_sglang.contract_check import faults

    for part in contract.parts():
        if found := faults(part.needs):
            logger.error("%s", contract.report(part, found))
        else:
            part.register()


def _is_detokenizer() -> bool:
    """The one process that has nothing of ours to run and should start quickly."""
    loaded = sys.modules
    return (
        "sglang.srt.managers.detokenizer_manager" in loaded
        and "sglang.srt.managers.scheduler" not in loaded
    )
