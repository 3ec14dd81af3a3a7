"""The KV pool of the CPU platform."""

import torch
from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool


class CpuMHATokenToKVPool(MHATokenToKVPool):  # type: ignore[misc]
    """SGLang's multi-head pool with torch moves.

    With speculation upstream warms up a Triton copy kernel at construction; here slots
    are moved with `index_select` and `index_copy_` instead.
    """

    def _init_kv_copy_and_warmup(self) -> None:
        self._kv_copy_config = None

    def _move_kv_cache_impl(self, tgt_loc: torch.Tensor, src_loc: torch.Tensor) -> None:
        for buffer in (*self.k_buffer, *self.v_buffer):
            buffer.index_copy_(0, tgt_loc, buffer.index_select(0, src_loc))
