"""Differences from plain decoding: where they are, and when rounding explains them."""

from typing import Any

import pytest

from dspark_sglang.demo.client import Answer
from dspark_sglang.demo.comparing import ROUNDING_GAP, differences


def answer(*token_ids: int, candidates: tuple[Any, ...] = ()) -> Answer:
    return Answer(token_ids, "", "length", 1.0, 0, 0.0, 0.0, candidates)


def plain(*token_ids: int, gap: float, second: int) -> Answer:
    """Plain decoding whose second-best candidate is `second`, everywhere `gap` behind."""
    best = tuple([[-0.1, token, None], [-0.1 - gap, second, None]] for token in token_ids)
    return answer(*token_ids, candidates=best)


def test_equal_answers_have_no_difference() -> None:
    assert differences([plain(1, 2, gap=1.0, second=9)], [answer(1, 2)]) == []


def test_the_first_difference_is_found() -> None:
    found = differences([plain(1, 2, 3, gap=1.0, second=9)], [answer(1, 8, 7)])
    assert [(each.prompt, each.position) for each in found] == [(0, 1)]
    assert (found[0].plain_token, found[0].other_token) == (2, 8)


@pytest.mark.parametrize(
    ("gap", "other", "is_rounding"),
    [
        (ROUNDING_GAP / 2, 9, True),
        (ROUNDING_GAP * 2, 9, False),
        (ROUNDING_GAP / 2, 8, False),
    ],
)
def test_only_a_tie_of_the_two_tokens_is_rounding(
    gap: float, other: int, is_rounding: bool
) -> None:
    found = differences([plain(1, 2, gap=gap, second=9)], [answer(1, other)])
    assert [each.is_rounding for each in found] == [is_rounding]


def test_an_answer_that_ends_early_is_never_rounding() -> None:
    found = differences([plain(1, 2, gap=0.0, second=9)], [answer(1)])
    assert [(each.position, each.other_token, each.is_rounding) for each in found] == [
        (1, None, False)
    ]


def test_an_answer_that_goes_on_is_never_rounding() -> None:
    found = differences([plain(1, gap=0.0, second=9)], [answer(1, 2)])
    assert [(each.plain_token, each.is_rounding) for each in found] == [(None, False)]
