"""SGLang's own DFLASH worker on the CPU platform, overlap schedule on.

Its rounds are compared with those of the reference, which decodes one request at a time.
"""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from transformers import AutoTokenizer

from dspark_sglang.demo.model import Models
from dspark_sglang.demo.servers import EngineOptions
from dspark_sglang.reference import DecodeOptions, generate, read_draft
from dspark_sglang.reference.hf_target import HFTarget
from dspark_sglang.training.answers import Answer

from . import requests
from .checks import SAMPLING, same_features, shared_batch
from .client import post_all
from .conftest import QUESTION_TOKENS, Reference, Server, output_ids, serving
from .learned_draft import dflash_settings, learned

pytestmark = pytest.mark.timeout(900)
COMPARED = 4
"""Prompts that the reference, which is slow, decodes too."""


@pytest.fixture(scope="module")
def prompts(models: Models) -> list[list[int]]:
    tokenizer = AutoTokenizer.from_pretrained(models.target)
    return [list(tokenizer(requests.chat(text)).input_ids) for text in requests.QUESTIONS]


@pytest.fixture(scope="module")
def drafted(models: Models, reference: Reference, prompts, tmp_path_factory) -> Models:
    """The target with a DFlash draft that has learned the answers of plain decoding."""
    named = zip(requests.QUESTIONS, prompts, reference.questions, strict=True)
    answers = [Answer(text, "any", 0.0, ids, output_ids(each)) for text, ids, each in named]
    folder = tmp_path_factory.mktemp("dflash-draft")
    learned(models, dflash_settings(models), answers, folder)
    return models._replace(draft=folder / "fit" / "best")


@pytest.fixture(scope="module")
def server(drafted: Models, tmp_path_factory) -> Iterator[Server]:
    options = EngineOptions("dflash", drafted, algorithm="DFLASH")
    with serving(options, tmp_path_factory.mktemp("dflash")) as started:
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


def test_rounds_equal_those_of_the_reference(drafted, prompts, answers) -> None:
    """The engine counts a last round whole that reaches beyond the end, as the reference does.

    Its accept length is of the tokens that were asked for, with the one of the prefill, and not
    of those that the rounds emitted.
    """
    target = HFTarget.load(drafted.target, torch.float32)
    draft = read_draft(drafted.draft, torch.float32)
    options = DecodeOptions(max_new_tokens=QUESTION_TOKENS)
    for prompt, answer in list(zip(prompts, answers, strict=True))[:COMPARED]:
        decoded, info = generate(prompt, target, draft, options), answer["meta_info"]
        accepted = [each.accepted for each in decoded.rounds]
        histogram = dict(enumerate(info["spec_correct_drafts_histogram"]))
        assert info["spec_verify_ct"] == len(accepted)
        assert info["spec_num_correct_drafts"] == sum(accepted)
        assert +Counter(histogram) == Counter(accepted)
        assert info["spec_accept_length"] == len(decoded.tokens) / len(accepted)


def test_features_answer_as_plain_decoding_does(server, reference) -> None:
    same_features(server, reference)


def test_sampled_and_greedy_requests_share_a_batch(server, reference) -> None:
    shared_batch(server, reference, SAMPLING)
    assert "falling back to greedy" not in server.log.read_text()
