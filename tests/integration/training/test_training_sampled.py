"""Accept lengths along sampled answers are those of decoding at the same temperature."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from training_helpers import MASK, tiny_llama

from dspark_sglang.reference import DecodeOptions, SamplingParams, generate
from dspark_sglang.reference.config import HeadType
from dspark_sglang.reference.hf_target import HFTarget
from dspark_sglang.training.accepting import walk
from dspark_sglang.training.config import DraftSettings, TrainingConfig
from dspark_sglang.training.drafters import DRAFTERS, as_drafter
from dspark_sglang.training.initial import initialise
from dspark_sglang.training.makers import frozen
from dspark_sglang.training.sampled import accepted_along, sampled
from dspark_sglang.training.states import Sample
from dspark_sglang.training.target import draft_config
from dspark_sglang.training.trainee import Trainee
from dspark_sglang.training.vocabulary import frequent_tokens

TEMPERATURE = 1.3
ANSWERS = 30
TOKENS = 48
GAMMA = 3


def _trainee(model: Any, head: HeadType, config: TrainingConfig) -> Trainee:
    """A draft of random weights whose logits the target shares in part."""
    rank = 0 if head == "none" else 8
    settings = DraftSettings(
        num_hidden_layers=1,
        gamma=GAMMA,
        mask_token_id=MASK,
        markov_head_type=head,
        markov_rank=rank,
        enable_confidence_head=False,
    )
    full = draft_config(model.config, settings)
    vocabulary = frequent_tokens((), full.vocab_size, None)
    trainee = Trainee(full, vocabulary, frozen(model, vocabulary, config))
    initialise(trainee.draft, 1)
    for name, weight in trainee.draft.named_parameters():
        if name.endswith("markov_w2.weight"):
            torch.nn.init.normal_(weight)
    return trainee.eval()


def _sample(target: HFTarget, draft: Any, ids: list[int], prompt_length: int) -> Sample:
    layers = draft.config.target_layer_ids
    step = target.forward(torch.tensor([ids]), target.new_cache(), layers)
    final = target.model.get_decoder()(torch.tensor([ids])).last_hidden_state[0]
    return Sample(
        torch.tensor(ids), prompt_length, torch.cat(step.captured, dim=-1)[0], final.detach()
    )


@pytest.mark.parametrize("head", ["vanilla", "none"])
def test_coins_along_an_answer_give_the_rounds_of_decoding(
    head: HeadType, config: TrainingConfig
) -> None:
    model = tiny_llama()
    trainee, target = _trainee(model, head, config), HFTarget(model)
    generator = torch.Generator().manual_seed(7)
    options = DecodeOptions(
        max_new_tokens=TOKENS,
        sampling=SamplingParams(temperature=TEMPERATURE),
        generator=generator,
    )
    decoded, walked = [0, 0], [0, 0]
    lm_head = model.get_output_embeddings().weight
    draft = trainee.spread().eval()
    for number in range(ANSWERS):
        prompt = [number % 50, 3, number % 7]
        made = generate(prompt, target, draft, options)
        decoded = [decoded[0] + len(made.rounds), decoded[1] + sum(r.accepted for r in made.rounds)]
        sample = _sample(target, draft, prompt + made.tokens, len(prompt))
        answer = sampled(sample, lm_head, TEMPERATURE)
        found = walk(accepted_along(trainee, answer, generator), GAMMA)
        walked = [walked[0] + found.rounds, walked[1] + found.tokens - found.rounds]
    ours, theirs = (accepted / rounds for rounds, accepted in (walked, decoded))
    assert 0.1 < theirs < GAMMA - 0.1
    # X in 0..GAMMA has X^2 <= GAMMA X, which bounds its variance.
    variance = theirs * (GAMMA - theirs)
    deviation = math.sqrt(variance * (1 / walked[0] + 1 / decoded[0]))
    assert abs(ours - theirs) < 3 * deviation


def test_drafters_share_data_and_budget(config: TrainingConfig, tmp_path: Path) -> None:
    runs = {name: as_drafter(config, name) for name in DRAFTERS}
    assert {run.data for run in runs.values()} == {config.output}
    assert {run.fit for run in runs.values()} == {config.fit}
    assert {run.output for run in runs.values()} == {config.output / name for name in DRAFTERS}
    assert runs["eagle3"].draft.architecture == "Eagle3"
    assert runs["dflash"].draft.architecture == "DFlashDraftModel"
    with pytest.raises(ValueError, match=r"draft\.architecture"):
        as_drafter(runs["dflash"], "rnn")
