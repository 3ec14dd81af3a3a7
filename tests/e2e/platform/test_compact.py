"""DSPARK in compact mode with a cost table that trims, overlap on, small chunks and KV pool."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dspark_sglang.demo.servers import EngineOptions

from . import requests
from .checks import shared_batch
from .client import post, post_all, stream
from .conftest import (
    CLIFF,
    SMALL_POOL,
    STORY_TOKENS,
    Reference,
    Server,
    output_ids,
    serving,
    specials,
)

pytestmark = pytest.mark.timeout(600)
FLAGS = ("--chunked-prefill-size", "64", "--max-total-tokens", str(SMALL_POOL))
EAGER_ADMISSION = ("--schedule-conservativeness", "0.2")


@pytest.fixture(scope="module")
def server(models, reference: Reference, tmp_path_factory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("compact")
    (folder / "sps.json").write_text(CLIFF)
    options = EngineOptions(
        "compact",
        models,
        mode="compact",
        upstream_worker=True,
        sps_file=folder / "sps.json",
        flags=(*FLAGS, *EAGER_ADMISSION),
    )
    with serving(options, folder) as started:
        yield started


def test_output_equals_plain_decoding_while_lengths_are_ragged(server, reference) -> None:
    answers = post_all(server.url, requests.all_questions(48))
    for answer, expected in zip(answers, reference.questions, strict=True):
        assert output_ids(answer) == output_ids(expected)[:48]
    verified = [answer["meta_info"]["spec_cap_lens_histogram"] for answer in answers]
    lengths = {length for steps in verified for length, count in enumerate(steps) if count}
    assert len(lengths) > 3, lengths
    assert sum(answer["meta_info"]["spec_num_correct_drafts"] for answer in answers) > 0


def test_retracted_requests_answer_as_if_nothing_happened(server, reference) -> None:
    answers = post_all(server.url, requests.stories(STORY_TOKENS))
    assert sum(answer["meta_info"]["num_retractions"] for answer in answers) > 0
    for answer, expected in zip(answers, reference.stories, strict=True):
        assert output_ids(answer) == output_ids(expected)


@pytest.fixture(scope="module")
def special(server: Server) -> dict[str, Any]:
    return specials(server.url)


@pytest.mark.parametrize("name", requests.special_requests())
def test_feature_answers_as_plain_decoding_does(special, reference, name: str) -> None:
    answer, expected = special[name], reference.special[name]
    assert output_ids(answer) == output_ids(expected)
    assert answer["text"] == expected["text"]
    assert answer["meta_info"]["finish_reason"] == expected["meta_info"]["finish_reason"]


def test_features_did_what_they_are_for(server, reference) -> None:
    assert set(json.loads(reference.special["json"]["text"])) == {"name", "age"}
    assert reference.special["regex"]["text"][:2] in ("19", "20")
    assert reference.special["stop"]["meta_info"]["finish_reason"]["type"] == "stop"
    assert "#new-token: 64," in server.log.read_text()


def test_logprobs_equal_those_of_plain_decoding(special, reference) -> None:
    answer = special["logprobs"]["meta_info"]
    expected = reference.special["logprobs"]["meta_info"]
    for name in ("output_token_logprobs", "input_token_logprobs"):
        assert len(answer[name]) == len(expected[name])
    for ours, theirs in zip(
        answer["output_token_logprobs"], expected["output_token_logprobs"], strict=True
    ):
        assert ours[1] == theirs[1]
        assert ours[0] == pytest.approx(theirs[0], abs=1e-3)
    for ours, theirs in zip(
        answer["output_top_logprobs"], expected["output_top_logprobs"], strict=True
    ):
        assert [entry[0] for entry in ours] == pytest.approx([t[0] for t in theirs], abs=1e-3)


def test_a_repeated_prompt_is_read_from_the_radix_cache(server, special, reference) -> None:
    """The special requests asked it before."""
    answer = post(server.url, requests.special_requests()["long"])
    assert answer["meta_info"]["cached_tokens"] > 100
    assert output_ids(answer) == output_ids(reference.special["long"])


def test_a_stream_carries_the_same_text(server, reference) -> None:
    events = list(stream(server.url, requests.special_requests()["long"]))
    assert len(events) > 1
    assert events[-1]["text"] == reference.special["long"]["text"]


SAMPLING = (
    {"temperature": 1.0},
    {"temperature": 0.8, "top_k": 20},
    {"temperature": 0.8, "top_p": 0.9},
    {"temperature": 1.2, "min_p": 0.1},
    {"temperature": 0.7, "top_k": 30, "top_p": 0.8, "min_p": 0.05},
    {"temperature": 0.6, "frequency_penalty": 0.7, "presence_penalty": 0.4},
    {"temperature": 0.9, "repetition_penalty": 1.3},
)


def test_sampled_and_greedy_requests_share_a_batch(server, reference) -> None:
    shared_batch(server, reference, SAMPLING)


def test_penalties_forbid_repetition_in_plain_decoding(reference) -> None:
    tokens = [len(set(output_ids(each))) for each in (reference.penalised, reference.free)]
    assert tokens[0] > 1.5 * tokens[1]


def test_parallel_samples(server) -> None:
    body = requests.greedy(requests.chat("Name a color."), 16, temperature=1.0, n=2)
    answers = post(server.url, body)
    assert len(answers) == 2
    assert all(output_ids(answer) for answer in answers)


def test_an_aborted_request_frees_its_slots(server, reference) -> None:
    """SGLang checks for leaked slots when it falls idle, and ends itself over one."""
    body = requests.greedy(requests.chat("Tell a very long story."), 600, ignore_eos=True)
    body["rid"] = "to-abort"
    seen: list[dict[str, Any]] = []
    reader = threading.Thread(target=lambda: seen.extend(stream(server.url, body)))
    reader.start()
    while not seen:
        time.sleep(0.05)
    post(server.url, {"rid": "to-abort"}, "/abort_request")
    reader.join(timeout=60)
    assert seen[-1]["meta_info"]["finish_reason"]["type"] == "abort"
    assert seen[-1]["meta_info"]["completion_tokens"] < 600
    answers = post_all(server.url, requests.all_questions(12))
    assert [output_ids(each) for each in answers] == [
        output_ids(each)[:12] for each in reference.questions
    ]
