"""What this engine runs, in the terms that tables are measured in."""

import hashlib
from pathlib import Path
from typing import Any

import torch
from sglang.srt.runtime_context import get_parallel, get_server_args
from sglang.version import __version__ as engine_version

from dspark_control.core import Capabilities, DeploymentIdentity
from dspark_sglang import __version__
from dspark_sglang.settings import Settings, default_worker_id

_SAMPLE = 64 * 1024
_CHECKPOINT_FILES = ("*.json", "*.safetensors", "*.bin", "*.gguf")


def checkpoint_digest(path: str, revision: str | None = None) -> str:
    """Digest of a checkpoint: "sha256:" and 64 hex digits.

    Over the names, sizes, and first and last 64 KiB of its files: enough to tell two
    checkpoints apart, without reading hundreds of gigabytes at start. A model that is
    not a local folder is known by its name and `revision`.
    """
    digest = hashlib.sha256()
    folder = Path(path)
    if not folder.is_dir():
        digest.update(f"{path}@{revision or 'main'}".encode())
    files = (f for pattern in _CHECKPOINT_FILES for f in folder.glob(pattern))
    for file in sorted(f for f in files if f.is_file()):
        digest.update(f"{file.name}:{file.stat().st_size}\n".encode())
        digest.update(_head_and_tail(file))
    return f"sha256:{digest.hexdigest()}"


def _head_and_tail(file: Path) -> bytes:
    with file.open("rb") as data:
        head = data.read(_SAMPLE)
        data.seek(max(0, file.stat().st_size - _SAMPLE))
        return head + data.read(_SAMPLE)


def identity_of(worker: Any) -> DeploymentIdentity:
    """Identity of the engine that `worker` serves, once its graphs are captured."""
    runner, draft = worker.model_runner, worker.draft_model_runner
    parallel = get_parallel()
    graphs = runner.decode_cuda_graph_runner
    return DeploymentIdentity(
        target_digest=_digest_of(runner),
        draft_digest=_digest_of(draft),
        gamma=int(worker.gamma),
        gpu=torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        tp_size=int(parallel.tp_size),
        dp_size=int(parallel.attn_dp_size),
        pp_size=int(parallel.pp_size),
        dtype=str(runner.dtype).removeprefix("torch."),
        attention_backend=str(runner.decode_attention_backend_str),
        engine_version=engine_version,
        graph_tiers=tuple(graphs.capture_num_tokens or ()) if graphs is not None else (),
    )


def _digest_of(runner: Any) -> str:
    config = runner.model_config
    return checkpoint_digest(config.model_path, config.revision)


def capabilities_of(worker: Any) -> Capabilities:
    """What `worker` can be told to do."""
    return Capabilities(
        ragged_verify=worker.can_schedule,
        confidence_head=bool(worker.carries_confidence),
        version=__version__,
    )


def engine_id(settings: Settings) -> str:
    """Id of this engine: as set, else host and port of its HTTP server; and its replica.

    Unique in a fleet and stable over restarts.
    """
    replica = get_parallel().dp_rank
    name = settings.worker_id or default_worker_id(get_server_args().port)
    return name if replica is None else f"{name}/dp{replica}"
