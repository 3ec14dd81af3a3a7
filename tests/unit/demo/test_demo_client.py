"""What is read from SGLang's replies."""

from typing import Any

from dspark_sglang.demo.client import parse_answer


def reply(**meta: Any) -> dict[str, Any]:
    return {"output_ids": [5, 6, 7], "text": "abc", "meta_info": meta}


def test_a_plain_answer() -> None:
    answer = parse_answer(reply(finish_reason={"type": "stop"}), 2.0)
    assert answer.token_ids == (5, 6, 7)
    assert (answer.finish_reason, answer.seconds) == ("stop", 2.0)
    assert (answer.rounds, answer.accept_length, answer.verified_per_step) == (0, 0.0, 0.0)


def test_a_speculative_answer() -> None:
    meta = {"spec_verify_ct": 4, "spec_num_correct_drafts": 6, "spec_num_proposed_drafts": 28}
    answer = parse_answer(reply(**meta, spec_cap_length=3.25), 1.0)
    assert (answer.rounds, answer.accept_length, answer.verified_per_step) == (4, 2.5, 3.25)


def test_without_caps_the_whole_block_was_verified() -> None:
    meta = {"spec_verify_ct": 4, "spec_num_correct_drafts": 6, "spec_num_proposed_drafts": 28}
    assert parse_answer(reply(**meta), 1.0).verified_per_step == 8.0
