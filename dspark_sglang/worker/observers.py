"""Step observers that cost nothing until somebody looks.

SGLang's observers read several environment switches and build records in each verify
step. Ours decide once, at start, whether any of those debugging sinks is on.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sglang.srt.environ import envs

_NO_SEGMENT: AbstractContextManager[None] = nullcontext()


class StepObservers:
    """SGLang's `DsparkStepObservers` interface; passes on only if a sink of its is on."""

    def __init__(self, upstream: Any) -> None:
        self._upstream = upstream
        self._sinks_on = bool(
            upstream._info_dumper.enabled
            or upstream._block_accept_recorder is not None
            or upstream._sts_collect_path
            or envs.SGLANG_DSPARK_DEBUG_CONFIDENCE_METRICS.get()
        )

    def begin_step(self) -> None:
        """A decode step begins."""
        if self._sinks_on:
            self._upstream.begin_step()

    def segment(self, name: str) -> AbstractContextManager[None]:
        """Context of one part of a step, by SGLang's name of it."""
        if self._sinks_on:
            return self._upstream.segment(name)  # type: ignore[no-any-return]
        return _NO_SEGMENT

    def observe_verify_step(self, **facts: Any) -> None:
        """Everything about one verify step; tensors may still be on the device."""
        if self._sinks_on:
            self._upstream.observe_verify_step(**facts)

    def __getattr__(self, name: str) -> Any:
        """What is called outside decode steps is SGLang's own."""
        return getattr(self._upstream, name)
