"""Rounds of an engine against those of a reference: what counts as equal, tied or wrong."""

import importlib.metadata
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dspark_sglang.demo.parity.answered import Request, made_request
from dspark_sglang.demo.parity.comparing import Findings
from dspark_sglang.demo.parity.recorder import plugin_environ, record, register
from dspark_sglang.demo.parity.report import figures_of
from dspark_sglang.demo.parity.rounds import ROUNDS_FILE, EngineRound, read_rounds

PROMPT = (1, 2, 3)
GAMMA = 2
OUTPUT = (10, 11, 12, 13, 14, 15)
"""The first token, then two rounds: one accepts both drafts, one accepts one."""


def a_round(position: int, anchor: int, drafts: tuple[int, int], **changes: Any) -> EngineRound:
    values = {"accepted": 2, "bonus": 0, "verified": GAMMA, "confidences": (0.5, 0.25)}
    return EngineRound("a", position, 1, position, anchor, drafts, **{**values, **changes})


def the_rounds() -> list[EngineRound]:
    return [
        a_round(3, 10, (11, 12), bonus=13),
        a_round(6, 13, (14, 99), accepted=1, bonus=15),
    ]


class FakeReference:
    """Answers with `rounds` before a position; logits are `gap` apart."""

    def __init__(self, rounds: list[EngineRound], gap: float = 0.0) -> None:
        self.own, self.gap = rounds, gap
        self.asked: list[int] = []

    def plain(self, ids: tuple[int, ...], count: int) -> list[int]:
        return list(OUTPUT[:count])

    def rounds(self, ids: tuple[int, ...], count: int) -> list[EngineRound]:
        self.asked.append(len(ids))
        return [each for each in self.own if each.position >= len(ids)]

    def target_gap(self, ids: tuple[int, ...], ours: int, theirs: int) -> float:
        return self.gap

    def draft_gap(self, ids: tuple[int, ...], block: Sequence[int], theirs: int) -> float:
        return self.gap


def request(rounds: list[EngineRound], output: tuple[int, ...] = OUTPUT) -> Request:
    return made_request("a", PROMPT, output, rounds)


def figures(engine: list[EngineRound], gap: float = 0.0, **changes: Any) -> dict[str, Any]:
    findings = Findings()
    findings.add(request(engine, **changes), FakeReference(the_rounds(), gap))
    return figures_of(findings)


def test_equal_rounds() -> None:
    found = figures(the_rounds())
    assert found["rounds"] == found["draft_tokens_equal"] == found["accepted_equal"] == 2
    assert found["confidences"] == 4
    assert found["accept_length"] == 2.5
    assert (found["unexplained"], found["rounds_skipped"], found["output_equal"]) == (0, 0, 1)


@pytest.mark.parametrize(("gap", "unexplained"), [(1e-4, 0), (0.1, 1)])
def test_another_draft_token_is_a_tie_only_by_its_logits(gap: float, unexplained: int) -> None:
    first, second = the_rounds()
    found = figures([first, second._replace(drafts=(14, 98))], gap)
    assert found["unexplained"] == unexplained
    assert found["ties"]["draft"] == 1 - unexplained
    assert found["draft_tokens_equal"] == 1


def test_after_another_draft_the_reference_goes_on_from_the_engines_choice() -> None:
    first, *rest = the_rounds()
    engine = [
        first._replace(drafts=(11, 77), accepted=1, bonus=12),
        a_round(5, 12, (13, 14), accepted=2, bonus=15),
    ]
    reference = FakeReference([first, engine[1], *rest])
    findings = Findings()
    findings.add(request(engine), reference)
    assert reference.asked == [3, 5]
    assert [each.what for each in findings.mismatches] == ["draft"]
    assert findings.rounds == 2


def test_confidences_count_as_far_as_they_follow_equal_tokens() -> None:
    first, second = the_rounds()
    off = first._replace(confidences=(0.5, 0.2502))
    assert figures([off, second])["unexplained"] == 1
    other = first._replace(drafts=(50, 60), accepted=0, bonus=11, confidences=(0.5, 0.9))
    rest = [a_round(4, 11, (12, 13), bonus=14), a_round(7, 14, (15, 16), bonus=17)]
    findings = Findings()
    findings.add(request([other, *rest]), FakeReference([first, *rest]))
    assert findings.confidence_difference == 0
    assert findings.confidences == 1 + 2 + 2


def test_another_token_of_the_target_ends_the_comparison() -> None:
    first, second = the_rounds()
    engine = [first._replace(bonus=23), second._replace(anchor=23)]
    found = figures(engine, gap=0.5, output=(10, 11, 12, 23, 14, 15))
    assert found["accepted_equal"] == 0
    assert found["rounds_skipped"] == 1
    assert found["unexplained"] == 2  # the round, and the output
    assert found["output_equal"] == 0


def test_a_trimmed_round_is_told() -> None:
    first, second = the_rounds()
    assert figures([first._replace(verified=1), second])["unexplained"] == 1


def test_rounds_past_the_output_are_left_out() -> None:
    surplus = a_round(8, 15, (16, 17), bonus=18)
    assert request([*the_rounds(), surplus]).rounds == the_rounds()


def test_rounds_that_do_not_make_up_the_output_are_refused() -> None:
    with pytest.raises(ValueError, match="do not make up the output"):
        request(the_rounds()[:1])
    with pytest.raises(ValueError, match="does not follow"):
        request(the_rounds()[1:])


def test_rounds_are_read_back_by_request_in_order(tmp_path: Path) -> None:
    first, second = the_rounds()
    other = first._replace(request="b")
    path = tmp_path / "rounds.jsonl"
    path.write_text("".join(each.line() for each in (second, other, first)))
    assert read_rounds(path) == {"a": [first, second], "b": [other]}


class Named:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def facts(**changes: Any) -> dict[str, Any]:
    """Of a step with two requests."""
    values = {
        "reqs": [Named(rid="a"), Named(rid="b")],
        "forward_ct": 9,
        "prefix_lens": np.array([3, 7]),
        "verify_ids_2d": np.array([[10, 11, 12], [20, 21, 22]]),
        "draft_tokens": np.array([[11, 12], [21, 22]]),
        "confidence": np.array([[0.5, 0.25], [0.75, 0.5]]),
        "layout": Named(verify_lens=np.array([3, 2])),
        "correct_len": np.array([2, 0]),
        "bonus": np.array([13, 25]),
        "anything_else": None,
    }
    return {**values, **changes}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "rounds.jsonl"
    monkeypatch.setenv(ROUNDS_FILE, str(path))
    return path


def test_a_step_is_recorded_by_request(recorded: Path) -> None:
    record(None, **facts())
    found = read_rounds(recorded)
    assert found["a"] == [EngineRound("a", 9, 2, 3, 10, (11, 12), (0.5, 0.25), 2, 2, 13)]
    assert found["b"] == [EngineRound("b", 9, 2, 7, 20, (21, 22), (0.75, 0.5), 1, 0, 25)]


def test_a_step_in_static_mode_is_recorded_too(recorded: Path) -> None:
    record(None, **facts(confidence=None, layout=None))
    (found,) = read_rounds(recorded)["b"]
    assert (found.confidences, found.verified) == ((), GAMMA)


def test_the_recorder_is_found_as_a_plugin(tmp_path: Path) -> None:
    environ = plugin_environ(tmp_path, tmp_path / "rounds.jsonl")
    folder = environ["PYTHONPATH"].split(os.pathsep)[0]
    (found,) = importlib.metadata.distributions(path=[folder])
    (point,) = found.entry_points
    assert point.group == "sglang.srt.plugins"
    assert point.load() is register
