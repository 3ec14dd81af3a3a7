"""Penalties of verified positions, against SGLang's own penalties of plain decoding."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sglang.srt.sampling import penaltylib
from sglang.srt.sampling.penaltylib.orchestrator import BatchedPenalizerOrchestrator
from sglang.srt.sampling.penaltylib.repetition_penalty import BatchedRepetitionPenalizer
from sglang.srt.speculative.dspark_components.dspark_verify import (
    verify_logits_adjustments_are_noop,
)

from dspark_sglang.worker.penalised_verify import PenalisedVerify
from dspark_sglang.worker.penalties import Penalties, Step, has_penalty

VOCAB, SLOTS, GAMMA = 40, 6, 4

pytestmark = pytest.mark.integration


def request(slot: int, emitted: list[int] | None = None, **params: Any) -> Any:
    neutral = {
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "repetition_penalty": 1.0,
        "min_new_tokens": 0,
        "stop_token_ids": None,
    }
    return SimpleNamespace(
        kv=SimpleNamespace(req_pool_idx=slot),
        sampling_params=SimpleNamespace(**{**neutral, **params}),
        output_ids=emitted or [],
        eos_token_ids={2},
        tokenizer=SimpleNamespace(additional_stop_token_ids=None, eos_token_id=3),
    )


class Batch:
    """What SGLang's penalties read of a batch."""

    device = "cpu"

    def __init__(self, reqs: list[Any]) -> None:
        self.reqs = reqs


REQUESTS = [
    request(4, frequency_penalty=0.5),
    request(1, presence_penalty=0.7, repetition_penalty=1.3),
    request(2),
    request(5, min_new_tokens=6, stop_token_ids={7}),
    request(3, frequency_penalty=-0.25, presence_penalty=-0.5, repetition_penalty=0.8),
]


def plain(reqs: list[Any], emitted: list[list[int]], logits: torch.Tensor) -> torch.Tensor:
    """The `logits` `[B, V]` of plain decoding after these tokens, request by request."""
    rows = []
    for req, tokens, row in zip(reqs, emitted, logits, strict=True):
        batch = Batch([req])
        kinds = {
            penaltylib.BatchedFrequencyPenalizer,
            penaltylib.BatchedMinNewTokensPenalizer,
            penaltylib.BatchedPresencePenalizer,
            BatchedRepetitionPenalizer,
        }
        orchestrator = BatchedPenalizerOrchestrator(VOCAB, batch, kinds)
        for token in tokens:
            orchestrator.cumulate_output_tokens(torch.tensor([token]))
        additive = torch.zeros(1, VOCAB)
        orchestrator.accumulate_additive_penalties(additive)
        out = row[None] + additive
        scale = orchestrator.accumulate_scaling_penalties()
        if scale is not None:
            out = torch.where(out < 0, out * scale, out / scale)
        rows.append(out[0])
    return torch.stack(rows)


def test_every_position_is_penalised_as_in_plain_decoding() -> None:
    torch.manual_seed(0)
    tables = Penalties(SLOTS, VOCAB, "cpu")
    for req in REQUESTS:
        tables.enter(req)
    slots = torch.tensor([req.kv.req_pool_idx for req in REQUESTS])
    emitted: list[list[int]] = [[] for _ in REQUESTS]
    anchors = torch.randint(VOCAB, (len(REQUESTS), 1))
    for _ in range(4):
        ids = torch.cat([anchors, torch.randint(12, (len(REQUESTS), GAMMA))], dim=1)
        logits = torch.randn(len(REQUESTS) * (GAMMA + 1), VOCAB)
        found = logits.clone()
        tables.apply(found, Step(slots, ids))
        for k in range(GAMMA + 1):
            so_far = [
                [*before, *row[: k + 1]] for before, row in zip(emitted, ids.tolist(), strict=True)
            ]
            wanted = plain(REQUESTS, so_far, logits.view(len(REQUESTS), GAMMA + 1, VOCAB)[:, k])
            rows = found.view(len(REQUESTS), GAMMA + 1, VOCAB)[:, k]
            torch.testing.assert_close(rows, wanted, rtol=1e-6, atol=1e-6)
        lengths = torch.randint(1, GAMMA + 2, (len(REQUESTS),))
        tables.commit(Step(slots, ids), lengths)
        for before, row, length in zip(emitted, ids.tolist(), lengths.tolist(), strict=True):
            before.extend(row[:length])
        anchors = torch.randint(12, (len(REQUESTS), 1))


def test_a_slot_forgets_its_request_and_remembers_a_retracted_one() -> None:
    tables, ids = Penalties(SLOTS, VOCAB, "cpu"), torch.tensor([[9]])
    old = request(1, frequency_penalty=1.0)
    tables.enter(old)
    tables.commit(Step(torch.tensor([1]), torch.tensor([[5, 5]])), torch.tensor([2]))
    for newer, wanted in (
        (request(1), {}),
        (request(1, [5, 6, 6], frequency_penalty=1.0), {5: -1.0, 6: -2.0, 9: -1.0}),
    ):
        tables.enter(newer)
        logits = torch.zeros(1, VOCAB)
        tables.apply(logits, Step(torch.tensor([1]), ids))
        assert {int(i): float(logits[0, i]) for i in logits[0].nonzero()[:, 0]} == wanted


def test_stop_tokens_may_be_many_or_none_of_the_vocabulary() -> None:
    """A client may ask for any: SGLang does not check their range."""
    tables = Penalties(SLOTS, 200, "cpu")
    asked = {-1, 999, *range(64, 164)}
    tables.enter(request(1, min_new_tokens=5, stop_token_ids=asked, frequency_penalty=0.1))
    logits = torch.zeros(1, 200)
    tables.apply(logits, Step(torch.tensor([1]), torch.tensor([[9]])))
    assert logits[0, 2] == logits[0, 3] == -torch.inf, "the model's own ends come first"


def test_requests_without_penalties_need_no_tables() -> None:
    executor = SimpleNamespace(run_compact=None, run_non_compact=None, accept_and_finalize=None)
    made: list[int] = []
    verify = PenalisedVerify(executor, lambda: made.append(1) or Penalties(SLOTS, VOCAB, "cpu"))
    verify.begin_prefill(SimpleNamespace(reqs=[request(1), request(2)]))
    assert not made
    verify.begin_prefill(SimpleNamespace(reqs=[request(1), request(2, min_new_tokens=3)]))
    assert made == [1]
    assert not has_penalty(request(1))


def test_steps_with_penalties_stay_out_of_graphs_that_accept() -> None:
    """SGLang asks `acc_linear_penalties`, the former name of what it keeps as two fields now."""
    info = SimpleNamespace(
        has_custom_logit_processor=False,
        acc_additive_penalties=torch.zeros(1, VOCAB),
        acc_scaling_penalties=None,
        penalizer_orchestrator=None,
        grammar_mask=None,
        logit_bias=None,
    )
    executor = SimpleNamespace(run_compact=None, run_non_compact=None, accept_and_finalize=None)
    assert verify_logits_adjustments_are_noop(info)
    verify = PenalisedVerify(executor, lambda: Penalties(SLOTS, VOCAB, "cpu"))
    verify.begin_decode(SimpleNamespace(sampling_info=info))
    assert verify_logits_adjustments_are_noop(info), "no tables: as SGLang does it"
    verify.begin_prefill(SimpleNamespace(reqs=[request(1, frequency_penalty=0.5)]))
    verify.begin_decode(SimpleNamespace(sampling_info=info))
    assert not verify_logits_adjustments_are_noop(info)
