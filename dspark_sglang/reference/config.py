"""What a DSpark draft is made of: the architecture fields of a public checkpoint, nothing else.

The file format stands in `config_file`; here are the fields, their meaning and their limits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Architecture = Literal["Qwen3DSparkModel", "DFlashDraftModel"]
HeadType = Literal["vanilla", "gated", "rnn", "none"]


@dataclass(frozen=True, kw_only=True)
class DraftConfig:
    """Architecture of a draft. Raises ValueError with every problem of the fields at once."""

    architecture: Architecture = "Qwen3DSparkModel"
    """Class name in SGLang; `DFlashDraftModel` is DFlash, without a head and an anchor row."""

    hidden_size: int
    """Width H, equal to the target's: embedding and LM head are shared."""
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    num_hidden_layers: int
    """Draft layers."""
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int = 32768
    attention_bias: bool = False

    num_target_layers: int
    target_layer_ids: tuple[int, ...]
    """Target layers l_1..l_m whose outputs are the context features (2), counted from 0."""

    gamma: int
    """Draft tokens a block."""
    mask_token_id: int
    """Input id of the block's rows after the anchor."""
    sample_from_anchor: bool = True
    """Whether the anchor's row predicts too: gamma rows a block, else gamma + 1 (DFlash)."""

    markov_head_type: HeadType
    markov_rank: int
    """Rank r of W1 and W2 (5); 0 for the head `none`."""
    enable_confidence_head: bool
    confidence_head_with_markov: bool
    """Whether the confidence (7) reads W1[x_{k-1}] next to h_k."""

    def __post_init__(self) -> None:
        found = list(problems(self))
        if found:
            raise ValueError("draft config: " + "; ".join(found))

    @property
    def num_block_rows(self) -> int:
        """Input rows of a block: the anchor and the masks after it."""
        return self.gamma if self.sample_from_anchor else self.gamma + 1


POSITIVE = (
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "num_hidden_layers",
    "rms_norm_eps",
    "rope_theta",
    "max_position_embeddings",
    "num_target_layers",
    "gamma",
)


def problems(config: DraftConfig) -> Iterator[str]:
    """Every reason why the fields cannot be a draft, each with field, value and remedy."""
    for name in POSITIVE:
        if getattr(config, name) <= 0:
            yield f"{name} = {getattr(config, name)} must be positive"
    if config.num_key_value_heads > 0 and config.num_attention_heads % config.num_key_value_heads:
        yield (
            f"num_attention_heads = {config.num_attention_heads} must be a multiple of "
            f"num_key_value_heads = {config.num_key_value_heads}"
        )
    if config.head_dim % 2:
        yield f"head_dim = {config.head_dim} must be even, since rope rotates pairs"
    yield from _layer_problems(config)
    if not 0 <= config.mask_token_id < config.vocab_size:
        yield f"mask_token_id = {config.mask_token_id} must lie in [0, {config.vocab_size})"
    yield from _head_problems(config)


def _layer_problems(config: DraftConfig) -> Iterator[str]:
    ids = config.target_layer_ids
    if not ids:
        yield "target_layer_ids is empty; name at least one target layer"
    if len(set(ids)) != len(ids) or any(not 0 <= i < config.num_target_layers for i in ids):
        yield (
            f"target_layer_ids = {list(ids)} must be different layers in "
            f"[0, {config.num_target_layers})"
        )


def _head_problems(config: DraftConfig) -> Iterator[str]:
    kind, rank = config.markov_head_type, config.markov_rank
    if kind not in get_args(HeadType):
        yield f"markov_head_type = {kind!r} must be one of {', '.join(get_args(HeadType))}"
    if rank < 0 or (kind == "none") != (rank == 0):
        yield f"markov_rank = {rank} must be 0 for the head 'none' and positive for the others"
    if config.confidence_head_with_markov and rank == 0:
        yield "confidence_head_with_markov needs a head with markov_rank > 0"
    if config.architecture not in get_args(Architecture):
        known = ", ".join(get_args(Architecture))
        yield f"architecture = {config.architecture!r} must be one of {known}"
    if config.architecture == "DFlashDraftModel" and (kind != "none" or config.sample_from_anchor):
        yield "DFlashDraftModel has markov_head_type 'none' and sample_from_anchor false"
