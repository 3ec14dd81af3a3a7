"""DSPARK in bfloat16, where a draft layer takes its fused norm and rotation.

Output may differ from plain decoding by rounding (a row of a larger batch rounds
differently), so what is checked is that the draft still predicts the target.
"""

import pytest

from dspark_sglang.demo.servers import EngineOptions

from . import requests
from .client import post_all
from .conftest import output_ids, serving

pytestmark = pytest.mark.timeout(600)


def test_the_draft_predicts_as_well_as_in_float32(models, tmp_path) -> None:
    options = EngineOptions("bf16", models, mode="static", dtype="bfloat16", upstream_worker=True)
    with serving(options, tmp_path) as server:
        answers = post_all(server.url, requests.all_questions(64))
    infos = [answer["meta_info"] for answer in answers]
    assert all(len(output_ids(answer)) == 64 for answer in answers)
    kept = sum(info["spec_num_correct_drafts"] for info in infos)
    assert kept / sum(info["spec_verify_ct"] for info in infos) > 0.25
