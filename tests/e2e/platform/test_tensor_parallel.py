"""Two ranks on one core each, against the same model run by transformers."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from dspark_sglang.demo.servers import EngineOptions

from ..tiny_models import tiny_models
from .client import post_all
from .conftest import output_ids, serving

pytestmark = pytest.mark.timeout(600)
TOKENS = 24
PROMPTS = [list(range(5 + 100 * number, 12 + 101 * number)) for number in range(5)]


def expected(folder) -> list[list[int]]:
    """Greedy continuations in float32."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    outputs = []
    for prompt in PROMPTS:
        ids = torch.tensor([prompt])
        with torch.inference_mode():
            whole = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=TOKENS,
                do_sample=False,
                eos_token_id=None,
                pad_token_id=0,
            )
        outputs.append(whole[0, len(prompt) :].tolist())
    return outputs


def request(prompt: list[int], **params) -> dict:
    params = {"temperature": 0, "max_new_tokens": TOKENS, "ignore_eos": True, **params}
    return {"input_ids": prompt, "sampling_params": params}


def test_two_ranks_draft_and_verify_as_one(models, tmp_path) -> None:
    tiny = tiny_models(tmp_path, models.target)
    options = EngineOptions(
        "tp2",
        tiny,
        mode="compact",
        upstream_worker=True,
        environ={"SGLANG_CPU_OMP_THREADS_BIND": "0|1"},
        flags=("--tp-size", "2"),
    )
    with serving(options, tmp_path) as server:
        sampled = request(PROMPTS[0], temperature=0.9, top_p=0.8)
        answers = post_all(server.url, [*map(request, PROMPTS), sampled])
    assert [output_ids(answer) for answer in answers[:-1]] == expected(tiny.target)
    assert len(output_ids(answers[-1])) == TOKENS
    assert all(answer["meta_info"]["spec_verify_ct"] > 0 for answer in answers)
