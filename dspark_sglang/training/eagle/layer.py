"""The one decoder layer of an Eagle3 draft: Llama's, with attention over [embedding; hidden].

Weight names are those of the public checkpoints, the computation is SGLang's
(`models/llama_eagle3.py`).
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from dspark_sglang.reference.layers import MLP, KeyValue, attended, rotated
from dspark_sglang.training.eagle.config import EagleConfig


class Chains(NamedTuple):
    """A chains of one sequence, each somewhere between its anchor and its last draft token.

    A cell is a token with the hidden state of the position before it. Step-0 cells have that
    state from the target, and all chains share their keys; a chain's own cells have it from the
    draft, its first one from the target.
    """

    hidden: Tensor
    """State of the position before the next token, `[A, H]`, not normed."""
    positions: Tensor
    """Of that state, `[A]`."""
    context: KeyValue
    """Of all step-0 cells, `[1, kv_heads, S - 1, head_dim]`."""
    mask: Tensor
    """Step-0 cells before the chain, `[A, 1, 1, S - 1]`."""
    own: KeyValue
    """Of the chains' own cells, `[A, kv_heads, steps, head_dim]`."""


class EagleAttention(nn.Module):
    """Grouped-query attention of one new cell a chain."""

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        self.head_dim, self.rope_theta = config.head_dim, config.rope_theta
        twice = 2 * config.hidden_size
        wide = config.num_attention_heads * config.head_dim
        narrow = config.num_key_value_heads * config.head_dim
        self.q_proj = nn.Linear(twice, wide, bias=False)
        self.k_proj = nn.Linear(twice, narrow, bias=False)
        self.v_proj = nn.Linear(twice, narrow, bias=False)
        self.o_proj = nn.Linear(wide, config.hidden_size, bias=False)

    def keys_values(self, cells: Tensor, positions: Tensor) -> KeyValue:
        """Of `cells` `[B, S, 2H]` at `positions` `[B, S]`."""
        keys = rotated(self._heads(self.k_proj(cells)), positions, self.rope_theta)
        return KeyValue(keys, self._heads(self.v_proj(cells)))

    def forward(self, cells: Tensor, chains: Chains) -> Tensor:
        """`[A, H]` of the chains' newest cells `[A, 1, 2H]`, whose keys are in `own`."""
        positions = chains.positions[:, None]
        queries = rotated(self._heads(self.q_proj(cells)), positions, self.rope_theta)
        # Heads that share a key head are the queries of that head.
        folded = queries.view(len(cells), chains.own.keys.shape[1], -1, self.head_dim)
        mask = F.pad(chains.mask, (0, chains.own.keys.shape[2]), value=True)
        out = attended(folded, chains.context, chains.own, mask)
        return cast(Tensor, self.o_proj(out.flatten(1)))

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], -1, self.head_dim).transpose(1, 2)


class EagleLayer(nn.Module):
    """Attention and feed-forward, added to the hidden half of the input."""

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.rms_norm_eps
        self.input_layernorm = nn.RMSNorm(width, eps=eps)
        self.hidden_norm = nn.RMSNorm(width, eps=eps)
        self.self_attn = EagleAttention(config)
        self.post_attention_layernorm = nn.RMSNorm(width, eps=eps)
        self.mlp = MLP(width, config.intermediate_size)

    def cells(self, embeds: Tensor, hidden: Tensor) -> Tensor:
        """[norm(embedding); norm(hidden)] `[..., 2H]` from `[..., H]` each."""
        return torch.cat([self.input_layernorm(embeds), self.hidden_norm(hidden)], dim=-1)

    def forward(self, embeds: Tensor, chains: Chains) -> Chains:
        """The chains one token longer, by tokens of the embeddings `[A, H]`."""
        cells = self.cells(embeds, chains.hidden)[:, None]
        newest = self.self_attn.keys_values(cells, chains.positions[:, None])
        chains = chains._replace(own=chains.own.followed_by(newest))
        hidden = chains.hidden + self.self_attn(cells, chains)
        hidden = hidden + self.mlp(self.post_attention_layernorm(hidden))
        return chains._replace(hidden=hidden, positions=chains.positions + 1)
