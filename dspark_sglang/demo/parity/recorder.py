"""Writes down each verify step of an engine: a plugin of SGLang, for this comparison alone.

Nothing in the production step path knows of it. The entry point stands in a folder that is made
for one run (`plugin_environ`); in the scheduler it reads what our worker hands to its observers.
Reading tensors in mid-step costs a device sync on a GPU; on a CPU they are at hand.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dspark_sglang.demo.parity.rounds import ROUNDS_FILE, EngineRound

DISTRIBUTION = "dspark_parity_recorder"
SEAM = "dspark_sglang.worker.observers.StepObservers.observe_verify_step"


def plugin_environ(folder: Path, rounds_file: Path) -> dict[str, str]:
    """Environment of a server that loads the recorder; its entry point is put into `folder`."""
    info = folder / f"{DISTRIBUTION}-0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: 0\n")
    point = f"[sglang.srt.plugins]\n{DISTRIBUTION} = {__name__}:register\n"
    (info / "entry_points.txt").write_text(point)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), ROUNDS_FILE: str(rounds_file)}


def register() -> None:
    """SGLang calls this in each of its processes; only the scheduler has steps."""
    if "sglang.srt.managers.scheduler" not in sys.modules:
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(SEAM, record, HookType.BEFORE)


def record(_observers: Any, **facts: Any) -> None:
    """Appends the rounds of one step to the file."""
    with Path(os.environ[ROUNDS_FILE]).open("a") as sink:
        sink.writelines(each.line() for each in _rounds(facts))


def _rounds(facts: Mapping[str, Any]) -> Iterator[EngineRound]:
    requests, drafts = facts["reqs"], facts["draft_tokens"].tolist()
    whole = [len(drafts[0]) + 1] * len(requests)
    layout, confidence = facts["layout"], facts["confidence"]
    lengths = whole if layout is None else layout.verify_lens.tolist()
    confidences = [()] * len(requests) if confidence is None else confidence.tolist()
    for row, request in enumerate(requests):
        yield EngineRound(
            request=request.rid,
            step=facts["forward_ct"],
            batch=len(requests),
            position=int(facts["prefix_lens"][row]),
            anchor=int(facts["verify_ids_2d"][row, 0]),
            drafts=tuple(drafts[row]),
            confidences=tuple(confidences[row]),
            verified=lengths[row] - 1,
            accepted=int(facts["correct_len"][row]),
            bonus=int(facts["bonus"][row]),
        )
