"""DSPARK in static mode, without the overlap schedule."""

from collections.abc import Iterator

import pytest

from dspark_sglang.demo.servers import EngineOptions

from . import requests
from .client import post_all
from .conftest import QUESTION_TOKENS, Reference, Server, output_ids, serving, specials

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def server(models, reference: Reference, tmp_path_factory) -> Iterator[Server]:
    options = EngineOptions(
        "static",
        models,
        mode="static",
        upstream_worker=True,
        flags=("--disable-overlap-schedule",),
    )
    with serving(options, tmp_path_factory.mktemp("static")) as started:
        yield started


def test_output_equals_plain_decoding(server, reference) -> None:
    answers = post_all(server.url, requests.all_questions(QUESTION_TOKENS))
    for answer, expected in zip(answers, reference.questions, strict=True):
        assert output_ids(answer) == output_ids(expected)
        assert answer["meta_info"].get("spec_cap_length", 8.0) == 8.0
    assert sum(answer["meta_info"]["spec_num_correct_drafts"] for answer in answers) > 0


def test_features_answer_as_plain_decoding_does(server, reference) -> None:
    for name, answer in specials(server.url).items():
        assert output_ids(answer) == output_ids(reference.special[name]), name


def test_sampling_answers(server) -> None:
    params = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.02}
    body = requests.greedy(requests.chat("Name an animal."), 24, ignore_eos=True, **params)
    answers = post_all(server.url, [body, body])
    assert all(len(output_ids(answer)) == 24 for answer in answers)
