"""Unpacks a shipped draft into the cache, where SGLang can map its weights.

The weights are shipped as `.xz`: most rows of the Markov tables are zero, which more than halves
them. The checksum of the unpacked file is shipped beside them.
"""

import lzma
import shutil
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

from dspark_sglang.cache import cache_root, cached_folder, sha256_of

BESIDE = ("sts.json", "card.json")
"""Of a draft from our trainer: its STS table in SGLang's format, and its run card."""

SHIPPED = ("smollm2-135m-instruct",)
"""Names of the drafts in this package, each after the target model that it was trained for."""


def shipped_draft(name: str, say: Callable[[str], None] = print) -> Path:
    """The folder of a shipped draft in the public checkpoint format, ready for SGLang.

    Raises KeyError for a name that is not shipped, ValueError when the weights are damaged.
    """
    if name not in SHIPPED:
        raise KeyError(f"no draft {name!r} in this package; there is {', '.join(SHIPPED)}")
    with as_file(files("dspark_sglang.drafts") / name) as packed:
        digest = (packed / "model.safetensors.sha256").read_text().split()[0]
        return cached_folder(
            cache_root() / "drafts" / name,
            digest,
            lambda target: _unpack(packed, target, digest, say),
            lambda: say("waiting for another process that unpacks the draft"),
        )


def _unpack(packed: Path, target: Path, digest: str, say: Callable[[str], None]) -> None:
    """Writes config, weights and what stands beside them into `target`."""
    say(f"unpacking the draft {packed.name}")
    for name in ("config.json", *BESIDE):
        if (packed / name).exists():
            shutil.copy(packed / name, target / name)
    weights = target / "model.safetensors"
    with lzma.open(packed / "model.safetensors.xz") as source, weights.open("wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
    if sha256_of(weights) != digest:
        raise ValueError(f"{packed.name}: the unpacked weights do not have the shipped checksum")
