"""The attention backend of the CPU platform: SGLang's forward modes on `paged_attention`.

It serves EXTEND, MIXED, DECODE and TARGET_VERIFY, uniform and ragged, causal and not. What
a forward reads is planned once; the layers only compute.
"""

# ruff: noqa: PLR0913, PLR0917 (the signatures are upstream's)

from collections.abc import Callable, Sequence
from typing import Any

import torch
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend
from sglang.srt.layers.radix_attention import AttentionType
from sglang.srt.mem_cache.memory_pool import KVWriteLoc
from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool

from dspark_kernels.paged_attention import Plan, attend, build_plan

USUAL_BYTES_PER_SLOT = 1024
"""A key and its value, until the first layer shows how large they are."""


class CpuAttentionBackend(AttentionBackend):  # type: ignore[misc]
    """Paged attention in torch, one call a group of requests instead of one a request."""

    def __init__(self, runner: Any, ahead: int = 0) -> None:
        """Keep the pools of `runner`, which outlive every forward batch.

        `ahead` is how many tokens, drafted but not counted yet, a decoding pass reads as well.
        """
        super().__init__()
        self._ahead = ahead
        self._req_to_token = runner.req_to_token_pool.req_to_token
        self._pool = runner.token_to_kv_pool
        self._window_pool = self._pool if isinstance(self._pool, SWAKVPool) else None
        self._bytes_per_slot = USUAL_BYTES_PER_SLOT
        self._plan = Plan((), 0)
        self._window_plan: Plan | None = None
        self._window_write: torch.Tensor | None = None

    def init_forward_metadata(self, forward_batch: Any) -> None:
        """Plan the reads of one forward (upstream calls it once, before the layers)."""
        self._plan = self._planned(forward_batch)
        pool = self._window_pool
        if pool is None:
            return
        translate = pool.translate_loc_from_full_to_swa
        self._window_plan = self._planned(forward_batch, translate)
        written = forward_batch.out_cache_loc
        self._window_write = None if written is None else translate(written)

    def _planned(
        self,
        forward_batch: Any,
        translate: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> Plan:
        return build_plan(
            self._req_to_token,
            forward_batch.req_pool_indices,
            *_lengths(forward_batch, self._ahead),
            bytes_per_slot=self._bytes_per_slot,
            translate=translate,
        )

    def forward_decode(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        layer: Any,
        forward_batch: Any,
        save_kv_cache: bool = True,
        sinks: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """One query a request; the plan already says so."""
        return self.forward_extend(q, k, v, layer, forward_batch, save_kv_cache, sinks)

    def forward_extend(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        layer: Any,
        forward_batch: Any,
        save_kv_cache: bool = True,
        sinks: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Store `k` and `v`, then attend; `[rows, heads * value dim]` like `q`."""
        if layer.is_cross_attention:
            raise NotImplementedError("the CPU platform has no cross attention")
        if save_kv_cache and k is not None and v is not None:
            where = KVWriteLoc.for_batch(forward_batch, swa_loc=self._window_write)
            self._pool.set_kv_buffer(layer, where, k, v)
        keys = self._pool.get_key_buffer(layer.layer_id)
        self._bytes_per_slot = 2 * keys.element_size() * keys[0].numel()
        out = attend(
            q.reshape(-1, layer.tp_q_head_num, layer.qk_head_dim),
            keys,
            self._pool.get_value_buffer(layer.layer_id),
            self._plan_of(layer),
            scale=layer.scaling,
            causal=layer.attn_type is not AttentionType.ENCODER_ONLY,
            window=layer.sliding_window_size,
            logit_cap=layer.logit_cap,
            sinks=sinks,
        )
        return out.flatten(1)

    def _plan_of(self, layer: Any) -> Plan:
        """Sliding-window layers of a hybrid pool name their slots differently."""
        if self._window_pool is None or self._window_plan is None:
            return self._plan
        _, is_window = self._window_pool.layers_mapping[layer.layer_id]
        return self._window_plan if is_window else self._plan

    def support_triton(self) -> bool:
        """Triton has no CPU target."""
        return False


def _lengths(forward_batch: Any, ahead: int) -> tuple[Sequence[int], Sequence[int]]:
    """Query and KV length of each request of the batch."""
    mode = forward_batch.forward_mode
    committed: list[int] = forward_batch.seq_lens.tolist()
    if mode.is_decode_or_idle():
        return [1] * len(committed), [length + ahead for length in committed]
    if mode.is_target_verify():
        verify = _verify_lengths(forward_batch.spec_info, len(committed))
        return verify, [length + more for length, more in zip(committed, verify, strict=True)]
    return list(forward_batch.extend_seq_lens_cpu), committed


def _verify_lengths(spec_info: Any, requests: int) -> list[int]:
    """Tokens that each request verifies (or drafts: a draft block has the same form)."""
    if spec_info.custom_mask is not None and getattr(spec_info, "topk", 0) != 1:
        raise NotImplementedError("the CPU platform verifies chains only, not token trees")
    layout = getattr(spec_info, "ragged_verify_layout", None)
    if layout is None:
        return [int(spec_info.draft_token_num)] * requests
    lens: list[int] = layout.verify_lens.tolist()
    return lens
