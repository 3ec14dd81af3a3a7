"""The package's own prompts, and files of others."""

from pathlib import Path

import pytest

from dspark_sglang.demo.prompts import DOMAINS, load_prompts


def test_own_prompts_cover_every_domain_in_turn() -> None:
    prompts = load_prompts()
    assert len(prompts) >= 16
    assert len({prompt.text for prompt in prompts}) == len(prompts)
    assert [prompt.domain for prompt in prompts[:6]] == [*DOMAINS, *DOMAINS]


def test_limit_takes_the_first() -> None:
    assert load_prompts(limit=2) == load_prompts()[:2]


def test_a_file_of_others(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "Eins?", "domain": "math"}\n\n{"prompt": "Zwei?"}\n')
    assert load_prompts(file) == [("math", "Eins?"), ("other", "Zwei?")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("not json\n", ":1: not JSON"),
        ('{"prompt": "x"}\n{"prompt": 3}\n', ":2: the field 'prompt'"),
        ('{"prompt": ""}\n', ":1: the field 'prompt'"),
        ("[1]\n", ":1: the field 'prompt'"),
        ("\n", "no prompts"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(text)
    with pytest.raises(ValueError, match=complaint):
        load_prompts(file)
