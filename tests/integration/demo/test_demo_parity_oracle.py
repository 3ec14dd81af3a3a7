"""How close two candidates were to the reference, on the real target and its draft."""

import pytest
import torch

from dspark_sglang.demo.model import prepared_models
from dspark_sglang.demo.parity.oracle import Oracle, PlainOracle
from dspark_sglang.reference import read_draft

PROMPT = (1, 4093, 198, 1780, 314, 216, 33, 34, 1232, 216, 35, 32, 47, 2, 198)
OTHERS = (28, 260)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    models = prepared_models()
    return Oracle(PlainOracle(models.target), read_draft(models.draft, torch.float32))


def test_what_the_draft_chose_is_ahead_of_all_others(oracle: Oracle) -> None:
    first, second, *_ = oracle.rounds(PROMPT, 12)
    output = tuple(oracle.plain(PROMPT, 12))
    for each, ids in ((first, PROMPT), (second, (*PROMPT, *output[: first.accepted + 1]))):
        for count in (1, len(each.drafts)):
            block = (each.anchor, *each.drafts[:count])
            assert oracle.draft_gap(ids, block, block[-1]) == 0
            gaps = [oracle.draft_gap(ids, block, other) for other in OTHERS if other != block[-1]]
            assert min(gaps) > 0


def test_what_the_target_chose_is_ahead_of_all_others(oracle: Oracle) -> None:
    output = oracle.plain(PROMPT, 4)
    for at, token in enumerate(output):
        ids = (*PROMPT, *output[:at])
        gaps = [oracle.target_gap(ids, token, other) for other in OTHERS if other != token]
        assert min(gaps) > 0


def test_an_answer_is_made_once(oracle: Oracle) -> None:
    assert oracle.plain(PROMPT, 6) is oracle.plain(PROMPT, 6)
    assert oracle.rounds(PROMPT, 12) is oracle.rounds(PROMPT, 12)
