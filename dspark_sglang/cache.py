"""The folder that clones and runs share for what is dear to make: environments, models, drafts.

Standard library only: the set-up script imports it before anything is installed. A cached folder is
built under a temporary name and renamed when it is whole; its manifest, written last, lists every
file with size and SHA-256, so that half-built or truncated remains are told from the real thing.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MANIFEST = "manifest.json"
INSTALLER_ENVIRON = {"UV_SYSTEM_CERTS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""Environment of uv and pip: trust the certificates that the machine trusts."""


def cache_root() -> Path:
    """`$DSPARK_CACHE`, else `dspark-sglang` in the user's cache folder."""
    if own := os.environ.get("DSPARK_CACHE"):
        return Path(own).expanduser().resolve()
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user).expanduser().resolve() / "dspark-sglang"


@contextmanager
def locked(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Holds an exclusive lock on the file `path`; calls `on_wait` first if another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def write_manifest(folder: Path, recipe: str) -> None:
    """Records every file of `folder`, and the recipe that made them."""
    files = {
        str(path.relative_to(folder)): [path.stat().st_size, sha256_of(path)]
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    (folder / MANIFEST).write_text(json.dumps({"recipe": recipe, "files": files}, indent=1) + "\n")


def reason_against(folder: Path, recipe: str) -> str | None:
    """Why a cached folder cannot be used as it is, or None. Compares sizes, not contents."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        if manifest["recipe"] != recipe:
            return f"made by recipe {manifest['recipe']!r}, now it is {recipe!r}"
        for name, (size, _digest) in manifest["files"].items():
            if (folder / name).stat().st_size != size:
                return f"{name} has another size than the manifest says"
    except FileNotFoundError as missing:
        return f"{missing.filename} is not there"
    except (ValueError, KeyError, TypeError, OSError) as broken:
        return f"the manifest cannot be read: {broken!r}"
    return None


def cached_folder(
    folder: Path, recipe: str, build: Callable[[Path], None], on_wait: Callable[[], None]
) -> Path:
    """`folder`, built by `build(temporary folder)` first unless a whole one is there."""
    if reason_against(folder, recipe) is None:
        return folder
    with locked(folder.parent / f".{folder.name}.lock", on_wait):
        if reason_against(folder, recipe) is None:
            return folder
        building = folder.parent / f".{folder.name}.building"
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir()
        build(building)
        write_manifest(building, recipe)
        shutil.rmtree(folder, ignore_errors=True)
        building.rename(folder)
    return folder
