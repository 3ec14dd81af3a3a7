"""Cached folders: built once, whole or not at all."""

import threading
import time
from pathlib import Path

import pytest

from dspark_sglang.cache import cache_root, cached_folder, reason_against


def build(target: Path) -> None:
    (target / "weights").write_text("w" * 100)


def nothing() -> None:
    """Nobody else is waiting."""


def test_cache_root_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("DSPARK_CACHE", raising=False)
    assert cache_root() == tmp_path / "xdg" / "dspark-sglang"
    monkeypatch.setenv("DSPARK_CACHE", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own"


def test_a_hit_does_not_build(tmp_path: Path) -> None:
    folder = cached_folder(tmp_path / "model", "1", build, nothing)
    assert reason_against(folder, "1") is None

    def fail(_target: Path) -> None:
        raise AssertionError("built again")

    assert cached_folder(folder, "1", fail, nothing) == folder


@pytest.mark.parametrize("damage", ["shorter", "missing", "no manifest", "bad manifest", "recipe"])
def test_damage_is_named_and_mended(tmp_path: Path, damage: str) -> None:
    folder = cached_folder(tmp_path / "model", "1", build, nothing)
    if damage == "shorter":
        (folder / "weights").write_text("w")
    elif damage == "missing":
        (folder / "weights").unlink()
    elif damage == "no manifest":
        (folder / "manifest.json").unlink()
    elif damage == "bad manifest":
        (folder / "manifest.json").write_text("{")
    recipe = "2" if damage == "recipe" else "1"
    assert reason_against(folder, recipe)
    cached_folder(folder, recipe, build, nothing)
    assert reason_against(folder, recipe) is None
    assert (folder / "weights").read_text() == "w" * 100


def test_a_broken_build_leaves_no_folder(tmp_path: Path) -> None:
    def break_off(target: Path) -> None:
        build(target)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cached_folder(tmp_path / "model", "1", break_off, nothing)
    assert not (tmp_path / "model").exists()


def test_two_at_once_build_once(tmp_path: Path) -> None:
    builds = []

    def slowly(target: Path) -> None:
        builds.append(target)
        time.sleep(0.2)
        build(target)

    threads = [
        threading.Thread(target=cached_folder, args=(tmp_path / "model", "1", slowly, nothing))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
