"""What is decided from the server arguments, before anything is loaded.

Defaults that a DSPARK operator would choose, and refusals with the remedy for what
SGLang itself would only find out after minutes of loading and graph capture.
"""

import json
import logging
from collections.abc import Callable
from typing import Any

from sglang.srt.arg_groups.overrides import (
    attention_backends_of,
    declare_resolution,
    resolving_view,
    use_mla_backend,
)
from sglang.srt.environ import envs
from sglang.srt.utils import is_cuda
from sglang.srt.utils.hf_transformers_utils import get_config

from dspark_sglang.settings import load_settings

logger = logging.getLogger(__name__)

NO_RAGGED_GRAPHS = frozenset({"flashinfer", "triton", "torch_native", "flex_attention"})
"""SGLang's target attention backends whose class leaves `supports_ragged_verify_graph`
False: they cannot capture a ragged verify in a CUDA graph."""

RAGGED_GRAPHS = "fa3, fa4, trtllm_mha or trtllm_mla"
"""Those that can, for people."""


def resolve(original: Callable[[Any], None], server_args: Any) -> None:
    """Around SGLang's resolution of the server arguments: defaults first, refusals last.

    Raises ValueError with the remedy when the settings or the configuration cannot run.
    """
    if not _is_dspark(server_args):
        return original(server_args)
    load_settings()
    _prefer_compact(server_args)
    _prefer_flashinfer_draft(server_args)
    original(server_args)
    fault = _fault(server_args)
    if fault:
        raise ValueError(fault)
    return None


def ragged_graph_fault(
    backend: str | None, *, compact: bool, graphs: bool, mla: bool
) -> str | None:
    """Why a CUDA target with this decode attention `backend` cannot verify ragged batches.

    None when it can. `graphs`: whether decode CUDA graphs are captured.
    """
    if not (compact and graphs) or backend not in NO_RAGGED_GRAPHS:
        return None
    if backend == "flashinfer" and mla:
        return None
    return (
        f"--attention-backend {backend} has no ragged verify inside CUDA graphs, which "
        f"{envs.SGLANG_RAGGED_VERIFY_MODE.name}=compact needs: use --attention-backend "
        f"{RAGGED_GRAPHS}, or --disable-cuda-graph, or "
        f"{envs.SGLANG_RAGGED_VERIFY_MODE.name}=static (no scheduling)."
    )


def _is_dspark(server_args: Any) -> bool:
    return str(server_args.speculative_algorithm or "").upper() == "DSPARK"


def _prefer_compact(server_args: Any) -> None:
    """Scheduling needs compact mode, and the draft's confidence head to rank by."""
    mode = envs.SGLANG_RAGGED_VERIFY_MODE
    if mode.is_set():
        return
    if server_args.enable_dp_attention or (server_args.attn_dp_size or 1) > 1:
        logger.warning("DSPARK under attention DP: %s stays static unless set.", mode.name)
    elif _draft_has_confidence_head(server_args):
        mode.set("compact")
    else:
        logger.warning(
            "The DSPARK draft has no confidence head: %s=static, nothing to schedule.", mode.name
        )


def _draft_has_confidence_head(server_args: Any) -> bool:
    path = server_args.speculative_draft_model_path or server_args.model_path
    try:
        config = get_config(
            path,
            trust_remote_code=server_args.trust_remote_code,
            revision=server_args.speculative_draft_model_revision,
            model_override_args=json.loads(server_args.json_model_override_args or "{}"),
        )
    except Exception as error:  # a path that SGLang itself will refuse with its own words
        logger.warning("DSPARK draft config of %s could not be read: %s", path, error)
        return False
    return bool(getattr(config, "enable_confidence_head", False))


def _prefer_flashinfer_draft(server_args: Any) -> None:
    if is_cuda() and server_args.speculative_draft_attention_backend is None:
        declare_resolution(
            server_args, "dspark_sglang", speculative_draft_attention_backend="flashinfer"
        )


def _fault(server_args: Any) -> str | None:
    if not is_cuda():
        return None
    view = resolving_view(server_args)
    graph = view.cuda_graph_config
    return ragged_graph_fault(
        attention_backends_of(view)[1],
        compact=envs.SGLANG_RAGGED_VERIFY_MODE.get() == "compact",
        graphs=graph is not None and graph.decode.backend != "disabled",
        mla=use_mla_backend(server_args),
    )
