"""The whole of DSpark decoding for one sequence: draft, verify, commit, again.

Invariant between rounds: the anchor is the last emitted token, at position a. The target's KV
cache and the draft's context both cover exactly the positions before a; the anchor itself runs
through the target with the draft tokens in the next verification.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from dspark_sglang.reference import sampling
from dspark_sglang.reference.backbone import joined
from dspark_sglang.reference.confidence import calibrated
from dspark_sglang.reference.config import DraftConfig
from dspark_sglang.reference.draft import Draft
from dspark_sglang.reference.heads import BlockRows
from dspark_sglang.reference.records import DecodeOptions, Generation, Round
from dspark_sglang.reference.sampling import DraftBlock, Verdict
from dspark_sglang.reference.target import Target, TargetStep
from dspark_sglang.reference.vocabulary import drafted_tokens, only


def generate(
    prompt_ids: Sequence[int], target: Target, draft: Draft, options: DecodeOptions
) -> Generation:
    """Decodes speculatively; the tokens are distributed as if the target decoded alone."""
    decoder = Decoder(target, draft, options)
    tokens = [decoder.prefill(prompt_ids)]
    rounds: list[Round] = []
    while not _is_done(tokens, options):
        rounds.append(decoder.step())
        tokens += [*rounds[-1].drafts[: rounds[-1].accepted], rounds[-1].bonus]
    return Generation(_cut(tokens, options), rounds)


def generate_plain(
    prompt_ids: Sequence[int], target: Target, options: DecodeOptions, device: str = "cpu"
) -> list[int]:
    """The target alone, one token a step: what `generate` must agree with."""
    cache, tokens = target.new_cache(), list[int]()
    ids = torch.tensor([list(prompt_ids)], device=device)
    while not _is_done(tokens, options):
        token = _next_token(target.forward(ids, cache, ()).logits[:, -1], options)
        tokens.append(int(token))
        ids = token[:, None]
    return tokens


class Decoder:
    """One sequence between prefill and end; holds the invariant of the module."""

    def __init__(self, target: Target, draft: Draft, options: DecodeOptions) -> None:
        self.target, self.draft, self.options = target, draft, options
        self.device = draft.backbone.fc.weight.device
        self.layer_ids = draft.config.target_layer_ids
        self.cache = target.new_cache()
        self.drafted = drafted_tokens(draft.markov_head)
        table, gamma = options.sts_temperatures, draft.config.gamma
        if table is not None and (len(table) != gamma or min(table) <= 0):
            raise ValueError(f"sts_temperatures = {list(table)}: {gamma} positive ones are needed")
        self.temperatures = None if table is None else torch.tensor(table, device=self.device)

    @torch.no_grad()
    def prefill(self, prompt_ids: Sequence[int]) -> int:
        """Runs the prompt and returns the first token, which is the first anchor.

        ValueError for an empty prompt and for a draft that does not fit the target.
        """
        if not prompt_ids:
            raise ValueError("the prompt is empty; it needs at least one token")
        ids = torch.tensor([list(prompt_ids)], device=self.device)
        step = self.target.forward(ids, self.cache, self.layer_ids)
        reason = why_unfit(self.draft.config, step)
        if reason:
            raise ValueError(reason)
        positions = torch.arange(ids.shape[1], device=self.device)[None]
        self.context = self.draft.backbone.context(step.captured, positions)
        self.anchor = _next_token(step.logits[:, -1], self.options)
        self.position = ids.shape[1]
        return int(self.anchor)

    @torch.no_grad()
    def step(self) -> Round:
        """One round: draft a block, verify it, commit what was accepted."""
        anchor = int(self.anchor)
        block, confidences = self.propose()
        gamma = self.draft.config.gamma
        admit = self.options.admit
        verified = gamma if admit is None else min(max(admit(confidences), 0), gamma)
        ids = torch.cat([self.anchor[:, None], block.tokens[:, :verified]], dim=1)
        step = self.target.forward(ids, self.cache, self.layer_ids)
        verdict = self._verdict(block, step.logits, verified)
        self._commit(step.captured, verdict, verified)
        drafts = tuple(block.tokens[0].tolist())
        accepted, bonus = int(verdict.accepted), int(verdict.bonus)
        return Round(anchor, drafts, confidences, verified, accepted, bonus)

    @torch.no_grad()
    def propose(self) -> tuple[DraftBlock, tuple[float, ...]]:
        """The next block and its confidences."""
        start = torch.tensor([self.position], device=self.device)
        hidden = self.draft.block_hidden(self.anchor, start, self.context, self.target.embed)
        rows = BlockRows(hidden, only(self.target.lm_head(hidden), self.drafted))
        temperature = self.options.sampling.draft_temperature
        block = sampling.draft_block(
            self.draft.head, rows, self.anchor, temperature, self.options.generator
        )
        logits = self.draft.confidence_logits(hidden, self.anchor, block.tokens)
        if logits is None:
            return block, ()
        return block, tuple(calibrated(logits, self.temperatures)[0].tolist())

    def _verdict(self, block: DraftBlock, logits: Tensor, verified: int) -> Verdict:
        params = self.options.sampling
        tokens, p_d = block.tokens[:, :verified], block.probs[:, :verified]
        if params.is_greedy:
            return sampling.verify_greedy(tokens, logits)
        p_t = sampling.target_probs(logits, params)
        return sampling.verify_sampled(tokens, p_d, p_t.to(p_d.dtype), self.options.generator)

    def _commit(self, captured: tuple[Tensor, ...], verdict: Verdict, verified: int) -> None:
        """Keeps the anchor and the accepted tokens in cache and context; the bonus is next."""
        kept = int(verdict.accepted) + 1
        self.target.roll_back(self.cache, verified + 1 - kept)
        positions = torch.arange(self.position, self.position + kept, device=self.device)[None]
        new = self.draft.backbone.context([layer[:, :kept] for layer in captured], positions)
        self.context = joined(self.context, new)
        self.anchor = verdict.bonus
        self.position += kept


def why_unfit(config: DraftConfig, step: TargetStep) -> str | None:
    """Why a draft cannot serve the target that gave `step`, or None."""
    pairs = {
        "hidden_size": (config.hidden_size, step.captured[0].shape[-1]),
        "vocab_size": (config.vocab_size, step.logits.shape[-1]),
    }
    wrong = ", ".join(f"{name} {a} against {b}" for name, (a, b) in pairs.items() if a != b)
    return f"draft and target differ: {wrong}; use the draft made for it" if wrong else None


def _next_token(logits: Tensor, options: DecodeOptions) -> Tensor:
    """A token `[B]` of the target from its last row `[B, V]`."""
    params = options.sampling
    probs = sampling.target_probs(logits, params)
    return sampling.drawn(probs, 0.0 if params.is_greedy else 1.0, options.generator)


def _is_done(tokens: list[int], options: DecodeOptions) -> bool:
    return len(tokens) >= options.max_new_tokens or bool(set(tokens) & set(options.stop_ids))


def _cut(tokens: list[int], options: DecodeOptions) -> list[int]:
    """Without what a round emitted beyond the end."""
    stops = [i + 1 for i, token in enumerate(tokens) if token in options.stop_ids]
    return tokens[: min([options.max_new_tokens, *stops])]
