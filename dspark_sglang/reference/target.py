"""What DSpark asks of a target model; `hf_target` fits any Hugging Face decoder to it."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor


class TargetStep(NamedTuple):
    """One pass of the target over T tokens."""

    logits: Tensor
    """`[B, T, V]`; row t is the distribution of the token after token t."""
    captured: tuple[Tensor, ...]
    """Outputs of the asked layers, each `[B, T, H]`."""


class Target(Protocol):
    """A causal language model with a KV cache, visible hidden states, embedding and LM head."""

    def new_cache(self) -> Any:
        """An empty KV cache."""

    def forward(self, ids: Tensor, cache: Any, layer_ids: Sequence[int]) -> TargetStep:
        """Runs `ids` `[B, T]` after the tokens in `cache`, and puts them into it."""

    def roll_back(self, cache: Any, count: int) -> None:
        """Takes the last `count` tokens out of `cache`."""

    def embed(self, ids: Tensor) -> Tensor:
        """Input embeddings `[..., H]` of `ids` `[...]`."""

    def lm_head(self, hidden: Tensor) -> Tensor:
        """Logits `[..., V]` of final hidden states `[..., H]`: the bare projection."""
