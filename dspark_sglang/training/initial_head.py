"""Where a sequential head starts: with a W1 of even components, whoever trained it before.

How fast W2 learns is a matter of the size of W1's components, which the optimiser does not even
out: from small random rows, a head says next to nothing for a thousand steps.
"""

from typing import cast

import torch
from torch import Tensor, nn

from dspark_sglang.reference import Draft
from dspark_sglang.reference.heads import GatedHead, RNNHead

SMALLEST = 1e-3
"""A component of W1 below this share of the largest stays as it is."""


@torch.no_grad()
def start_head_from_target(head: nn.Module, embeddings: Tensor) -> None:
    """W1 starts as the leading principal components of `embeddings` `[V', H]`, each of variance 1.

    Tokens that the target takes for similar then share what W2 learns. The last row of W1, of all
    other tokens, is their mean: zero.
    """
    w1 = cast(nn.Embedding, head.markov_w1).weight
    centred = embeddings.float() - embeddings.float().mean(dim=0)
    rank = min(w1.shape[1], centred.shape[1])
    directions = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -rank:].flip(1)
    components = centred @ directions
    w1.normal_(generator=torch.Generator().manual_seed(0))  # where the rank is above H
    w1[: len(components), :rank] = components / components.std(dim=0).clamp(min=1e-6)
    w1[len(components) :] = 0
    if isinstance(head, RNNHead):
        # Its output passes the token on, as the other heads do from the start.
        head.joint_proj.weight[-head.rank :, head.rank : 2 * head.rank] += torch.eye(head.rank)


@torch.no_grad()
def even_out_w1(draft: Draft) -> None:
    """Turns W1 so that its tokens have components of mean square 1; the draft says what it said.

    What reads W1 is turned back: W2 of a vanilla head, `joint_proj` of an RNN, and the confidence
    head. A gated head stays as it is, since its gate belongs to the components. The last row of W1
    is of all other tokens, and is turned along.
    """
    head = draft.markov_head
    if not draft.config.markov_rank or isinstance(head, GatedHead):
        return
    w1 = cast(nn.Embedding, head.markov_w1).weight
    forth, back = _evening(w1[:-1])
    w1.copy_(w1.double() @ forth)
    for weight in _readers(draft):
        weight.copy_(weight.double() @ back)


def _evening(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The symmetric matrix that makes the components of `rows` even, and its inverse."""
    square = rows.double().T @ rows.double() / len(rows)
    values, vectors = torch.linalg.eigh(square)
    is_small = values <= values.max() * SMALLEST**2
    sizes = values.clamp(min=0).sqrt().masked_fill(is_small, 1.0)
    return (vectors / sizes) @ vectors.T, (vectors * sizes) @ vectors.T


def _readers(draft: Draft) -> list[Tensor]:
    """The columns `[..., r]` of each weight that multiplies a row of W1."""
    head = draft.markov_head
    if isinstance(head, RNNHead):
        columns = [head.joint_proj.weight[:, head.rank : 2 * head.rank]]
    else:
        columns = [cast(nn.Linear, head.markov_w2).weight]
    confidence = draft.confidence_head
    if confidence is not None and confidence.with_markov:
        columns.append(confidence.proj.weight[:, -columns[0].shape[1] :])
    return columns
