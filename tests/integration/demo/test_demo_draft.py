"""The shipped draft unpacks to what its checksum says, once."""

import json
import shutil
from pathlib import Path

import pytest

from dspark_sglang.cache import sha256_of
from dspark_sglang.drafts import SHIPPED, shipped, shipped_draft


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    monkeypatch.setenv("DSPARK_CACHE", str(tmp_path / "cache"))
    return []


def test_the_draft_unpacks_once(said: list[str]) -> None:
    (name,) = SHIPPED
    folder = shipped_draft(name, said.append)
    assert shipped_draft(name, said.append) == folder
    assert said == [f"unpacking the draft {name}"]
    packed = Path(shipped.__file__).parent / name
    digest = (packed / "model.safetensors.sha256").read_text().split()[0]
    assert sha256_of(folder / "model.safetensors") == digest
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["Qwen3DSparkModel"]
    assert sum(file.stat().st_size for file in packed.iterdir()) < 20e6


def test_a_truncated_draft_is_unpacked_again(said: list[str]) -> None:
    folder = shipped_draft(SHIPPED[0], said.append)
    with (folder / "model.safetensors").open("r+b") as weights:
        weights.truncate(1000)
    shipped_draft(SHIPPED[0], said.append)
    assert (folder / "model.safetensors").stat().st_size > 1e7


def test_damaged_weights_are_refused(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(shipped.__file__).parent
    shutil.copytree(source / SHIPPED[0], tmp_path / "package" / SHIPPED[0])
    digest = tmp_path / "package" / SHIPPED[0] / "model.safetensors.sha256"
    digest.write_text("0" * 64 + "  model.safetensors\n")
    monkeypatch.setattr(shipped, "files", lambda _package: tmp_path / "package")
    with pytest.raises(ValueError, match="checksum"):
        shipped_draft(SHIPPED[0], said.append)
    assert not (tmp_path / "cache" / "drafts" / SHIPPED[0]).exists()


def test_an_unknown_draft_is_named() -> None:
    with pytest.raises(KeyError, match="no draft 'other'"):
        shipped_draft("other")
