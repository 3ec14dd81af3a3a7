"""Makes a DSpark target of any Hugging Face causal language model; the one user of transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, DynamicCache

from dspark_sglang.reference.target import TargetStep


class HFTarget:
    """A `Target` around a Hugging Face model in evaluation mode."""

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        self.num_layers: int = model.config.get_text_config().num_hidden_layers

    @classmethod
    def load(
        cls, folder: Path | str, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> "HFTarget":
        """The model in `folder` (or of that name), with its weights in `dtype`."""
        return cls(AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).to(device))

    def new_cache(self) -> Any:
        """An empty cache that keeps every position, so that any count can be rolled back."""
        return DynamicCache()

    @torch.no_grad()
    def forward(self, ids: Tensor, cache: Any, layer_ids: Sequence[int]) -> TargetStep:
        """As in `Target`. ValueError for layers whose output cannot be seen."""
        reason = self.why_hidden(layer_ids)
        if reason:
            raise ValueError(reason)
        out = self.model(
            input_ids=ids, past_key_values=cache, use_cache=True, output_hidden_states=True
        )
        # Entry 0 is the embedding, so the output of layer l is entry l + 1.
        return TargetStep(out.logits, tuple(out.hidden_states[layer + 1] for layer in layer_ids))

    def why_hidden(self, layer_ids: Sequence[int]) -> str | None:
        """Why the outputs of these layers are not visible, or None."""
        last = self.num_layers - 1
        if all(0 <= layer < last for layer in layer_ids):
            return None
        return (
            f"target_layer_ids = {list(layer_ids)}: this target shows layers 0 to {last - 1}; "
            "the last layer's output is only given after the final norm"
        )

    def roll_back(self, cache: Any, count: int) -> None:
        """As in `Target`."""
        if count:
            cache.crop(-count)

    @torch.no_grad()
    def embed(self, ids: Tensor) -> Tensor:
        """As in `Target`."""
        embeds: Tensor = self.model.get_input_embeddings()(ids)
        return embeds

    @torch.no_grad()
    def lm_head(self, hidden: Tensor) -> Tensor:
        """As in `Target`: without soft-capping or scaling of the logits, as upstream."""
        head = self.model.get_output_embeddings()
        logits: Tensor = head(hidden.to(head.weight.dtype))
        return logits
