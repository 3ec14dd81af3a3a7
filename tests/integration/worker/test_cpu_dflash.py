"""What the CPU platform puts under SGLang's DFLASH worker, without a server."""

from types import SimpleNamespace

import pytest
import torch

from dspark_sglang.platforms.cpu.dflash import extend_forward_kwargs, sampled_verdict
from tests.chi_square import p_value

TRIALS = 40_000
UNLIKELY = 1e-4


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_sampled_tokens_follow_the_target(temperature: float) -> None:
    """Whatever was drafted: the first token, and the one after two accepted ones."""
    torch.manual_seed(4)
    logits = torch.tensor([[2.0, 1.0, 0, 1, 0.5], [0, 1, 2, 0, 1], [1, 0, 0, 2, 0]])
    target = (logits / temperature).softmax(dim=-1)
    candidates = torch.tensor([[4, 1, 2]]).expand(TRIALS, -1)
    info = SimpleNamespace(
        temperatures=torch.full((TRIALS, 1), temperature),
        need_top_k_sampling=False,
        need_top_p_sampling=False,
    )
    accepted, bonus = sampled_verdict(
        candidates=candidates, next_token_logits=logits.repeat(TRIALS, 1), sampling_info=info
    )
    first = torch.where(accepted > 0, candidates[:, 1], bonus)
    assert p_value(first[:, None], target[0]) > UNLIKELY
    assert p_value(bonus[accepted == 2][:, None], target[2]) > UNLIKELY
    second = torch.where(accepted > 1, candidates[:, 2], bonus)[accepted > 0]
    assert p_value(second[:, None], target[1]) > UNLIKELY


def rounded(_runner: object, batch: SimpleNamespace, _proxies: object) -> dict[str, torch.Tensor]:
    """As upstream."""
    return {} if batch.input_embeds is None else {"input_embeds": batch.input_embeds.bfloat16()}


def test_embeddings_keep_the_precision_of_the_model() -> None:
    embeds, runner = torch.randn(2, 4), SimpleNamespace(dtype=torch.float32)
    batch = SimpleNamespace(input_embeds=embeds, replace_embeds=None)
    assert torch.equal(extend_forward_kwargs(rounded, runner, batch, None)["input_embeds"], embeds)
    batch.input_embeds = None
    assert extend_forward_kwargs(rounded, runner, batch, None) == {}
