"""Bytes from disk, refused by size before they are read and by encoding before parsing."""

import os
import stat
from pathlib import Path

from dspark_control.files.faults import FileFault

MAX_BYTES = 1024 * 1024
"""Largest policy, table or identity file."""


def read_limited(path: Path) -> bytes:
    """The content of a regular file of at most `MAX_BYTES`; a larger one is never read."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileFault(str(path), "is not a regular file; give the path of a file")
            _check_size(str(path), status.st_size)
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileFault(str(path), f"cannot be read: {error.strerror or error}") from error


def decode_text(data: bytes, file: str) -> str:
    """`data` as text; FileFault when too large, empty or not UTF-8."""
    _check_size(file, len(data))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8 ({error.reason}); save the file as UTF-8"
        raise FileFault(file, message) from error
    if not text.strip():
        raise FileFault(file, "is empty; write the fields of the artifact into it")
    return text


def _check_size(file: str, size: int) -> None:
    if size > MAX_BYTES:
        raise FileFault(
            file,
            f"has {size} bytes, but at most {MAX_BYTES} are read; is it the right file?",
        )
