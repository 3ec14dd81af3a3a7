"""A draft layer: Qwen3's decoder layer whose attention also reads keys and values of the context.

Differences from an ordinary decoder layer: context keys and values come from the target's
projected hidden states (3) and not from the layer below, and the block attends to itself in
both directions. Weight names are those of the public checkpoints.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.reference.config import DraftConfig


class KeyValue(NamedTuple):
    """Keys (normed, rotated) and values of some positions, each `[B or 1, kv_heads, S, head_dim]`.

    A batch of one is shared by all sequences.
    """

    keys: Tensor
    values: Tensor

    def followed_by(self, other: "KeyValue") -> "KeyValue":
        """Both, along the positions."""
        keys = torch.cat([self.keys, other.keys], dim=2)
        return KeyValue(keys, torch.cat([self.values, other.values], dim=2))


def attended(queries: Tensor, context: KeyValue, block: KeyValue, mask: Tensor | None) -> Tensor:
    """Softmax attention `[B, kv_heads, Q, head_dim]` over two runs of positions at once.

    The queries `[B, kv_heads, Q, head_dim]` of all heads that share a key head stand in its Q.
    The context is not joined with the block, so that many blocks can share it uncopied.
    """
    scores = torch.cat([_scores(queries, context.keys), _scores(queries, block.keys)], dim=-1)
    scores = scores * queries.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1).to(queries.dtype)
    length = context.keys.shape[2]
    seen, own = weights[..., :length], weights[..., length:]
    if len(context.values) == 1:
        out = own @ block.values + torch.einsum("bkqs,ksd->bkqd", seen, context.values[0])
    else:
        out = own @ block.values + seen @ context.values
    return cast(Tensor, out)


def _scores(queries: Tensor, keys: Tensor) -> Tensor:
    if len(keys) == 1:
        return torch.einsum("bkqd,ksd->bkqs", queries, keys[0])
    return queries @ keys.transpose(-1, -2)


def rotated(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """Rotary embedding of `x` `[B, heads, S, head_dim]` at `positions` `[B, S]`, halves paired."""
    half = x.shape[-1] // 2
    steps = torch.arange(half, device=x.device, dtype=torch.float32)
    angles = positions[:, None, :, None].float() * theta ** (-steps / half)
    cos, sin = angles.cos(), angles.sin()
    low, high = x.to(torch.promote_types(x.dtype, torch.float32)).chunk(2, dim=-1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=-1).to(x.dtype)


class Attention(nn.Module):
    """Grouped-query attention with normed queries and keys, over context and block."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.head_dim, self.rope_theta = config.head_dim, config.rope_theta
        wide = config.num_attention_heads * config.head_dim
        narrow = config.num_key_value_heads * config.head_dim
        bias = config.attention_bias
        self.q_proj = nn.Linear(config.hidden_size, wide, bias=bias)
        self.k_proj = nn.Linear(config.hidden_size, narrow, bias=bias)
        self.v_proj = nn.Linear(config.hidden_size, narrow, bias=bias)
        self.o_proj = nn.Linear(wide, config.hidden_size, bias=bias)
        self.q_norm = nn.RMSNorm(config.head_dim, eps=config.rms_norm_eps)
        self.k_norm = nn.RMSNorm(config.head_dim, eps=config.rms_norm_eps)

    def keys_values(self, x: Tensor, positions: Tensor) -> KeyValue:
        """Of `x` `[B, S, H]` at `positions` `[B, S]`; the same weights serve context and block."""
        keys = rotated(self.k_norm(self._heads(self.k_proj(x))), positions, self.rope_theta)
        return KeyValue(keys, self._heads(self.v_proj(x)))

    def forward(
        self, x: Tensor, positions: Tensor, context: KeyValue, mask: Tensor | None
    ) -> Tensor:
        """`[B, Q, H]` from block rows `x` `[B, Q, H]`, which see the context and each other.

        `mask` `[B or 1, 1, Q, S + Q]` is true where a row may look; None lets it look everywhere.
        """
        queries = rotated(self.q_norm(self._heads(self.q_proj(x))), positions, self.rope_theta)
        block = self.keys_values(x, positions)
        batch, heads, rows, width = queries.shape
        groups = heads // block.keys.shape[1]
        folded = queries.reshape(batch, -1, groups * rows, width)
        if mask is not None:
            mask = mask.repeat(1, 1, groups, 1)
        out = attended(folded, context, block, mask).reshape(batch, heads, rows, width)
        return self.o_proj(out.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], -1, self.head_dim).transpose(1, 2)


class MLP(nn.Module):
    """SwiGLU feed-forward."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """`[..., H]` to `[..., H]`."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))  # type: ignore[no-any-return]


class DraftLayer(nn.Module):
    """Attention and feed-forward, each after a norm and added to the stream."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = MLP(config.hidden_size, config.intermediate_size)

    def forward(
        self, x: Tensor, positions: Tensor, context: KeyValue, mask: Tensor | None
    ) -> Tensor:
        """`[B, Q, H]` to `[B, Q, H]`; arguments as in `Attention.forward`."""
        x = x + self.self_attn(self.input_layernorm(x), positions, context, mask)
        return x + self.mlp(self.post_attention_layernorm(x))  # type: ignore[no-any-return]
