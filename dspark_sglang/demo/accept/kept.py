"""What was measured of each drafter, kept in files: a run that was stopped goes on from there.

A part is measured anew when anything that it depends on has changed: the prompts, how they are
answered, or the weights of the draft.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dspark_sglang.demo.accept.measured import Key, Measured
from dspark_sglang.training.accepting import Acceptance
from dspark_sglang.training.card import digest


class Part(NamedTuple):
    """One drafter on one side."""

    measured: Measured
    speeds: Mapping[str, float] = {}
    """Tokens per second over plain decoding by domain; the engine's."""
    block_lengths: Mapping[float, Mapping[str, list[float]]] = {}
    """By temperature and domain: accept length with 1, 2, ... tokens; the reference's."""


class Kept:
    """The parts of one side in `folder`, each a JSON file under its drafter's name."""

    def __init__(self, folder: Path, side: str, settings: Mapping[str, Any]) -> None:
        self.folder, self.side, self.settings = folder, side, settings

    def read(self, drafter: str, draft: Path) -> Part | None:
        """The part of a drafter; None when it has to be measured."""
        path = self._path(drafter)
        document = json.loads(path.read_text()) if path.exists() else {}
        if document.get("of") != self._of(draft):
            return None
        lengths = {float(each): rows for each, rows in document["block_lengths"].items()}
        return Part(measured_of(document["measured"]), document["speeds"], lengths)

    def write(self, drafter: str, draft: Path, part: Part) -> None:
        """Keeps a part, in place of an older one."""
        document = {
            "of": self._of(draft),
            "measured": rows_of(part.measured),
            "speeds": part.speeds,
            "block_lengths": part.block_lengths,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        newer = self._path(drafter).with_suffix(".new")
        newer.write_text(json.dumps(document))
        newer.replace(self._path(drafter))

    def _path(self, drafter: str) -> Path:
        return self.folder / f"{self.side}-{drafter}.json"

    def _of(self, draft: Path) -> str:
        files = {path.name: digest(path) for path in sorted(draft.iterdir()) if path.is_file()}
        known = json.dumps([self.settings, files], sort_keys=True)
        return hashlib.sha256(known.encode()).hexdigest()


def rows_of(measured: Measured) -> list[dict[str, Any]]:
    """What was measured as objects with the fields of its key and its counts."""
    return [
        {**key._asdict(), **each._asdict(), "conditional": each.conditional}
        for key, each in measured.items()
    ]


def measured_of(rows: list[dict[str, Any]]) -> Measured:
    """The other way."""
    return {
        Key(*(row[name] for name in Key._fields)): Acceptance(
            row["rounds"], row["tokens"], tuple(row["reached"]), tuple(row["accepted"])
        )
        for row in rows
    }
