"""Training on part of the vocabulary, which is what makes it affordable on a CPU.

The answers of a target use a small part of its tokens. A draft over those alone trains many times
faster and is then spread over the whole vocabulary: tokens outside share one row of W1 and have
zero rows in W2, by which they are known and left out (`reference.vocabulary`).
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

import torch
from torch import Tensor

from dspark_sglang.reference import Draft, DraftConfig
from dspark_sglang.reference.vocabulary import drafted_tokens
from dspark_sglang.training.answers import Answer

OUTSIDE = -1
"""Label of a token that is not in the vocabulary."""


class SubVocabulary:
    """V' of a target's V tokens, and one row for all others."""

    def __init__(self, ids: Tensor, vocab_size: int) -> None:
        self.ids, self.vocab_size = ids, vocab_size
        self._places = torch.full((vocab_size,), OUTSIDE)
        self._places[ids] = torch.arange(len(ids))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_whole(self) -> bool:
        """Whether it is the target's whole vocabulary."""
        return len(self) == self.vocab_size

    @property
    def digest(self) -> str:
        """Hexadecimal, of its tokens."""
        return hashlib.sha256(self.ids.cpu().numpy().tobytes()).hexdigest()[:16]

    def config(self, full: DraftConfig) -> DraftConfig:
        """The config of a draft over this vocabulary and the row for the others."""
        return replace(full, vocab_size=len(self) + 1, mask_token_id=0)

    def labels(self, tokens: Tensor) -> Tensor:
        """Places of `tokens` `[...]`, OUTSIDE for others."""
        return self._on(tokens.device)[tokens]

    def tokens(self, places: Tensor) -> Tensor:
        """The tokens at `places` `[...]`."""
        return self.ids.to(places.device)[places]

    def rows(self, tokens: Tensor) -> Tensor:
        """Rows of W1 for `tokens` `[...]`, the last one for others."""
        places = self._on(tokens.device)[tokens]
        return torch.where(places == OUTSIDE, len(self), places)

    def _on(self, device: torch.device) -> Tensor:
        if self._places.device != device:
            self._places = self._places.to(device)
        return self._places

    def lm_head(self, weight: Tensor) -> Tensor:
        """The target's LM head `[V, H]` for these tokens, with a zero row for the others."""
        return torch.cat([weight[self.ids], weight.new_zeros(1, weight.shape[1])])

    def spread(self, draft: Draft, full: DraftConfig) -> Draft:
        """The draft over the whole vocabulary, with the weights of `draft`."""
        return _with_tables(draft, full, self._spread_w1, self._spread_w2)

    def narrowed(self, draft: Draft) -> Draft:
        """A draft over this vocabulary, with the weights of `draft` over the whole one."""
        return _with_tables(draft, self.config(draft.config), self._narrowed_w1, self._narrowed_w2)

    def _spread_w1(self, rows: Tensor) -> Tensor:
        wide = rows[-1].repeat(self.vocab_size, 1)
        wide[self.ids] = rows[:-1]
        return wide

    def _spread_w2(self, rows: Tensor) -> Tensor:
        wide = rows.new_zeros(self.vocab_size, rows.shape[1])
        wide[self.ids] = rows[:-1]
        return wide

    def _narrowed_w1(self, rows: Tensor) -> Tensor:
        outside = torch.ones(self.vocab_size, dtype=torch.bool)
        outside[self.ids] = False
        others = (
            rows[outside].mean(0, keepdim=True) if outside.any() else torch.zeros_like(rows[:1])
        )
        return torch.cat([rows[self.ids], others])

    def _narrowed_w2(self, rows: Tensor) -> Tensor:
        return torch.cat([rows[self.ids], torch.zeros_like(rows[:1])])


def _with_tables(
    draft: Draft,
    config: DraftConfig,
    change_w1: Callable[[Tensor], Tensor],
    change_w2: Callable[[Tensor], Tensor],
) -> Draft:
    """A draft of `config` with the weights of `draft`, its Markov tables changed."""
    state = {name: weight.detach().clone() for name, weight in draft.state_dict().items()}
    for name, change in (("w1", change_w1), ("w2", change_w2)):
        key = f"markov_head.markov_{name}.weight"
        if key in state:
            state[key] = change(state[key])
    with torch.device("meta"):
        other = Draft(config)
    other.load_state_dict(state, assign=True)
    return other


def frequent_tokens(answers: Iterable[Answer], vocab_size: int, size: int | None) -> SubVocabulary:
    """The `size` most frequent tokens of the answers, all of the vocabulary for None."""
    if size is None:
        return SubVocabulary(torch.arange(vocab_size), vocab_size)
    counts = Counter(token for answer in answers for token in answer.answer_ids)
    ids = sorted(token for token, _ in counts.most_common(size))
    return SubVocabulary(torch.tensor(ids), vocab_size)


def drafted_vocabulary(draft: Draft) -> SubVocabulary:
    """The tokens that a trained draft drafts."""
    size, tokens = draft.config.vocab_size, drafted_tokens(draft.markov_head)
    return SubVocabulary(torch.arange(size) if tokens is None else tokens, size)
