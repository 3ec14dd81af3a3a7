"""Tiny random models of the reference tests."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from dspark_sglang.reference import Draft, DraftConfig, TargetStep
from dspark_sglang.reference.hf_target import HFTarget

VOCAB, HIDDEN = 61, 32
HEADS = ("vanilla", "gated", "rnn", "none")


def tiny_config(**changes: Any) -> DraftConfig:
    kind = changes.setdefault("markov_head_type", "vanilla")
    fields = {
        "hidden_size": HIDDEN,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "intermediate_size": 48,
        "vocab_size": VOCAB,
        "num_hidden_layers": 2,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "num_target_layers": 4,
        "target_layer_ids": (0, 2),
        "gamma": 3,
        "mask_token_id": 5,
        "markov_rank": 0 if kind == "none" else 6,
        "enable_confidence_head": True,
        "confidence_head_with_markov": kind != "none",
    }
    return DraftConfig(**{**fields, **changes})


def random_draft(config: DraftConfig, dtype: torch.dtype = torch.float64, seed: int = 1) -> Draft:
    """A draft whose every weight is random, norms included, so that each one matters."""
    draft = Draft(config).to(dtype).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in draft.named_parameters():
            noise = torch.randn(weight.shape, generator=generator).to(weight.dtype)
            weight.copy_(1 + 0.2 * noise if "norm" in name else 0.3 * noise)
    return draft


def tiny_target(kind: str = "llama", seed: int = 3) -> HFTarget:
    sizes = {
        "vocab_size": VOCAB,
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 512,
        "initializer_range": 0.3,
        "tie_word_embeddings": False,
    }
    torch.manual_seed(seed)
    if kind == "llama":
        return HFTarget(LlamaForCausalLM(LlamaConfig(**sizes)).double())
    if kind == "qwen3":
        return HFTarget(Qwen3ForCausalLM(Qwen3Config(**sizes)).double())
    # A window shorter than the test's sequences.
    config = Gemma3TextConfig(**sizes, sliding_window=8)
    return HFTarget(Gemma3ForCausalLM(config).double())


class ChainTarget:
    """A first-order Markov chain, whose exact distribution is known: row x of `table` follows x."""

    def __init__(self, table: Tensor) -> None:
        generator = torch.Generator().manual_seed(4)
        self.table = table
        self.embeddings = torch.randn(len(table), HIDDEN, generator=generator).to(table.dtype)

    def new_cache(self) -> list[int]:
        return []

    def forward(self, ids: Tensor, cache: list[int], layer_ids: Sequence[int]) -> TargetStep:
        cache += ids[0].tolist()
        return TargetStep(self.table[ids], tuple(self.embed(ids) * (i + 1) for i in layer_ids))

    def roll_back(self, cache: list[int], count: int) -> None:
        del cache[len(cache) - count :]

    def embed(self, ids: Tensor) -> Tensor:
        return self.embeddings[ids]

    def lm_head(self, hidden: Tensor) -> Tensor:
        return 0.3 * hidden @ self.embeddings.T


def bigram_draft(config: DraftConfig, tokens: Sequence[int]) -> Draft:
    """A random draft whose Markov head has learnt which token last followed which in `tokens`."""
    draft = random_draft(config)
    table = torch.zeros(config.vocab_size, config.vocab_size, dtype=torch.float64)
    for previous, following in pairwise(tokens):
        table[previous] = 0
        table[previous, following] = 1000
    set_markov_table(draft, table)
    return draft


def set_markov_table(draft: Draft, table: Tensor) -> None:
    """Makes the vanilla head's bias after x row x of `table`; needs rank = vocabulary."""
    head: Any = draft.markov_head
    with torch.no_grad():
        head.markov_w1.weight.copy_(table)
        head.markov_w2.weight.copy_(torch.eye(len(table)))
