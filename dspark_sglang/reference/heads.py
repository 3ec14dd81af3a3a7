"""The sequential half of DSpark: heads that make each draft token depend on the ones before (4).

A head turns the previous token x_{k-1} into a bias B_k over the vocabulary, which is added to the
backbone's logits U_k. Upstream: `models/dspark.py`, which also fixes the weight names; the one
projection `joint_proj` of the RNN stacks W_g, W_c and W_o of (6).
"""

# ruff: noqa: ARG002 (one protocol serves all heads)

from typing import NamedTuple, Protocol, cast

import torch
from torch import Tensor, nn

from dspark_sglang.reference.config import DraftConfig


class BlockRows(NamedTuple):
    """What the backbone gives for the gamma draft tokens of a block."""

    hidden: Tensor
    """h_1..h_gamma, `[B, gamma, H]`."""
    logits: Tensor
    """U_1..U_gamma, the frozen LM head of them, `[B, gamma, V]`."""


class SequentialHead(Protocol):
    """What every head gives. Leading dimensions `...` are free, `[B]` when drafting."""

    def embed(self, previous: Tensor) -> Tensor:
        """W1[x_{k-1}] `[..., r]`, for the confidence head."""

    def initial_state(self, hidden: Tensor) -> Tensor:
        """s_0 of (6) for `hidden` `[..., H]`; empty for heads without memory."""

    def bias(self, previous: Tensor, hidden: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """(B_k `[..., V]`, s_k) from x_{k-1} `[...]`, h_k `[..., H]` and s_{k-1}."""


class VanillaHead(nn.Module):
    """First-order Markov (5): B_k = W1[x_{k-1}] W2."""

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.markov_w1 = nn.Embedding(config.vocab_size, config.markov_rank)
        self.markov_w2 = nn.Linear(config.markov_rank, config.vocab_size, bias=False)

    def embed(self, previous: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return cast(Tensor, self.markov_w1(previous))

    def initial_state(self, hidden: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return hidden.new_zeros(0)

    def bias(self, previous: Tensor, hidden: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """As in `SequentialHead`."""
        return self.markov_w2(self.embed(previous)), state


class GatedHead(nn.Module):
    """Markov whose embedding is scaled by a gate: e = W1[x_{k-1}], B_k = (g * e) W2.

    g = sigmoid(W [h_k; e] + b).
    """

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        rank = config.markov_rank
        self.markov_w1 = nn.Embedding(config.vocab_size, rank)
        self.markov_w2 = nn.Linear(rank, config.vocab_size, bias=False)
        self.gate_proj = nn.Linear(config.hidden_size + rank, rank)

    def embed(self, previous: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return cast(Tensor, self.markov_w1(previous))

    def initial_state(self, hidden: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return hidden.new_zeros(0)

    def bias(self, previous: Tensor, hidden: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """As in `SequentialHead`."""
        embedding = self.embed(previous)
        gate = torch.sigmoid(self.gate_proj(torch.cat([hidden, embedding], dim=-1)))
        return self.markov_w2(gate * embedding), state


class RNNHead(nn.Module):
    """Recurrent (6): z_k = [s_{k-1}; W1[x_{k-1}]; h_k], g = sigmoid(W_g z_k).

    s_k = g * s_{k-1} + (1 - g) * tanh(W_c z_k) and B_k = W2^T tanh(W_o z_k), with s_0 = 0.
    """

    def __init__(self, config: DraftConfig) -> None:
        super().__init__()
        self.rank = config.markov_rank
        self.markov_w1 = nn.Embedding(config.vocab_size, self.rank)
        self.markov_w2 = nn.Linear(self.rank, config.vocab_size, bias=False)
        self.joint_proj = nn.Linear(2 * self.rank + config.hidden_size, 3 * self.rank)

    def embed(self, previous: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return cast(Tensor, self.markov_w1(previous))

    def initial_state(self, hidden: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return hidden.new_zeros(*hidden.shape[:-1], self.rank)

    def bias(self, previous: Tensor, hidden: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """As in `SequentialHead`."""
        z = torch.cat([state, self.embed(previous), hidden], dim=-1)
        gate, candidate, output = self.joint_proj(z).chunk(3, dim=-1)
        gate = torch.sigmoid(gate)
        state = gate * state + (1 - gate) * torch.tanh(candidate)
        return self.markov_w2(torch.tanh(output)), state


class NoHead(nn.Module):
    """No dependence between the tokens of a block: B_k = 0, which is DFlash."""

    def embed(self, previous: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return torch.zeros(*previous.shape, 0, device=previous.device)

    def initial_state(self, hidden: Tensor) -> Tensor:
        """As in `SequentialHead`."""
        return hidden.new_zeros(0)

    def bias(self, previous: Tensor, hidden: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """As in `SequentialHead`."""
        return hidden.new_zeros(1), state


def build_head(config: DraftConfig) -> nn.Module:
    """The head that `config` names, a `SequentialHead`."""
    match config.markov_head_type:
        case "vanilla":
            return VanillaHead(config)
        case "gated":
            return GatedHead(config)
        case "rnn":
            return RNNHead(config)
        case "none":
            return NoHead()


def teacher_forced_logits(head: SequentialHead, rows: BlockRows, previous: Tensor) -> Tensor:
    """U_k + B_k `[B, gamma, V]` for given x_0..x_{gamma-1}, `previous` `[B, gamma]`.

    What training needs; `sampling.draft_block` is the same loop with drawn tokens.
    """
    state = head.initial_state(rows.hidden[:, 0])
    logits = []
    for k in range(previous.shape[1]):
        bias, state = head.bias(previous[:, k], rows.hidden[:, k], state)
        logits.append(rows.logits[:, k] + bias)
    return torch.stack(logits, dim=1)
