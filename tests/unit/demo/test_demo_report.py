"""The demonstration's report, from made-up answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dspark_sglang.demo.batches import Batch, Traced
from dspark_sglang.demo.client import Answer
from dspark_sglang.demo.main_job import Change, Run
from dspark_sglang.demo.otlp import Span
from dspark_sglang.demo.prompts import Prompt
from dspark_sglang.demo.report import Report, report_of, table_of

PROMPTS = [Prompt("math", "1 + 1?"), Prompt("code", "sort a list"), Prompt("math", "2 + 2?")]


def traced(name: str, *tokens: int, accept: float = 0.0, verified: float = 0.0) -> Traced:
    return Traced(Answer(tokens, "", "length", 1.0, 4, accept, verified), name)


def decode(name: str, *revisions: int) -> Span:
    return Span(name, "s", "", "dspark.decode", 0, 1, {"dspark.revisions": list(revisions)})


def run(after_tokens: tuple[int, ...] = (5,)) -> Run:
    plain = [
        Batch([traced("p0", 1, 2)], 1.0),
        Batch([traced("p1", 3, 4)], 2.0),
        Batch([traced("p2", 5)], 1.0),
    ]
    before = [
        Batch([traced("b0", 1, 2, accept=2.0, verified=8.0)], 0.5),
        Batch([traced("b1", 3, 4, accept=1.5, verified=6.0)], 0.5),
        Batch([traced("b2", 5, accept=3.0, verified=7.0)], 0.25),
    ]
    change = Change(9, 0.25, True, [traced("c0", 1, 2), traced("c1", 3, 4)])
    after = [
        Batch([traced("a0", 1, 2, verified=2.0), traced("a1", 3, 4, verified=1.0)], 1.0),
        Batch([traced("a2", *after_tokens, verified=3.0)], 1.0),
    ]
    return Run(plain, before, 4, change, after)


def report(**values: Any) -> Report:
    return report_of(PROMPTS, run(**values), None, 60.0)


def test_the_keys_that_others_read(tmp_path: Path) -> None:
    report().write(tmp_path / "report.json")
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["identical_to_plain"] is True
    assert written["dspark_over_plain_tokens_per_second"] == pytest.approx(4.0)
    assert written["dspark_over_plain_by_domain"] == {"math": 3.0, "code": 4.0}
    assert written["accept_length"] == {"math": 2.5, "code": 1.5}
    assert written["verified_per_request"] == {"before": 7.0, "after": 2.0}
    assert written["revisions"] == [4, 9]
    assert written["seconds_from_write_to_applied"] == 0.25


def test_one_token_more_is_not_identical() -> None:
    made = report(after_tokens=(5, 6))
    assert not made.identical_to_plain
    assert [row.identical for row in made.rows] == [True, True, False]


def test_revisions_come_from_the_spans() -> None:
    spans = [decode("b0", 4), decode("c0", 4, 9), decode("a0", 9), decode("b2", 4)]
    rows = report_of(PROMPTS, run(), spans, 60.0).rows
    assert [row.revisions for row in rows] == [(4, 9), (), (4,)]


def test_the_table_fits_a_terminal() -> None:
    console = Console(width=80, record=True)
    console.print(table_of(report().rows))
    text = console.export_text()
    assert "sort a list" in text
    assert "4,9" in text
    assert "\u2026" not in text
