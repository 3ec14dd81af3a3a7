"""What a folder was made with, so that another target or draft does not go on in it unnoticed."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

SAMPLED = 64
"""Numbers of each weight that stand for it."""


def agree(path: Path, made_with: Mapping[str, Any]) -> None:
    """Writes `path` the first time; ValueError where it says something else than now."""
    now = json.loads(json.dumps(made_with))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several processes of one run come here at once; each finds no file or a whole one.
        newer = path.with_suffix(f".{os.getpid()}")
        newer.write_text(json.dumps(now, indent=1) + "\n")
        newer.replace(path)
        return
    then = json.loads(path.read_text())
    changed = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    if changed:
        texts = [f"{key} was {then.get(key)!r}, is {now.get(key)!r}" for key in changed]
        raise ValueError(
            f"{path.parent} was made with other settings: {'; '.join(texts)}. "
            "Put them back, name another folder, or remove this one"
        )


@torch.no_grad()
def fingerprint(model: Any) -> str:
    """Hexadecimal digest of a target: the shapes of its weights and some numbers of each."""
    digest = hashlib.sha256()
    for name, weight in model.named_parameters():
        some = weight.detach().flatten()[:SAMPLED].float().cpu()
        digest.update(f"{name} {tuple(weight.shape)}".encode() + some.numpy().tobytes())
    return digest.hexdigest()[:16]
