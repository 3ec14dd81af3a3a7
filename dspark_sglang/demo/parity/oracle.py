"""What the reference answers, one prompt at a time, and how close two candidates were to it."""

from collections.abc import Sequence
from pathlib import Path

import torch

from dspark_sglang.reference import (
    DecodeOptions,
    Decoder,
    Draft,
    Round,
    generate,
    generate_plain,
)
from dspark_sglang.reference.heads import BlockRows, teacher_forced_logits
from dspark_sglang.reference.hf_target import HFTarget
from dspark_sglang.reference.vocabulary import only

Ids = tuple[int, ...]


class PlainOracle:
    """The target alone; it answers for all heads and batch sizes."""

    def __init__(self, folder: Path) -> None:
        self.target = HFTarget.load(folder, torch.float32)
        self._answers: dict[tuple[Ids, int], list[int]] = {}

    def plain(self, ids: Ids, count: int) -> list[int]:
        """`count` tokens after `ids` of plain greedy decoding."""
        key = (ids, count)
        if key not in self._answers:
            options = DecodeOptions(max_new_tokens=count)
            self._answers[key] = generate_plain(ids, self.target, options)
        return self._answers[key]

    def target_gap(self, ids: Ids, ours: int, theirs: int) -> float:
        """Logit of `ours` less that of `theirs` as the target's next token after `ids`."""
        step = self.target.forward(torch.tensor([ids]), self.target.new_cache(), ())
        return _gap(step.logits[0, -1], ours, theirs)


class Oracle(PlainOracle):
    """Target and draft."""

    def __init__(self, plain: PlainOracle, draft: Draft) -> None:
        self.target, self._answers = plain.target, plain._answers
        self.draft = draft
        self._rounds: dict[tuple[Ids, int], list[Round]] = {}

    def rounds(self, ids: Ids, count: int) -> list[Round]:
        """The rounds that make `count` tokens after `ids`."""
        key = (ids, count)
        if key not in self._rounds:
            options = DecodeOptions(max_new_tokens=count)
            self._rounds[key] = generate(ids, self.target, self.draft, options).rounds
        return self._rounds[key]

    @torch.no_grad()
    def draft_gap(self, ids: Ids, block: Sequence[int], theirs: int) -> float:
        """Logit of the block's last token less that of `theirs` in its place.

        `block` is the anchor, which follows `ids`, and the draft tokens up to the one in question.
        """
        decoder = Decoder(self.target, self.draft, DecodeOptions(max_new_tokens=1))
        decoder.prefill(ids)
        anchor, start = torch.tensor(block[:1]), torch.tensor([len(ids)])
        hidden = self.draft.block_hidden(anchor, start, decoder.context, self.target.embed)
        count = len(block) - 1
        logits = only(self.target.lm_head(hidden[:, :count]), decoder.drafted)
        rows = BlockRows(hidden[:, :count], logits)
        logits = teacher_forced_logits(self.draft.head, rows, torch.tensor([block[:-1]]))
        return _gap(logits[0, -1], block[-1], theirs)


def _gap(logits: torch.Tensor, ours: int, theirs: int) -> float:
    return float(logits[ours] - logits[theirs])
