"""The ways that a verification can end, and the exact law of the token that follows each.

An answer of k + 2 tokens that took one round shows how the round ended: the prefill's token, k
accepted drafts and the token after them. Given those before, it follows max(p_t - p_d, 0),
normalised, where a draft was rejected, and p_t where the drafts that were verified ended: at the
end of the block, or where the budget cut it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from dspark_sglang.reference import Draft
from dspark_sglang.reference.heads import teacher_forced_logits
from dspark_sglang.reference.hf_target import HFTarget
from tests.chi_square import conditional_p_value

from .exact import Case
from .models import GAMMA, PROMPT, VOCAB
from .replay import Round, block_rows, emitted


class Path(NamedTuple):
    """How a round ended."""

    accepted: int
    end: Literal["rejection", "cut", "full"]


FULL = Path(GAMMA, "full")
REJECTIONS = tuple(Path(place, "rejection") for place in range(GAMMA))
CUTS = tuple(Path(place, "cut") for place in range(GAMMA))
Answers = dict[Path, Tensor]
"""Of each path, answers `[N, accepted + 2]`."""


def path_of(accepted: int, verified: int) -> Path:
    if accepted == GAMMA:
        return FULL
    return Path(accepted, "rejection" if accepted < verified else "cut")


def replayed(done: Round) -> Answers:
    found: Answers = {}
    for path in (*REJECTIONS, *CUTS, FULL):
        is_cut = done.accepted == done.verified
        rows = (done.accepted == path.accepted) & (is_cut != (path.end == "rejection"))
        found[path] = emitted(done, path.accepted, rows)
    return found


def served(answers: Sequence[Mapping[str, Any]]) -> Answers:
    """Of the answers of a server, those that show their round."""
    found: dict[Path, list[list[int]]] = {}
    for answer in answers:
        tokens, meta = answer["output_ids"], answer["meta_info"]
        accepted = histogram(meta, "spec_correct_drafts_histogram", GAMMA)
        verified = histogram(meta, "spec_cap_lens_histogram", GAMMA + 1)
        if len(accepted) == 1 and len(tokens) == accepted[0] + 2:
            found.setdefault(path_of(accepted[0], verified[0] - 1), []).append(tokens)
    return {path: torch.tensor(tokens) for path, tokens in found.items()}


def histogram(meta: Mapping[str, Any], name: str, default: int) -> list[int]:
    """What a request's histogram counted, one entry a round; `default` where it has none."""
    if name not in meta:
        return [default] * meta["spec_verify_ct"]
    return [value for value, times in enumerate(meta[name]) for _ in range(times)]


@torch.no_grad()
def path_p_value(target: HFTarget, draft: Draft, case: Case, path: Path, answers: Tensor) -> float:
    """Of the last tokens of answers that took the same path."""
    before = answers[:, :-1]
    ids = torch.cat([torch.tensor(PROMPT).expand(len(before), -1), before], dim=1)
    weights = case.probabilities(target.model(ids).logits[:, -1], before)
    if path.end == "rejection":
        weights = (weights - draft_probabilities(target, draft, case, before)).clamp(min=0)
    law = weights / weights.sum(dim=-1, keepdim=True)
    every_token = torch.arange(VOCAB).expand_as(law)
    return conditional_p_value(answers[:, -1], law, every_token, VOCAB)


def draft_probabilities(target: HFTarget, draft: Draft, case: Case, before: Tensor) -> Tensor:
    """p_d of the draft after the accepted ones, `[N, V]`."""
    place = before.shape[1] - 1
    rows = block_rows(target, draft, before[:, :1])
    previous = torch.zeros(len(before), GAMMA, dtype=torch.int64)
    previous[:, : place + 1] = before
    logits = teacher_forced_logits(draft.head, rows, previous)[:, place]
    return torch.softmax(logits.double() / case.draft_temperature, dim=-1)
