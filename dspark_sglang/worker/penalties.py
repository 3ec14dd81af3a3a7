"""Penalties under speculation, exactly: each verified position is penalised for what precedes it.

SGLang 0.5.23 drops frequency, presence and repetition penalties and `min_new_tokens` of DSPARK
requests, so their output is not the target's. Here every slot of the request pool counts the tokens
that its request emitted, on the device, since the host learns of them a step later. The tables
exist from the first request that asks for a penalty (2 bytes a slot and token of the vocabulary);
steps without one do nothing.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

NEUTRAL = (0.0, 0.0, 1.0)
MAX_STOPS = 64
"""Stop tokens of a request that `min_new_tokens` looks at."""


class Step(NamedTuple):
    """What is being verified."""

    slots: Tensor
    """Of the request pool, `[B]`."""
    ids: Tensor
    """`[B, W]`: the anchor, which is the last emitted token, then the draft tokens."""


class Penalties:
    """What the requests in the slots of a pool emitted, and what follows for their logits."""

    def __init__(self, slots: int, vocab_size: int, device: Any) -> None:
        self._counts = torch.zeros(slots, vocab_size, dtype=torch.int16, device=device)
        self._strengths = torch.tensor(NEUTRAL, device=device).repeat(slots, 1)
        self._emitted = torch.zeros(slots, dtype=torch.int32, device=device)
        self._min_tokens = torch.zeros(slots, dtype=torch.int32, device=device)
        self._stops = torch.full((slots, MAX_STOPS), vocab_size, device=device)
        self._used = set[int]()

    def enter(self, req: Any) -> None:
        """A request enters its slot; one without penalties costs nothing in a fresh slot."""
        slot = req.kv.req_pool_idx
        if has_penalty(req):
            self._used.add(slot)
            self.begin(req)
        elif slot in self._used:
            self._used.remove(slot)
            self.begin(req)

    def begin(self, req: Any) -> None:
        """Sets a slot up, with the tokens that its request emitted before a retraction."""
        slot, params, device = req.kv.req_pool_idx, req.sampling_params, self._counts.device
        emitted = torch.tensor(list(req.output_ids), dtype=torch.int64, device=device)
        ones = torch.ones_like(emitted, dtype=torch.int16)
        self._counts[slot].zero_().index_add_(0, emitted, ones)
        strengths = (params.frequency_penalty, params.presence_penalty, params.repetition_penalty)
        self._strengths[slot] = torch.tensor(strengths, device=device)
        self._emitted[slot] = len(emitted)
        self._min_tokens[slot] = params.min_new_tokens
        vocab_size = self._counts.shape[1]
        stops = [token for token in stop_ids(req) if 0 <= token < vocab_size][:MAX_STOPS]
        self._stops[slot] = vocab_size
        self._stops[slot, : len(stops)] = torch.tensor(stops, dtype=torch.int64, device=device)

    def apply(self, logits: Tensor, step: Step) -> None:
        """Penalises the target's `logits` `[B W, V]`; row k for the tokens up to `ids[:, k]`."""
        batch, width = step.ids.shape
        rows = logits.view(batch, width, -1)
        counts = self._counts[step.slots].float()
        for k in range(width):
            anchor_on = step.ids[:, k : k + 1]
            counts.scatter_add_(1, anchor_on, torch.ones_like(anchor_on, dtype=counts.dtype))
            self._apply_row(rows[:, k], counts, step.slots, k + 1)

    def _apply_row(self, row: Tensor, counts: Tensor, slots: Tensor, newer: int) -> None:
        """One position `[B, V]`, in the order of SGLang's own penalties."""
        frequency, presence, repetition = self._strengths[slots].unsqueeze(2).unbind(1)
        is_seen = counts > 0
        row.sub_(counts * frequency + is_seen * presence)
        row.masked_fill_(self._forbidden(slots, newer, row.shape[1]), -torch.inf)
        scale = torch.where(is_seen, repetition, 1.0)
        row.copy_(torch.where(row < 0, row * scale, row / scale))

    def _forbidden(self, slots: Tensor, newer: int, vocab_size: int) -> Tensor:
        """Stop tokens of requests that are still shorter than they must be, `[B, V]`."""
        is_early = (self._emitted[slots] + newer < self._min_tokens[slots])[:, None]
        stops = self._stops[slots]
        mask = is_early.new_zeros(len(slots), vocab_size + 1)
        return mask.scatter_(1, stops, is_early.expand_as(stops))[:, :vocab_size]

    def commit(self, step: Step, lengths: Tensor) -> None:
        """Counts the first `lengths` `[B]` of the verified ids; the bonus is the next anchor."""
        places = torch.arange(step.ids.shape[1], device=lengths.device)
        kept = (places < lengths[:, None]).to(self._counts.dtype)
        slots = step.slots[:, None].expand_as(step.ids)
        self._counts.index_put_((slots, step.ids), kept, accumulate=True)
        self._emitted[step.slots] += lengths.to(self._emitted.dtype)


def stop_ids(req: Any) -> list[int]:
    """Tokens that would end the answer of a request, the model's own first."""
    tokenizer = req.tokenizer
    own = [*(req.eos_token_ids or ())]
    if tokenizer is not None:
        own += [tokenizer.eos_token_id, *(tokenizer.additional_stop_token_ids or ())]
    asked = req.sampling_params.stop_token_ids or ()
    return [token for token in dict.fromkeys([*own, *asked]) if token is not None]


def has_penalty(req: Any) -> bool:
    """Whether a request asks for any."""
    params = req.sampling_params
    asked = (params.frequency_penalty, params.presence_penalty, params.repetition_penalty)
    return asked != NEUTRAL or params.min_new_tokens > 0
