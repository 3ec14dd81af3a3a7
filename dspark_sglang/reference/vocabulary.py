"""Which tokens a draft drafts: those that it was trained on, where these are few.

A draft trained on part of the target's vocabulary has learned nothing of the other tokens: their
rows of W2 are zero. Such a draft never proposes them, so that a round needs only its own rows of
LM head and W2. The output stays the target's, which may emit any token.
"""

import torch
from torch import Tensor, nn

LARGEST_SHARE = 0.5
"""Of the vocabulary; with more the whole one is drafted."""


def drafted_tokens(head: nn.Module) -> Tensor | None:
    """Ids `[V']` of the tokens that a sequential head knows, ascending; None for all."""
    w2 = getattr(head, "markov_w2", None)
    if w2 is None:
        return None
    known = w2.weight.detach().ne(0).any(dim=1).nonzero().squeeze(1)
    is_part = 0 < len(known) <= LARGEST_SHARE * len(w2.weight)
    return known if is_part else None


def only(logits: Tensor, tokens: Tensor | None) -> Tensor:
    """`logits` `[..., V]` with -inf for all but `tokens`; unchanged for None."""
    if tokens is None:
        return logits
    kept = torch.full_like(logits, -torch.inf)
    return kept.index_copy(-1, tokens, logits.index_select(-1, tokens))
