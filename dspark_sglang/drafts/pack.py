"""Packs a trained draft the way the package ships it: `python -m dspark_sglang.drafts.pack`.

The weights become bfloat16 and are compressed with a model of two-byte numbers; config, STS table
and run card stand beside them as they are.
"""

import argparse
import hashlib
import lzma
import shutil
import tempfile
from pathlib import Path

import torch

from dspark_sglang.drafts.shipped import BESIDE
from dspark_sglang.reference import read_draft, write_draft

FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 2, "lp": 1, "pb": 1}]


def pack(draft: Path, folder: Path) -> int:
    """Writes the draft in `draft` into `folder`; the bytes of the packed weights."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch)
        write_draft(read_draft(draft, torch.bfloat16), plain)
        weights = (plain / "model.safetensors").read_bytes()
        shutil.copy(plain / "config.json", folder / "config.json")
    for name in BESIDE:
        if (draft / name).exists():
            shutil.copy(draft / name, folder / name)
    packed = lzma.compress(weights, lzma.FORMAT_XZ, filters=FILTERS)
    (folder / "model.safetensors.xz").write_bytes(packed)
    digest = hashlib.sha256(weights).hexdigest()
    (folder / "model.safetensors.sha256").write_text(f"{digest}  model.safetensors\n")
    return len(packed)


def main() -> None:
    """`DRAFT FOLDER`: the folder of the draft, and the one to ship."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("draft", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    print(f"{given.folder}: {pack(given.draft, given.folder) / 1e6:.1f} MB of weights")


if __name__ == "__main__":
    main()
