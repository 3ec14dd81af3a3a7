"""SGLang's own EAGLE worker on the CPU platform, drafting chains.

Its rounds are compared with the trainer's walk along the same answers.
"""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from transformers import AutoTokenizer

from dspark_sglang.demo.model import Models
from dspark_sglang.demo.servers import EngineOptions, chain_flags
from dspark_sglang.training.accepting import drafted
from dspark_sglang.training.answers import Answer
from dspark_sglang.training.makers import kept_draft
from dspark_sglang.training.run import Run

from . import requests
from .client import post_all
from .conftest import QUESTION_TOKENS, Reference, Server, output_ids, serving, specials
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


def rounds_along(accepted: list[int]) -> list[int]:
    """Draft tokens accepted in each round that the answer is long enough to judge."""
    place, rounds = 0, list[int]()
    while place + GAMMA <= len(accepted):
        rounds.append(accepted[place])
        place += accepted[place] + 1
    return rounds


@torch.no_grad()
def test_rounds_equal_those_of_the_trainer(run: Run, answers) -> None:
    """But for the last ones of an answer, of which the trainer does not know how they go on."""
    learner = kept_draft(run.output / "fit" / "best", run.model, run.config)
    several = 0
    for index, answer in enumerate(answers):
        wanted = rounds_along(drafted(learner, run.sample(index)).accepted.tolist())
        histogram = Counter(dict(enumerate(answer["meta_info"]["spec_correct_drafts_histogram"])))
        histogram.subtract(Counter(wanted))
        assert min(histogram.values()) >= 0
        covered = 1 + sum(each + 1 for each in wanted)
        last = sum(count * (accepted + 1) for accepted, count in histogram.items())
        assert QUESTION_TOKENS - covered <= last <= QUESTION_TOKENS - covered + GAMMA
        several += sum(each > 1 for each in wanted)
    assert several > len(answers), "a draft that accepts little shows little"


def test_features_answer_as_plain_decoding_does(server, reference) -> None:
    for name, answer in specials(server.url).items():
        assert output_ids(answer) == output_ids(reference.special[name]), name


SAMPLING = (
    {"temperature": 1.0},
    {"temperature": 0.8, "top_k": 20},
    {"temperature": 0.8, "top_p": 0.9},
    {"temperature": 0.7, "top_k": 30, "top_p": 0.8},
)


def test_sampled_and_greedy_requests_share_a_batch(server, reference) -> None:
    text = requests.chat(requests.QUESTIONS[0])
    sampled = [requests.greedy(text, 32, ignore_eos=True, **params) for params in SAMPLING]
    answers = post_all(server.url, [*sampled, requests.all_questions(32)[1]])
    assert output_ids(answers[-1]) == output_ids(reference.questions[1])[:32]
    assert all(len(output_ids(answer)) == 32 for answer in answers)
    assert len({tuple(output_ids(answer)) for answer in answers}) == len(answers)
