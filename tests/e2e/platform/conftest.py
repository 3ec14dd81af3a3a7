"""The servers of this folder, one at a time: idle schedulers would share the cores."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dspark_sglang.demo.model import Models, prepared_models
from dspark_sglang.demo.servers import EngineOptions, engine

from . import requests
from .client import post, post_all

QUESTION_TOKENS = 64
STORY_TOKENS = 110
SMALL_POOL = 640
"""KV slots; the stories need about 1000, which forces retractions."""
CLIFF = """{"sample_batch_tokens": [1, 25], "sample_steps_per_sec": [50.0, 5.0],
"max_batch_tokens": 512}"""
"""Steps take ten times as long from 25 tokens on: eight requests share 16 drafts."""


class Server(NamedTuple):
    url: str
    log: Path


class Reference(NamedTuple):
    """What plain decoding answers."""

    questions: list[Any]
    stories: list[Any]
    special: dict[str, Any]
    free: Any
    """The repetitive prompt without a penalty."""
    penalised: Any
    """The same with one."""


@pytest.fixture(scope="session")
def models() -> Models:
    return prepared_models()


@contextmanager
def serving(options: EngineOptions, folder: Path) -> Iterator[Server]:
    with engine(options, folder) as server:
        server.wait_ready(print)
        yield Server(server.url, server.child.log)


@pytest.fixture(scope="package")
def reference(models: Models, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    options = EngineOptions("plain", models, speculative=False)
    with serving(options, tmp_path_factory.mktemp("plain")) as server:
        return Reference(
            questions=post_all(server.url, requests.all_questions(QUESTION_TOKENS)),
            stories=post_all(server.url, requests.stories(STORY_TOKENS)),
            special=specials(server.url),
            free=post(server.url, requests.repetition()),
            penalised=post(server.url, requests.repetition(frequency_penalty=2.0)),
        )


def specials(url: str) -> dict[str, Any]:
    """The answers to the requests that use one feature each, all in one batch."""
    wanted = requests.special_requests()
    return dict(zip(wanted, post_all(url, list(wanted.values())), strict=True))


def output_ids(answer: Any) -> list[int]:
    return list(answer["output_ids"])
