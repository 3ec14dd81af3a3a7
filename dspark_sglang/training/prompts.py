"""Prompts on disk, and the token ids that the target sees for them."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Prompt(NamedTuple):
    """One question to the target."""

    text: str
    domain: str


def read_prompts(paths: Iterable[Path]) -> list[Prompt]:
    """All prompts of the files, each text once, in order. ValueError names file and line."""
    unique = {prompt.text: prompt for path in paths for prompt in _read(path)}
    return list(unique.values())


def _read(path: Path) -> Iterator[Prompt]:
    # Not splitlines: JSON may hold other line separators unescaped.
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            text, domain = row["prompt"], row.get("domain", "any")
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path}:{number}: an object with 'prompt' is needed") from error
        if not isinstance(text, str) or not text or not isinstance(domain, str):
            raise ValueError(f"{path}:{number}: prompt and domain must be text")
        yield Prompt(text, domain)


def prompt_ids(prompt: Prompt, tokenizer: Any) -> list[int]:
    """The ids of a chat with this one question, or of the bare text without a chat template."""
    if tokenizer.chat_template is None:
        return list(tokenizer(prompt.text).input_ids)
    chat = [{"role": "user", "content": prompt.text}]
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    return list(ids)
