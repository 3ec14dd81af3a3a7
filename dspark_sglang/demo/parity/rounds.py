"""A verify step of the engine as seen by one request, and the file in which they are written."""

import json
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROUNDS_FILE = "PARITY_ROUNDS_FILE"
"""Environment variable with the path of the file that the recorder appends to."""


class EngineRound(NamedTuple):
    """What the engine did for one request in one step; as `reference.Round` where they agree."""

    request: str
    step: int
    """Number of the forward pass."""
    batch: int
    """Requests in the step."""
    position: int
    """Tokens before the anchor."""
    anchor: int
    drafts: tuple[int, ...]
    confidences: tuple[float, ...]
    """Calibrated; empty where the engine runs without its confidence head (static mode)."""
    verified: int
    """Draft tokens that went to the target."""
    accepted: int
    bonus: int

    def line(self) -> str:
        """One JSON line."""
        return json.dumps(self._asdict()) + "\n"


def parse_round(line: str) -> EngineRound:
    """The round of one line."""
    fields = json.loads(line)
    fields |= {name: tuple(fields[name]) for name in ("drafts", "confidences")}
    return EngineRound(**fields)


def read_rounds(path: Path) -> dict[str, list[EngineRound]]:
    """The rounds of each request, in order."""
    found: dict[str, list[EngineRound]] = defaultdict(list)
    for line in path.read_text().splitlines():
        each = parse_round(line)
        found[each.request].append(each)
    return {request: sorted(rounds, key=_step) for request, rounds in found.items()}


def _step(each: EngineRound) -> int:
    return each.step
