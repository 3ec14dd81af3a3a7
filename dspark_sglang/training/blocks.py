"""From an answer to training blocks: anchors, labels, and DSpark's inputs and its mask.

An anchor at position a is a token of the answer; its block must predict tokens a+1 .. a+gamma
from the context before a. One pass serves all anchors of a sequence: they are the batch, and
share the context's keys and values.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor

from dspark_sglang.reference import DraftConfig
from dspark_sglang.training.states import Sample


class Blocks(NamedTuple):
    """A blocks of one sequence, gamma tokens to predict each, for drafts of all architectures."""

    anchors: Tensor
    """Positions `[A]`."""
    previous: Tensor
    """x_0..x_{gamma-1} `[A, gamma]`."""
    labels: Tensor
    """x_1..x_gamma `[A, gamma]`; 0 past the end."""
    is_inside: Tensor
    """Whether the answer reaches so far, `[A, gamma]`."""
    sources: Tensor
    """Positions whose target distribution is that of the label, `[A, gamma]`."""


class Inputs(NamedTuple):
    """What DSpark's backbone reads for A blocks, R rows each."""

    ids: Tensor
    """Tokens `[A, R]`: the anchor, then masks."""
    positions: Tensor
    """`[A, R]`"""
    mask: Tensor
    """`[A, 1, R, S + R]`, for `Backbone.forward`."""


def all_anchors(sample: Sample) -> Tensor:
    """Every position that decoding may have as an anchor: the answer without its last token."""
    return torch.arange(sample.prompt_length, len(sample.ids) - 1, device=sample.ids.device)


def drawn_anchors(sample: Sample, count: int, generator: Generator) -> Tensor:
    """At most `count` anchors, each at most once."""
    anchors = all_anchors(sample)
    chosen = torch.randperm(len(anchors), generator=generator)[:count]
    return anchors[chosen.sort().values]


def blocks_at(sample: Sample, anchors: Tensor, gamma: int) -> Blocks:
    """The blocks at `anchors` `[A]` of a sequence."""
    length = len(sample.ids)
    sources = anchors[:, None] + torch.arange(gamma, device=anchors.device)
    is_inside = sources + 1 < length
    last = length - 1
    return Blocks(
        anchors=anchors,
        previous=sample.ids[sources.clamp(max=last)],
        labels=torch.where(is_inside, sample.ids[(sources + 1).clamp(max=last)], 0),
        is_inside=is_inside,
        sources=sources.clamp(max=last),
    )


def inputs_at(sample: Sample, anchors: Tensor, config: DraftConfig) -> Inputs:
    """DSpark's inputs for the blocks at `anchors` `[A]`."""
    rows = config.num_block_rows
    ids = torch.full((len(anchors), rows), config.mask_token_id, device=anchors.device)
    ids[:, 0] = sample.ids[anchors]
    positions = anchors[:, None] + torch.arange(rows, device=anchors.device)
    return Inputs(ids, positions, _mask(anchors, len(sample.ids), rows))


def _mask(anchors: Tensor, length: int, rows: int) -> Tensor:
    """A row sees the context before its anchor and all of its own block."""
    context = torch.arange(length, device=anchors.device) < anchors[:, None]
    whole = torch.cat([context, context.new_ones(len(anchors), rows)], dim=1)
    return whole[:, None, None, :].expand(-1, 1, rows, -1)
