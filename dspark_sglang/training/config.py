"""What a training run is told, in one YAML file; unknown keys are refused with their place.

The defaults are those of the paper where it names one and fit two CPU cores where it does not.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

HeadType = Literal["vanilla", "gated", "rnn", "none"]


class Section(BaseModel):
    """A frozen group of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerConfig(Section):
    """Stage `generate`: the target answers the prompts itself, since it is what is served."""

    max_new_tokens: int = Field(default=256, gt=0)
    max_prompt_tokens: int = Field(default=512, gt=0)
    """Longer prompts are left out."""
    batch_size: int = Field(default=64, gt=0)
    temperatures: tuple[Annotated[float, Field(ge=0)], ...] = Field(default=(0.0,), min_length=1)
    """One answer to each prompt at each of them; 0 is greedy."""


class CacheConfig(Section):
    """Stage `cache`: the target's hidden states, run once and kept on disk."""

    max_gigabytes: float = Field(default=8.0, gt=0)
    tokens_per_shard: int = Field(default=65536, gt=0)


class DraftSettings(Section):
    """The draft to train; what it shares with the target is taken from the target."""

    architecture: Literal["Qwen3DSparkModel", "DFlashDraftModel"] = "Qwen3DSparkModel"
    num_hidden_layers: int = Field(default=5, gt=0)
    target_layer_ids: tuple[int, ...] | None = None
    """None spreads five over the target's depth, as the paper does."""
    gamma: int = Field(default=7, gt=0)
    mask_token_id: int = Field(ge=0)
    """A token that the target does not use in text."""
    markov_head_type: HeadType = "vanilla"
    markov_rank: int = Field(default=256, ge=0)
    enable_confidence_head: bool = True
    from_target_layers: bool = True
    """Start from the target's last layers, and W1 from its embeddings, not from random weights."""
    from_draft: Path | None = None
    """Start from this draft instead; layers that it has not begin as the identity, and W1 of a
    vanilla or RNN head is turned so that its components are even: the draft says what it said.

    Where it drafts as many tokens as `fit.vocabulary` has, these stay the vocabulary."""

    @model_validator(mode="after")
    def _rank_fits_head(self) -> "DraftSettings":
        if (self.markov_head_type == "none") != (self.markov_rank == 0):
            raise ValueError("markov_rank is 0 for the head 'none' and positive for the others")
        if self.architecture == "DFlashDraftModel" and (
            self.markov_rank or self.enable_confidence_head
        ):
            raise ValueError("DFlashDraftModel has neither a sequential nor a confidence head")
        return self


class EagleSettings(Section):
    """The autoregressive baseline to train instead: one layer, in the manner of EAGLE-3.

    It has no mask token, no sequential head and no confidence head, so their keys are refused.
    """

    architecture: Literal["Eagle3"]
    num_hidden_layers: Literal[1] = 1
    target_layer_ids: tuple[int, ...] | None = None
    """As in `DraftSettings`, so that both read the same cache."""
    gamma: int = Field(default=7, gt=0)
    from_target_layers: bool = True
    """Start from the target's last layer instead of random weights."""
    from_draft: Path | None = None
    """Start from the weights of this Eagle3 draft instead."""


def _kind(draft: Any) -> str:
    """Which settings a `draft` section stands for."""
    is_plain = isinstance(draft, dict)
    name = draft.get("architecture") if is_plain else getattr(draft, "architecture", None)
    return "Eagle3" if name == "Eagle3" else BLOCK


BLOCK = "block"
"""Tag of `DraftSettings` among the kinds; not shown in messages."""

AnyDraft = Annotated[
    Annotated[DraftSettings, Tag(BLOCK)] | Annotated[EagleSettings, Tag("Eagle3")],
    Discriminator(_kind),
]


class FitConfig(Section):
    """Stage `fit`: loss (12) and how it is descended."""

    max_steps: int = Field(default=20000, gt=0)
    max_minutes: float | None = Field(default=None, gt=0)
    """Ends the schedule earlier, wherever it stands; the learning rate follows the clock."""
    sequences_per_step: int = Field(default=1, gt=0)
    """Sequences that a process accumulates gradients over."""
    anchors_per_sequence: int = Field(default=128, gt=0)
    learning_rate: float = Field(default=6e-4, gt=0)
    warmup: float = Field(default=0.04, ge=0, lt=1)
    """Share of the run in which the learning rate rises."""
    weight_decay: float = Field(default=0.01, ge=0)
    max_grad_norm: float = Field(default=1.0, gt=0)
    cross_entropy: float = Field(default=0.1, ge=0)
    l1: float = Field(default=0.9, ge=0)
    confidence: float = Field(default=1.0, ge=0)
    position_decay: float = Field(default=4.0, gt=0)
    """w_k = exp(-(k - 1) / position_decay)."""
    vocabulary: int | None = Field(default=None, gt=0)
    """Train the head on that many of the answers' most frequent tokens; None on all."""
    precision: Literal["no", "bf16", "fp16"] = "bf16"
    seed: int = 0
    held_out: int = Field(default=48, gt=0)
    """Greedy answers kept for the held-out accept length, at most a fifth of each domain's."""
    evaluate_every: int = Field(default=500, gt=0)
    patience: int = Field(default=10, gt=0)
    """Evaluations without a better accept length before the run ends."""


class TrainingConfig(Section):
    """A whole run. Paths are relative to the file."""

    target: str
    """Folder or name of a Hugging Face causal language model."""
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    """In which the target answers; choose what it is served in."""
    prompts: tuple[Path, ...]
    """JSON lines with `prompt`, and `domain` for the figures by domain."""
    output: Path
    data: Path | None = None
    """Folder of the answers and states, to be shared by drafts of one target; None for `output`."""
    answers: AnswerConfig = AnswerConfig()
    cache: CacheConfig = CacheConfig()
    draft: AnyDraft
    fit: FitConfig = FitConfig()


def read_config(path: Path) -> TrainingConfig:
    """The run in `path`; ValueError names every wrong key and value at once."""
    try:
        document: Any = yaml.safe_load(path.read_text())
        return _absolute(TrainingConfig.model_validate(document), path.parent)
    except ValidationError as error:
        raise ValueError(f"{path}: " + "; ".join(_problems(error))) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a YAML file: {error}") from error


def _problems(error: ValidationError) -> list[str]:
    return [f"{_place(e['loc'])}: {e['msg']}" for e in error.errors()]


def _place(parts: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in parts if part != BLOCK) or "file"


def _absolute(config: TrainingConfig, folder: Path) -> TrainingConfig:
    paths = tuple(folder / path.expanduser() for path in config.prompts)
    output = folder / config.output.expanduser()
    data = config.data and folder / config.data.expanduser()
    target = config.target
    if (folder / target).expanduser().exists():
        target = str(folder / target)
    draft = config.draft
    if draft.from_draft:
        draft = draft.model_copy(update={"from_draft": folder / draft.from_draft.expanduser()})
    changes = {"target": target, "prompts": paths, "output": output, "data": data, "draft": draft}
    return config.model_copy(update=changes)
