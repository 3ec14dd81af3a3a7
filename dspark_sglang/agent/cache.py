"""The last known good snapshot on disk, for a start without the control service.

Written whole or not at all, private, and never trusted: a file that is not exactly
what was written is put aside, with one clear line in the log, and start goes on.
"""

import hashlib
import logging
import os
import re
import stat
from pathlib import Path

from dspark_control.client import MAX_MESSAGE_BYTES

logger = logging.getLogger(__name__)

MAX_BYTES = 2 * MAX_MESSAGE_BYTES
"""Largest file; a snapshot comes in one message and so is smaller."""

FORMAT = "dspark-last-known-good 1"
"""Magic and version of the header line, which goes on with digest and worker id."""


class CacheFault(ValueError):
    """The file is not one that this worker wrote; the message says why."""


def encode(payload: bytes, worker_id: str) -> bytes:
    """The file's content: a header line and the payload."""
    return f"{FORMAT} {_digest(payload, worker_id)} {worker_id}\n".encode() + payload


def decode(raw: bytes, worker_id: str) -> bytes:
    """The payload of a file's content; raises CacheFault."""
    header, newline, payload = raw.partition(b"\n")
    if not header.startswith(FORMAT.encode() + b" ") or not newline:
        raise CacheFault("it is not in the format of this version")
    if not header.endswith(f" {worker_id}".encode()):
        raise CacheFault("it was written by another worker")
    if raw != encode(payload, worker_id):
        raise CacheFault("its checksum does not fit its content")
    return payload


def _digest(payload: bytes, worker_id: str) -> str:
    return hashlib.sha256(worker_id.encode() + b"\n" + payload).hexdigest()


def _file_name(worker_id: str) -> str:
    """A name for people, made unique by a digest, since ids may hold any character."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", worker_id)[:64]
    return f"{readable}-{hashlib.sha256(worker_id.encode()).hexdigest()[:8]}.snapshot"


class SnapshotCache:
    """The file of one worker; the payload is a serialized snapshot."""

    def __init__(self, state_dir: Path, worker_id: str) -> None:
        self._worker_id = worker_id
        self.path = state_dir / "last-known-good" / _file_name(worker_id)
        """The file; a `.bad` one beside it is a damaged predecessor."""

    def load(self) -> bytes | None:
        """The payload, or None when there is none or it cannot be trusted."""
        try:
            return decode(_read_private(self.path), self._worker_id)
        except FileNotFoundError:
            return None
        except CacheFault as fault:
            self.put_aside(str(fault))
        except OSError as error:
            logger.warning(
                "last known good snapshot %s ignored: %s; correct the folder's permissions",
                self.path,
                error.strerror,
            )
        return None

    def save(self, payload: bytes) -> None:
        """Replaces the file atomically and durably; raises OSError, and then the old one stays."""
        content = encode(payload, self._worker_id)
        if len(content) > MAX_BYTES:
            raise OSError(f"a snapshot of {len(payload)} bytes is too large to keep")
        _make_private(self.path.parent)
        temporary = self.path.with_suffix(".tmp")
        _write_durably(temporary, content)
        os.replace(temporary, self.path)
        _sync_folder(self.path.parent)

    def put_aside(self, reason: str) -> None:
        """Renames a file that cannot be used to `.bad`, for people to look at."""
        aside = self.path.with_suffix(".bad")
        try:
            os.replace(self.path, aside)
        except OSError as error:
            reason += f" (and it could not be renamed: {error.strerror})"
        logger.warning(
            "last known good snapshot %s ignored: %s; it is kept as %s",
            self.path,
            reason,
            aside.name,
        )


def _read_private(path: Path) -> bytes:
    """The content of a regular file of this user that no one else may write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink():
            raise CacheFault("it is a symbolic link") from None
        raise
    with open(descriptor, "rb") as stream:
        if reason := _untrusted(os.fstat(descriptor)):
            raise CacheFault(reason)
        return stream.read(MAX_BYTES)


def _untrusted(status: os.stat_result) -> str | None:
    """Why a file cannot be one that this worker wrote, or None."""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return f"it is larger than {MAX_BYTES} bytes" if status.st_size > MAX_BYTES else None


def _make_private(folder: Path) -> None:
    """Makes the folder and those above it; this one is readable by its user only."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) != 0o700:
        folder.chmod(0o700)


def _write_durably(path: Path, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as stream:
        os.fchmod(stream.fileno(), 0o600)  # one left by a crash may have another mode
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
