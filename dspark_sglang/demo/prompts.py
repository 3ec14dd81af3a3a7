"""Prompts by domain: the package's own, or a file of JSON lines with `prompt` and `domain`."""

import json
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

OWN = files("dspark_sglang.demo") / "prompts.jsonl"
DOMAINS = ("math", "code", "chat")


class Prompt(NamedTuple):
    """One user message and the domain that it belongs to."""

    domain: str
    text: str


def load_prompts(path: Path | None = None, limit: int | None = None) -> list[Prompt]:
    """The first `limit` prompts of a file, of the package's own without one.

    Raises ValueError that names file, line and remedy for a line that is not a prompt.
    """
    source = path or OWN
    lines = source.read_text(encoding="utf-8").splitlines()
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    prompts = [_parse(line, f"{path or 'prompts.jsonl'}:{number}") for number, line in numbered]
    if not prompts:
        raise ValueError(f"{source}: no prompts; give JSON lines with the field 'prompt'")
    return prompts[:limit]


def _parse(line: str, where: str) -> Prompt:
    try:
        fields = json.loads(line)
    except ValueError as fault:
        raise ValueError(f"{where}: not JSON ({fault})") from None
    text = fields.get("prompt") if isinstance(fields, dict) else None
    if not isinstance(text, str) or not text:
        raise ValueError(f"{where}: the field 'prompt' must be a text that is not empty")
    return Prompt(str(fields.get("domain", "other")), text)
