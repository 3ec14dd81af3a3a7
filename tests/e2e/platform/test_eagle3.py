"""SGLang's own EAGLE worker on the CPU platform, drafting chains.

Its rounds are compared with the trainer's walk along the same answers.
"""

from collections.abc import Iterator
from itertools import pairwise, zip_longest

import pytest
import torch
from transformers import AutoTokenizer

from dspark_sglang.demo.model import Models
from dspark_sglang.demo.servers import EngineOptions, chain_flags
from dspark_sglang.training.accepting import acceptance
from dspark_sglang.training.answers import Answer
from dspark_sglang.training.makers import kept_draft
from dspark_sglang.training.run import Run

from . import requests
from .checks import SAMPLING, same_features, shared_batch
from .client import post_all
from .conftest import QUESTION_TOKENS, Reference, Server, output_ids, serving
from .learned_draft import eagle3_settings, learned

pytestmark = pytest.mark.timeout(900)
GAMMA = 7


@pytest.fixture(scope="module")
def run(models: Models, reference: Reference, tmp_path_factory) -> Run:
    """An Eagle3 draft that has learned the answers of plain decoding."""
    tokenizer = AutoTokenizer.from_pretrained(models.target)
    answers = [
        Answer(text, "any", 0.0, list(tokenizer(requests.chat(text)).input_ids), output_ids(each))
        for text, each in zip(requests.QUESTIONS, reference.questions, strict=True)
    ]
    folder = tmp_path_factory.mktemp("eagle3-draft")
    return learned(models, eagle3_settings(models), answers, folder)


@pytest.fixture(scope="module")
def server(models: Models, run: Run, tmp_path_factory) -> Iterator[Server]:
    served = models._replace(draft=run.output / "fit" / "best")
    options = EngineOptions("eagle3", served, algorithm="EAGLE3", flags=chain_flags(GAMMA))
    with serving(options, tmp_path_factory.mktemp("eagle3")) as started:
        yield started


@pytest.fixture(scope="module")
def answers(server: Server) -> list:
    """Eight at a time."""
    return post_all(server.url, requests.all_questions(QUESTION_TOKENS))


def test_output_equals_plain_decoding(answers, reference) -> None:
    for answer, expected in zip(answers, reference.questions, strict=True):
        assert output_ids(answer) == output_ids(expected)
    rounds = sum(answer["meta_info"]["spec_verify_ct"] for answer in answers)
    assert len(answers) * QUESTION_TOKENS / rounds > 1.2


@torch.no_grad()
def test_rounds_equal_those_of_the_trainer(run: Run, answers) -> None:
    """But for the last ones of an answer, of which the trainer does not know how they go on."""
    learner = kept_draft(run.output / "fit" / "best", run.model, run.config)
    several = 0
    for index, answer in enumerate(answers):
        walked = acceptance(learner, run.sample(index))
        wanted = [more - less for more, less in pairwise((walked.rounds, *walked.accepted, 0))]
        counted = answer["meta_info"]["spec_correct_drafts_histogram"]
        rest = [all_ - ours for all_, ours in zip_longest(counted, wanted, fillvalue=0)]
        assert min(rest) >= 0
        missing = QUESTION_TOKENS - 1 - walked.tokens
        last = sum(count * (accepted + 1) for accepted, count in enumerate(rest))
        assert missing <= last <= missing + GAMMA
        several += walked.accepted[1]
    assert several > len(answers), "a draft that accepts little shows little"


def test_features_answer_as_plain_decoding_does(server, reference) -> None:
    same_features(server, reference)


def test_sampled_and_greedy_requests_share_a_batch(server, reference) -> None:
    shared_batch(server, reference, SAMPLING)
