"""Drafts for every head, all made of one trained draft, so that none accepts next to nothing.

SGLang refuses a draft without a sequential head. Its stand-in there is a head whose bias is zero,
with a confidence head that reads the hidden state alone; the reference runs its own `none`.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from dspark_sglang.reference import Draft, DraftConfig, read_draft, write_draft
from dspark_sglang.reference.config import HeadType

HEADS: tuple[HeadType, ...] = ("vanilla", "gated", "rnn", "none")
STD = 0.03
"""Of the weights that the trained draft has not."""
SEED = 20


class Pair(NamedTuple):
    """The same draft for the two sides."""

    engine: Path
    reference: Draft


def make_pair(head: HeadType, shipped: Path, folder: Path) -> Pair:
    """The draft with `head`; its folder is made in `folder` unless it is the shipped one."""
    base = read_draft(shipped, torch.float32)
    if head == "vanilla":
        return Pair(shipped, base)
    if head == "none":
        write_draft(_silenced(_without_markov(base, "vanilla", 1)), folder)
        return Pair(folder, _without_markov(base, "none", 0))
    draft = _derived(base, replace(base.config, markov_head_type=head))
    write_draft(_passing(draft) if head == "rnn" else draft, folder)
    return Pair(folder, read_draft(folder, torch.float32))


def _without_markov(base: Draft, head: HeadType, rank: int) -> Draft:
    """A draft whose confidences do not depend on its head."""
    config = replace(
        base.config, markov_head_type=head, markov_rank=rank, confidence_head_with_markov=False
    )
    return _derived(base, config)


@torch.no_grad()
def _derived(base: Draft, config: DraftConfig) -> Draft:
    """A draft of `config` with what `base` has of it, and small random weights else."""
    draft, known = Draft(config), base.state_dict()
    generator = torch.Generator().manual_seed(SEED)
    for name, parameter in draft.named_parameters():
        weight = known.get(name)
        if name == "confidence_head.proj.weight":
            parameter.copy_(known[name][:, : parameter.shape[1]])
        elif weight is not None and weight.shape == parameter.shape:
            parameter.copy_(weight)
        else:
            torch.nn.init.normal_(parameter, std=STD, generator=generator)
    return draft.eval()


@torch.no_grad()
def _passing(draft: Draft) -> Draft:
    """Lets the trained embedding through to the output of an RNN, beside what is random."""
    rank = draft.config.markov_rank
    weight = draft.get_parameter("markov_head.joint_proj.weight")
    weight[2 * rank :, rank : 2 * rank] += torch.eye(rank)
    return draft


@torch.no_grad()
def _silenced(draft: Draft) -> Draft:
    for parameter in draft.markov_head.parameters():
        parameter.zero_()
    return draft
