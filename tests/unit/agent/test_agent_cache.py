"""The file on disk: whole or absent, private, and never believed without proof."""

import logging
import os
import stat
from pathlib import Path

import pytest

from dspark_sglang.agent import cache as cache_module
from dspark_sglang.agent.cache import MAX_BYTES, CacheFault, SnapshotCache, decode, encode

PAYLOAD = bytes(range(64)) + b"\n\n\x00snapshot"


@pytest.fixture
def cache(tmp_path: Path) -> SnapshotCache:
    return SnapshotCache(tmp_path / "state", "host:30000")


def test_what_was_saved_is_loaded(cache):
    assert cache.load() is None
    cache.save(b"first")
    cache.save(PAYLOAD)
    assert cache.load() == PAYLOAD
    assert SnapshotCache(cache.path.parents[1], "host:30000").load() == PAYLOAD


def test_an_empty_payload_is_one_too(cache):
    cache.save(b"")
    assert cache.load() == b""


@pytest.mark.parametrize("flip", [0x01, 0x20, 0xFF])
def test_a_flip_of_any_byte_is_noticed(flip):
    raw = encode(PAYLOAD, "host:30000")
    for position in range(len(raw)):
        damaged = bytearray(raw)
        damaged[position] ^= flip
        with pytest.raises(CacheFault):
            decode(bytes(damaged), "host:30000")


def test_a_cut_at_any_byte_is_noticed():
    raw = encode(PAYLOAD, "host:30000")
    for length in range(len(raw)):
        with pytest.raises(CacheFault):
            decode(raw[:length], "host:30000")
    with pytest.raises(CacheFault):
        decode(raw + b"\x00", "host:30000")


@pytest.mark.parametrize("damage", [b"", b"\x00" * 100, b"dspark-last-known-good 1 \n", "cut"])
def test_a_damaged_file_is_put_aside_and_said(cache, caplog, damage):
    cache.save(PAYLOAD)
    content = cache.path.read_bytes()[:-1] if damage == "cut" else damage
    cache.path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert cache.load() is None
    assert not cache.path.exists()
    assert cache.path.with_suffix(".bad").read_bytes() == content
    assert len(caplog.records) == 1
    assert str(cache.path) in caplog.text
    assert ".bad" in caplog.text
    assert cache.load() is None  # now simply absent
    cache.save(PAYLOAD)
    assert cache.load() == PAYLOAD


def test_the_file_of_another_worker_is_not_ours(cache, tmp_path, caplog):
    other = SnapshotCache(tmp_path / "state", "host:30001")
    assert other.path != cache.path
    other.save(PAYLOAD)
    os.replace(other.path, cache.path)
    assert cache.load() is None
    assert "another worker" in caplog.text


def test_ids_that_look_alike_have_files_of_their_own(tmp_path):
    paths = {
        SnapshotCache(tmp_path, name).path for name in ("a/b", "a:b", "a_b", "../a", "a" * 200)
    }
    assert len(paths) == 5
    assert all(path.parent == tmp_path / "last-known-good" for path in paths)


def test_an_oversized_file_is_put_aside(cache, caplog):
    cache.save(PAYLOAD)
    with cache.path.open("r+b") as stream:
        stream.truncate(MAX_BYTES + 1)
    assert cache.load() is None
    assert "larger than" in caplog.text


def test_an_oversized_snapshot_is_not_kept_and_the_old_one_stays(cache):
    cache.save(PAYLOAD)
    with pytest.raises(OSError, match="too large"):
        cache.save(b"x" * MAX_BYTES)
    assert cache.load() == PAYLOAD


def test_only_the_user_may_read_it(cache):
    previous = os.umask(0)
    try:
        cache.save(PAYLOAD)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.path.parent.stat().st_mode) == 0o700


def test_loose_permissions_are_tightened_at_the_next_save(cache):
    cache.save(PAYLOAD)
    cache.path.parent.chmod(0o755)
    cache.path.with_suffix(".tmp").write_bytes(b"left by a crash")
    cache.path.with_suffix(".tmp").chmod(0o666)
    cache.save(PAYLOAD)
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.path.parent.stat().st_mode) == 0o700


def test_a_file_that_others_may_write_is_not_believed(cache, caplog):
    cache.save(PAYLOAD)
    cache.path.chmod(0o620)
    assert cache.load() is None
    assert "others may write" in caplog.text


def test_a_link_is_not_followed(cache, tmp_path, caplog):
    cache.save(PAYLOAD)
    os.replace(cache.path, tmp_path / "elsewhere")
    cache.path.symlink_to(tmp_path / "elsewhere")
    assert cache.load() is None
    assert "symbolic link" in caplog.text
    assert (tmp_path / "elsewhere").exists()


def test_a_pipe_or_folder_in_its_place_does_not_hang(cache):
    cache.save(PAYLOAD)
    cache.path.unlink()
    os.mkfifo(cache.path)
    assert cache.load() is None
    cache.path.mkdir()
    assert cache.load() is None


def test_a_state_dir_that_is_a_file_is_said_and_survived(tmp_path, caplog):
    (tmp_path / "state").write_text("")
    cache = SnapshotCache(tmp_path / "state", "w")
    assert cache.load() is None
    assert "permissions" in caplog.text
    with pytest.raises(NotADirectoryError):
        cache.save(PAYLOAD)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_before_the_rename_leaves_the_old_one(cache, monkeypatch, step):
    cache.save(b"old")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cache_module.os, step, crash)
        with pytest.raises(KeyboardInterrupt):
            cache.save(PAYLOAD)
    assert cache.load() == b"old"
    cache.save(PAYLOAD)
    assert cache.load() == PAYLOAD
    assert [path.suffix for path in cache.path.parent.iterdir()] == [".snapshot"]


def test_the_content_is_on_disk_before_the_name_is(cache, monkeypatch):
    order: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        order.append(kind)
        fsync(descriptor)

    def note_replace(old: Path, new: Path) -> None:
        order.append("rename")
        replace(old, new)

    monkeypatch.setattr(cache_module.os, "fsync", note_fsync)
    monkeypatch.setattr(cache_module.os, "replace", note_replace)
    cache.save(PAYLOAD)
    assert order == ["file", "rename", "folder"]
