"""Penalties under our worker: greedy output equals that of plain decoding, token by token.

Plain decoding runs without the overlap schedule here: with it SGLang penalises a token late.
"""

from pathlib import Path
from typing import Any

import pytest

from dspark_sglang.demo.model import Models
from dspark_sglang.demo.servers import EngineOptions

from . import requests
from .client import post_all
from .conftest import CLIFF, output_ids, serving

pytestmark = pytest.mark.timeout(600)


def bodies() -> dict[str, dict[str, Any]]:
    """Requests with penalties, and some without in the same batch."""
    return {
        "none": requests.repetition(),
        "frequency": requests.repetition(frequency_penalty=0.3),
        "presence": requests.repetition(presence_penalty=1.5),
        "repetition": requests.repetition(repetition_penalty=1.2),
        "min tokens": requests.greedy(requests.chat("Say yes."), 40, min_new_tokens=30),
        "all": requests.repetition(
            frequency_penalty=0.2,
            presence_penalty=0.4,
            repetition_penalty=1.1,
            logit_bias={"28": 3.0},
        ),
    }


def answers(options: EngineOptions, folder: Path) -> dict[str, Any]:
    """Twice, so that slots are used again."""
    wanted = bodies()
    with serving(options, folder) as server:
        given = [post_all(server.url, list(wanted.values())) for _ in range(2)]
    assert [output_ids(each) for each in given[0]] == [output_ids(each) for each in given[1]]
    return dict(zip(wanted, given[1], strict=True))


def test_penalties_answer_as_plain_decoding_does(models: Models, tmp_path: Path) -> None:
    sps = tmp_path / "sps.json"
    sps.write_text(CLIFF)
    plain = EngineOptions("exact", models, speculative=False, flags=("--disable-overlap-schedule",))
    ours = EngineOptions("penalties", models, mode="compact", sps_file=sps)
    expected, found = answers(plain, tmp_path), answers(ours, tmp_path)
    for name, answer in found.items():
        assert output_ids(answer) == output_ids(expected[name]), name
    assert len({tuple(output_ids(answer)) for answer in found.values()}) == len(found)
    assert len(output_ids(found["min tokens"])) >= 30
    assert found["frequency"]["meta_info"]["spec_verify_ct"] < 29
