"""Speculative decoding of the same target and draft in this process, with any rule of acceptance.

What the servers' answers are tested by must also see a wrong rule. The draft is the reference
implementation; the rules stand in `rules`.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from dspark_sglang.reference import Draft
from dspark_sglang.reference.heads import BlockRows
from dspark_sglang.reference.hf_target import HFTarget
from dspark_sglang.reference.sampling import DraftBlock, Verdict, draft_block

from .exact import LENGTH, Case
from .models import GAMMA, PROMPT

Rule = Callable[[DraftBlock, Tensor, Tensor, Generator], Verdict]
"""The verdict on a block, from p_t `[B, gamma + 1, V]` and the number of drafts that are verified
of each row, `[B]`."""


class Round(NamedTuple):
    """What one round made of many answers."""

    tokens: Tensor
    """The anchor and the drafts after it, `[N, gamma + 1]`."""
    verified: Tensor
    """Drafts that were verified, `[N]`."""
    accepted: Tensor
    bonus: Tensor


class Replay:
    """Many answers at once; those that are equally long make a batch."""

    def __init__(self, target: HFTarget, draft: Draft, seed: int) -> None:
        self.target, self.draft = target, draft
        self.generator = Generator().manual_seed(seed)

    @torch.no_grad()
    def answers(self, case: Case, rule: Rule, count: int) -> Tensor:
        """`[count, LENGTH]` answers of a kind."""
        waiting: dict[int, list[Tensor]] = {1: [self._first(case, count)]}
        for length in range(1, LENGTH):
            if tokens := waiting.pop(length, []):
                done = self._round(case, rule, torch.cat(tokens))
                for kept in done.accepted.unique().tolist():
                    new = emitted(done, kept, done.accepted == kept)
                    old = torch.cat(tokens)[done.accepted == kept, :-1]
                    both = torch.cat([old, new], dim=1)
                    waiting.setdefault(both.shape[1], []).append(both)
        return torch.cat([each[:, :LENGTH] for rest in waiting.values() for each in rest])

    @torch.no_grad()
    def first_round(self, case: Case, rule: Rule, count: int, trims: bool) -> Round:
        """`trims` verifies only a prefix of most blocks."""
        return self._round(case, rule, self._first(case, count), trims)

    def _first(self, case: Case, count: int) -> Tensor:
        nothing = torch.empty(count, 0, dtype=torch.int64)
        return torch.multinomial(self._p_t(case, nothing, 1)[:, 0], 1, generator=self.generator)

    def _round(self, case: Case, rule: Rule, tokens: Tensor, trims: bool = False) -> Round:
        block = self._drafted(tokens, case.draft_temperature)
        p_t = self._p_t(case, torch.cat([tokens, block.tokens], dim=1), GAMMA + 1)
        verified = torch.full((len(tokens),), GAMMA)
        if trims:
            verified = torch.randint(GAMMA + 1, verified.shape, generator=self.generator)
        accepted, bonus = rule(block, p_t, verified, self.generator)
        drafted = torch.cat([tokens[:, -1:], block.tokens], dim=1)
        return Round(drafted, verified, accepted, bonus)

    def _drafted(self, tokens: Tensor, temperature: float) -> DraftBlock:
        rows = block_rows(self.target, self.draft, tokens)
        return draft_block(self.draft.head, rows, tokens[:, -1], temperature, self.generator)

    def _p_t(self, case: Case, tokens: Tensor, rows: int) -> Tensor:
        """After the last `rows` prefixes of `tokens`, all of them included."""
        ids = torch.cat([torch.tensor(PROMPT).expand(len(tokens), -1), tokens], dim=1)
        logits = self.target.forward(ids, self.target.new_cache(), ()).logits[:, -rows:]
        lengths = range(tokens.shape[1] - rows + 1, tokens.shape[1] + 1)
        each = [case.probabilities(logits[:, i], tokens[:, :n]) for i, n in enumerate(lengths)]
        return torch.stack(each, dim=1)


def block_rows(target: HFTarget, draft: Draft, tokens: Tensor) -> BlockRows:
    """What the draft's backbone says of the block after `tokens` `[B, n]` of an answer."""
    ids = torch.cat([torch.tensor(PROMPT).expand(len(tokens), -1), tokens], dim=1)
    layers, length = draft.config.target_layer_ids, ids.shape[1] - 1
    captured = target.forward(ids[:, :-1], target.new_cache(), layers).captured
    context = draft.backbone.context(captured, torch.arange(length).expand(len(ids), -1))
    start = torch.full((len(ids),), length)
    hidden = draft.block_hidden(ids[:, -1], start, context, target.embed)
    return BlockRows(hidden, target.lm_head(hidden))


def emitted(done: Round, kept: int, rows: Tensor) -> Tensor:
    """The anchor, the `kept` accepted drafts and the token after them, of some rows."""
    return torch.cat([done.tokens[rows, : kept + 1], done.bonus[rows, None]], dim=1)
