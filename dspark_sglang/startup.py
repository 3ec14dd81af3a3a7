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
from sglang.srt.speculative.dspark_components.dspark_config import (
    checkpoint_bundles_dspark_draft,
)
from sglang.srt.utils import is_cuda
from sglang.srt.utils.hf_transformers_utils import get_config

from dspark_sglang.draft_architecture import refuse_unknown_draft
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
    refuse_unknown_draft(server_args)
    is_our_choice = _prefer_compact(server_args)
    _prefer_flashinfer_draft(server_args)
    original(server_args)
    if fault := _fault(server_args):
        if not is_our_choice:
            raise ValueError(fault)
        logger.warning("DSPARK verifies whole blocks, without scheduling: %s", fault)
        envs.SGLANG_RAGGED_VERIFY_MODE.set("static")
    return None


def ragged_graph_fault(
    backend: str | None, *, compact: bool, graphs: bool, mla: bool
) -> str | None:
    """Why a CUDA target that verifies on attention `backend` cannot verify ragged batches.

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


def _prefer_compact(server_args: Any) -> bool:
    """Choose compact mode, which scheduling needs, where nothing speaks against it."""
    mode = envs.SGLANG_RAGGED_VERIFY_MODE
    if mode.is_set():
        return False
    if reason := _against_compact(server_args):
        logger.warning("DSPARK verifies whole blocks, without scheduling: %s", reason)
        return False
    mode.set("compact")
    return True


def _against_compact(server_args: Any) -> str | None:
    """What SGLang cannot run together with compact verification, None when all is well."""
    obstacles = {
        "attention DP": server_args.enable_dp_attention or server_args.attn_dp_size > 1,
        "LoRA": server_args.enable_lora or server_args.lora_paths,
        "two-batch overlap": server_args.enable_two_batch_overlap,
        "--disable-cuda-graph-padding": server_args.disable_cuda_graph_padding,
        "decode context parallelism": server_args.dcp_size > 1,
        "--enable-linear-replayssm-spec": server_args.enable_linear_replayssm_spec,
        "PD prefill": server_args.disaggregation_mode == "prefill",
    }
    found = [name for name, is_there in obstacles.items() if is_there]
    if found:
        return f"{', '.join(found)} (set {envs.SGLANG_RAGGED_VERIFY_MODE.name} to decide yourself)"
    return None if _draft_has_confidence_head(server_args) else "the draft has no confidence head"


def _draft_has_confidence_head(server_args: Any) -> bool:
    """As SGLang reads it: a DSPARK draft has one unless its config says otherwise."""
    path = server_args.speculative_draft_model_path
    try:
        config = get_config(
            path or server_args.model_path,
            trust_remote_code=server_args.trust_remote_code,
            revision=server_args.speculative_draft_model_revision if path else server_args.revision,
            model_override_args=json.loads(server_args.json_model_override_args or "{}"),
        )
    except Exception as error:  # a path that SGLang itself will refuse with its own words
        logger.warning("The config of the DSPARK draft could not be read: %s", error)
        return False
    is_draft = bool(path) or checkpoint_bundles_dspark_draft(config)
    return is_draft and bool(getattr(config, "enable_confidence_head", True))


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
    prefill, decode = attention_backends_of(view)
    return ragged_graph_fault(
        decode if view.speculative_attention_mode == "decode" else prefill,
        compact=envs.SGLANG_RAGGED_VERIFY_MODE.get() == "compact",
        graphs=graph is not None and graph.decode.backend != "disabled",
        mla=use_mla_backend(server_args),
    )
