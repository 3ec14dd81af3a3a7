"""What is packed must unpack to the same draft, in bfloat16."""

import hashlib
import lzma
from pathlib import Path

import pytest
import torch
from reference_helpers import tiny_config

from dspark_sglang.drafts.pack import pack
from dspark_sglang.reference import Draft, read_draft, write_draft

pytestmark = pytest.mark.integration


def test_a_packed_draft_unpacks_to_itself(tmp_path: Path) -> None:
    draft = Draft(tiny_config())
    write_draft(draft, tmp_path / "draft")
    (tmp_path / "draft" / "sts.json").write_text("{}")
    size = pack(tmp_path / "draft", tmp_path / "packed")
    packed = (tmp_path / "packed" / "model.safetensors.xz").read_bytes()
    weights = lzma.decompress(packed)
    (tmp_path / "packed" / "model.safetensors").write_bytes(weights)
    digest = (tmp_path / "packed" / "model.safetensors.sha256").read_text().split()[0]
    again = read_draft(tmp_path / "packed").state_dict()
    assert len(packed) == size
    assert hashlib.sha256(weights).hexdigest() == digest
    assert (tmp_path / "packed" / "sts.json").exists()
    for name, weight in draft.state_dict().items():
        kept = weight if name.startswith("confidence_head") else weight.to(torch.bfloat16)
        assert torch.equal(again[name], kept)
