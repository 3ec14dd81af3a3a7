"""The arithmetic of the attention benchmark, its prompts and its servers."""

from argparse import Namespace
from pathlib import Path

import pytest

from dspark_sglang.demo.attention import BACKENDS, CASES, Case, figures_of, how, options_of
from dspark_sglang.demo.batches import Batch, Traced
from dspark_sglang.demo.client import Answer
from dspark_sglang.demo.model import Models
from dspark_sglang.demo.servers import engine_command, engine_environ

MODELS = Models(Path("/models/target"), Path("/models/draft"))


def batch(seconds: float, requests: int = 1, tokens: int = 10) -> Batch:
    answer = Answer((1,) * tokens, "", "length", seconds, 0, 0.0, 0.0, prompt_tokens=21)
    return Batch([Traced(answer, "")] * requests, seconds)


def test_the_ratio_is_of_seconds_and_below_one_when_ours_is_faster() -> None:
    ours = [batch(1.0), batch(1.0), batch(9.0)]
    other = [batch(2.0), batch(4.0), batch(9.0)]
    figures = figures_of({"20x1": {"ours": ours, "torch_native": other}})
    assert figures["ours_over_torch_native"] == {"20x1": 0.5}
    assert figures["ours_seconds_per_token"] == {"20x1": 0.1}
    assert figures["torch_native_seconds_per_token"] == {"20x1": 0.4}
    assert figures["prompt_tokens"] == {"20x1": 21.0}


def test_the_tokens_of_all_requests_count() -> None:
    both = {"ours": [batch(4.0, requests=8)], "torch_native": [batch(4.0, requests=8)]}
    figures = figures_of({"20x8": both})
    assert figures["ours_seconds_per_token"] == {"20x8": 0.05}
    assert figures["ours_over_torch_native"] == {"20x8": 1.0}


def test_the_cases() -> None:
    assert [case.name for case in CASES] == ["20x1", "20x8", "250x1", "250x8"]


def test_no_prompt_shares_its_beginning_with_another() -> None:
    texts = [
        text
        for case in CASES
        for label, count in (("warm-up", 1), ("measured", 10))
        for group in case.rounds(label, count)
        for text in group
    ]
    assert len({tuple(text.split()[:6]) for text in texts}) == len(texts)
    assert {len(text.split()) for text in texts} == {20, 250}
    assert [len(group) for group in Case(20, 8).rounds("measured", 3)] == [8, 8, 8]


def test_prompts_are_the_same_in_every_run() -> None:
    assert Case(20, 2).rounds("measured", 2) == Case(20, 2).rounds("measured", 2)


@pytest.mark.parametrize(("name", "backend"), [("ours", "triton"), ("torch_native",) * 2])
def test_the_servers_decode_plainly_and_differ_in_the_backend(name: str, backend: str) -> None:
    command = engine_command(options_of(name, MODELS), 1234)
    for flag, value in (("--attention-backend", backend), ("--dtype", "bfloat16")):
        assert command[command.index(flag) + 1] == value
    assert not any("speculative" in part for part in command)


def test_both_servers_have_the_same_threads(tmp_path: Path) -> None:
    threads = {
        engine_environ(options_of(name, MODELS), tmp_path)["OMP_NUM_THREADS"] for name in BACKENDS
    }
    assert len(threads) == 1


def test_how_says_what_was_chosen() -> None:
    text = how(Namespace(rounds=5, tokens=32), "2")
    for words in ("2 threads", "32 tokens", "5 rounds (10 of single requests)", "bfloat16"):
        assert words in text
