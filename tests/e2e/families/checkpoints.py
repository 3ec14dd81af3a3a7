"""Random weights for a shrunk family: a target that transformers writes, and a draft for it.

The target's weights are large enough that it does not repeat one token. The draft's Markov head
has learnt some of the target's transitions by heart, so that some drafts are accepted and others
are not; everything else of it is random.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from dspark_sglang.demo.model import Models
from dspark_sglang.reference.checkpoint import write_draft
from dspark_sglang.reference.config import DraftConfig
from dspark_sglang.reference.draft import Draft

from .shapes import Json, head_dim, public_config, scaled, text_config

TOKENS = 24
PROMPTS = tuple(
    [(5 + 37 * row + 11 * place) % 500 for place in range(12 + row)] for row in range(4)
)
GAMMA, RANK, DRAFT_LAYERS, MASK = 7, 128, 2, 5
TARGET_LAYERS = (0, 2, 4)
SEED = 2
STD = 0.25
EMBEDDING_STD = 0.02
"""Small beside what the layers add: else a tied model answers with its last token."""


class Family(NamedTuple):
    """A target with its draft, and what transformers answers with the target alone."""

    models: Models
    answers: list[list[int]]


def write_family(name: str, folder: Path) -> Family:
    """Write both checkpoints of a shrunk public model below `folder`."""
    config = scaled(public_config(name))
    models = Models(target=folder / "target", draft=folder / "draft")
    target = random_target(config, models.target)
    answers = [greedy(target, prompt) for prompt in PROMPTS]
    write_draft(memorising_draft(draft_config(text_config(config)), answers), models.draft)
    return Family(models, answers)


def random_target(config: Json, folder: Path) -> PreTrainedModel:
    """A model of the config with random weights, also on disk, with the config as it is given."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(SEED)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).float().eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, float(weight.ndim == 1), STD)
    embedding = model.get_input_embeddings().weight
    torch.nn.init.normal_(embedding, 0.0, EMBEDDING_STD)
    embedding.data[media_marks(config)] = 0.0  # tied: never the best answer
    model.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config))
    return model


def media_marks(config: Json) -> list[int]:
    """Tokens that stand for images and sounds, which engines treat as more than tokens."""
    named = {key: value for key, value in config.items() if "_token_i" in key}
    if "text_config" not in config:
        return []
    return [value for value in named.values() if isinstance(value, int)]


@torch.no_grad()
def greedy(model: PreTrainedModel, prompt: list[int]) -> list[int]:
    """The greedy continuation, whatever the config calls an end."""
    ids = torch.tensor([prompt])
    for _ in range(TOKENS):
        following = model(ids).logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, following], dim=1)
    return ids[0, len(prompt) :].tolist()


def draft_config(target: Json) -> DraftConfig:
    """The public draft format with the target's widths, heads and rope base."""
    return DraftConfig(
        hidden_size=target["hidden_size"],
        num_attention_heads=target["num_attention_heads"],
        num_key_value_heads=target["num_key_value_heads"],
        head_dim=head_dim(target),
        intermediate_size=target["intermediate_size"],
        vocab_size=target["vocab_size"],
        num_hidden_layers=DRAFT_LAYERS,
        rms_norm_eps=target["rms_norm_eps"],
        rope_theta=float(target.get("rope_theta", 10000.0)),
        max_position_embeddings=target["max_position_embeddings"],
        num_target_layers=target["num_hidden_layers"],
        target_layer_ids=TARGET_LAYERS,
        gamma=GAMMA,
        mask_token_id=MASK,
        markov_head_type="vanilla",
        markov_rank=RANK,
        enable_confidence_head=True,
        confidence_head_with_markov=True,
    )


def memorising_draft(config: DraftConfig, answers: list[list[int]]) -> Draft:
    """A random draft that knows what followed half of the tokens of the answers."""
    torch.manual_seed(SEED)
    draft = Draft(config).float().eval()
    first, second = draft.markov_head.markov_w1.weight, draft.markov_head.markov_w2.weight
    known = {before: after for answer in answers for before, after in pairwise(answer)}
    with torch.no_grad():
        first.normal_()
        second.zero_()
        for before, after in known.items():
            if before % 4:
                second[after] += first[before]
    return draft
