"""Prompts of our own: the same for the same seed, all different, and in the formats of use."""

import doctest
import json
from pathlib import Path

import pytest

from dspark_sglang.training import own_prompts as module
from dspark_sglang.training.own_prompts import BOXED, own_prompts
from dspark_sglang.training.prompts import Prompt, read_prompts

COUNTS = {"math": 600, "code": 700, "chat": 700}


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    return own_prompts(COUNTS, 0)


def test_counts_are_reached_for_every_domain(prompts: list[Prompt]) -> None:
    found = {domain: sum(p.domain == domain for p in prompts) for domain in COUNTS}
    assert found == COUNTS


def test_same_seed_gives_same_prompts(prompts: list[Prompt]) -> None:
    assert own_prompts(COUNTS, 0) == prompts
    assert own_prompts(COUNTS, 1) != prompts


def test_no_two_are_equal_but_for_case(prompts: list[Prompt]) -> None:
    assert len({p.text.lower() for p in prompts}) == len(prompts)


def test_an_exhausted_domain_gives_fewer() -> None:
    assert 700 <= len(own_prompts({"code": 100_000}, 0)) < 100_000


def test_no_field_is_left_open(prompts: list[Prompt]) -> None:
    texts = [p.text.removesuffix(BOXED) for p in prompts if p.domain != "code"]
    assert not [text for text in texts if "{" in text or "}" in text or " | " in text]


def test_math_ends_with_the_instruction(prompts: list[Prompt]) -> None:
    assert all(p.text.endswith(BOXED) for p in prompts if p.domain == "math")


def test_code_is_of_the_two_formats(prompts: list[Prompt]) -> None:
    code = [p.text for p in prompts if p.domain == "code"]
    stubs = [text for text in code if "```" in text]
    assert len(stubs) >= len(code) / 2
    assert all(text.endswith('\n    """\n\n```') for text in stubs)
    liners = [text for text in code if "```" not in text]
    assert all(
        text.startswith(("Write a function to ", "Write a python function to ")) for text in liners
    )


def test_stubs_are_python_with_parsable_examples(prompts: list[Prompt]) -> None:
    stubs = [p.text.split("```")[1].removeprefix("python") for p in prompts if "```" in p.text]
    examples = 0
    for stub in stubs:
        scope: dict[str, object] = {}
        exec(stub, scope)
        function = next(f for f in scope.values() if hasattr(f, "__annotations__") and f.__doc__)
        examples += len(doctest.DocTestParser().get_examples(str(function.__doc__)))
    assert examples > len(stubs)


def test_command_writes_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "own.jsonl"
    command = ["own_prompts", "--math", "3", "--chat", "2", "--output", str(output)]
    monkeypatch.setattr("sys.argv", command)
    module.main()
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["domain"] for row in rows] == ["math"] * 3 + ["chat"] * 2
    assert {row["source"] for row in rows} == {"own"}
    assert read_prompts([output]) == own_prompts({"math": 3, "chat": 2}, 0)
