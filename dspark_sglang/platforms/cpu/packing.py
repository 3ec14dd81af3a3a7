"""Weights packed once for oneDNN, which a CPU multiplies up to several times faster.

A step of decoding multiplies a few rows with every weight of the model. Torch packs a weight
anew in each product, or reads it in an order that suits one row only, so that a few rows in
float32 take much longer than one. Packed beforehand, they take little longer.

A packed weight stays beside the plain one, which upstream reads too, and is made anew after
upstream has replaced weights. Where memory is short, products run as before.
"""

import functools
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import psutil
import torch

logger = logging.getLogger(__name__)

DTYPES = (torch.float32, torch.bfloat16)
ROWS = 8
"""Rows that the order is chosen for; others are as fast."""
FREE_SHARE = 0.25
"""Share of the machine's memory that packing leaves alone."""
PLAIN_HEADS = ("NoneType", "UnquantizedEmbeddingMethod", "UnquantizedLinearMethod")
"""Classes of a head's quantization method that leave the weight as it is."""
_ATTRIBUTE = "_dspark_packed"

_generation = 0


class Packed(NamedTuple):
    """What a layer keeps: its packed weight, None where there can be none."""

    generation: int
    weight: torch.Tensor | None


def forget_packed(*_args: Any, **_kwargs: Any) -> None:
    """When upstream replaces weights: all are packed anew when they are next used."""
    global _generation  # noqa: PLW0603 (one model runner a process; layers are found lazily)
    _generation += 1


def generation() -> int:
    """How often upstream has replaced weights; what is derived from them is kept with it."""
    return _generation


def packed_apply(
    original: Callable[..., torch.Tensor],
    method: Any,
    layer: Any,
    x: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """In place of `UnquantizedLinearMethod.apply`: `x` `[..., in]` to `[..., out]`."""
    packed = packed_weight(layer, x)
    return original(method, layer, x, bias) if packed is None else product(x, packed, bias)


def packed_lm_head(
    original: Callable[..., torch.Tensor],
    processor: Any,
    hidden_states: torch.Tensor,
    lm_head: Any,
    embedding_bias: torch.Tensor | None = None,
    **kwargs: Any,
) -> torch.Tensor:
    """In place of `LogitsProcessor._compute_lm_head`, for heads that are a plain weight."""
    packed = None
    if embedding_bias is None and _is_plain(processor, lm_head):
        packed = packed_weight(lm_head, hidden_states)
    if packed is None:
        return original(processor, hidden_states, lm_head, embedding_bias, **kwargs)
    return product(hidden_states, packed)


def packed_draft_head(
    original: Callable[..., torch.Tensor], hidden: torch.Tensor, lm_head: Any
) -> torch.Tensor:
    """In place of `models.dspark.project_through_lm_head`, the draft's use of the target's head."""
    packed = None
    if type(getattr(lm_head, "quant_method", None)).__name__ in PLAIN_HEADS:
        packed = packed_weight(lm_head, hidden)
    return original(hidden, lm_head) if packed is None else product(hidden, packed)


def packed_weight(layer: Any, x: torch.Tensor) -> torch.Tensor | None:
    """The layer's packed weight for `x`, packed at first use; None where there is none."""
    kept: Packed | None = layer.__dict__.get(_ATTRIBUTE)
    if kept is None or kept.generation != _generation:
        kept = Packed(_generation, _pack(layer))
        layer.__dict__[_ATTRIBUTE] = kept
    is_same = kept.weight is not None and x.dtype == kept.weight.dtype
    return kept.weight if is_same else None


def product(
    x: torch.Tensor, packed: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """x W^T + bias for a packed W."""
    done: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], "")
    return done


def pack(weight: torch.Tensor) -> torch.Tensor:
    """`weight` `[out, in]` in the order that oneDNN likes best."""
    packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), ROWS)
    return packed


def _pack(layer: Any) -> torch.Tensor | None:
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, torch.Tensor) or not _can_pack(weight):
        return None
    if not _has_room(weight.nbytes):
        _warn_once()
        return None
    return pack(weight)


@functools.cache
def _warn_once() -> None:
    logger.warning("Too little memory is free to pack all weights: products are slower")


def _can_pack(weight: torch.Tensor) -> bool:
    is_plain = weight.device.type == "cpu" and weight.dim() == 2 and weight.is_contiguous()
    return is_plain and weight.dtype in DTYPES and torch._C._has_mkldnn


def _has_room(size: int) -> bool:
    memory = psutil.virtual_memory()
    return bool(memory.available - size > FREE_SHARE * memory.total)


def _is_plain(processor: Any, lm_head: Any) -> bool:
    """Whether upstream would multiply with the weight as it is."""
    is_odd = processor.use_fp32_lm_head or processor.rl_on_policy_target is not None
    method = type(getattr(lm_head, "quant_method", None)).__name__
    return not is_odd and not hasattr(lm_head, "set_lora") and method in PLAIN_HEADS
