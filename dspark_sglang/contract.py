"""The parts of ours that rely on SGLang, each with every name that it needs.

A plugin that subclasses and hooks another project breaks silently when that project moves.
The tables of `needs` are checked by reflection (`contract_check`) before anything is registered,
so that a new SGLang gives one list of differences at start instead of a fault in a step.
Each part stands or falls by its own rows.
"""

from collections.abc import Sequence

from dspark_sglang.contract_types import Part
from dspark_sglang.needs.control import CONTROL_NEEDS
from dspark_sglang.needs.startup import STARTUP_NEEDS
from dspark_sglang.needs.tracing import TRACING_NEEDS
from dspark_sglang.needs.worker import WORKER_NEEDS

ENGINE_VERSION = "0.5.23"
"""The SGLang release that the tables were read from."""

CONTROL_LOSS = "DSPARK runs as SGLang's own worker, without run-time control"
"""What is missing where the rows of `needs` do not hold."""

CPU_LOSS = "DSPARK, DFLASH and EAGLE3 do not run on a machine without an accelerator"
"""What is missing where the rows of the CPU platform do not hold."""


def parts() -> tuple[Part, ...]:
    """What this process registers, in the order of registration."""
    from dspark_sglang.platforms import cpu

    own = (*WORKER_NEEDS, *CONTROL_NEEDS, *STARTUP_NEEDS, *TRACING_NEEDS)
    control = Part("run-time control of DSPARK", own, CONTROL_LOSS, _register_control)
    platform = Part("the CPU platform", cpu.NEEDS, CPU_LOSS, cpu.register_hooks)
    return (platform, control) if cpu.is_active() else (control,)


def report(part: Part, found: Sequence[str]) -> str:
    """The differences `found` for `part` and what to do about them, for one log record."""
    installed = _installed_version()
    return "\n".join(
        [
            f"dspark-sglang: {part.name} is inactive: SGLang {installed} is not what it was "
            f"written for ({ENGINE_VERSION}).",
            *(f"  - {text}" for text in found),
            f"Install sglang=={ENGINE_VERSION}, or a dspark-sglang release for {installed}; "
            f"until then {part.loss}.",
        ]
    )


def _register_control() -> None:
    from dspark_sglang import hooks

    hooks.register()


def _installed_version() -> str:
    from sglang.version import __version__

    return str(__version__)
