"""What is read from SGLang's replies."""

from typing import Any

import pytest

from dspark_sglang.demo import client
from dspark_sglang.demo.client import complete, generate, parse_answer


def reply(**meta: Any) -> dict[str, Any]:
    return {"output_ids": [5, 6, 7], "text": "abc", "meta_info": meta}


def test_a_plain_answer() -> None:
    answer = parse_answer(reply(finish_reason={"type": "stop"}), 2.0)
    assert answer.token_ids == (5, 6, 7)
    assert (answer.finish_reason, answer.seconds) == ("stop", 2.0)
    assert (answer.rounds, answer.accept_length, answer.verified_per_step) == (0, 0.0, 0.0)


@pytest.mark.parametrize("ignore_eos", [False, True])
def test_what_a_request_asks_for(monkeypatch: pytest.MonkeyPatch, ignore_eos: bool) -> None:
    sent: list[dict[str, Any]] = []

    def post(url: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        sent.append(body)
        return reply(prompt_tokens=4)

    monkeypatch.setattr(client, "_post", post)
    assert generate("http://h", "text", 3, ignore_eos=ignore_eos).prompt_tokens == 4
    (body,) = sent
    assert body["text"] == "text"
    assert body["sampling_params"]["max_new_tokens"] == 3
    assert body["sampling_params"]["ignore_eos"] is ignore_eos


def test_a_request_of_token_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    def post(url: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        sent.append(body)
        return reply()

    monkeypatch.setattr(client, "_post", post)
    assert complete("http://h", (1, 2), 3, "name") == (5, 6, 7)
    (body,) = sent
    assert (body["input_ids"], body["rid"]) == ([1, 2], "name")
    assert body["sampling_params"] == {"max_new_tokens": 3, "temperature": 0, "ignore_eos": True}


def test_a_speculative_answer() -> None:
    meta = {"spec_verify_ct": 4, "spec_num_correct_drafts": 6, "spec_num_proposed_drafts": 28}
    answer = parse_answer(reply(**meta, spec_cap_length=3.25), 1.0)
    assert (answer.rounds, answer.accept_length, answer.verified_per_step) == (4, 2.5, 3.25)


def test_without_caps_the_whole_block_was_verified() -> None:
    meta = {"spec_verify_ct": 4, "spec_num_correct_drafts": 6, "spec_num_proposed_drafts": 28}
    assert parse_answer(reply(**meta), 1.0).verified_per_step == 8.0
