"""The whole trainer on a tiny target: it must learn, resume exactly, and measure what decodes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
import yaml
from training_helpers import run_config

from dspark_sglang.reference import DecodeOptions, Draft, Generation, Round, generate, read_draft
from dspark_sglang.reference.hf_target import HFTarget
from dspark_sglang.training.answers import Answer, read_answers
from dspark_sglang.training.config import TrainingConfig
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.prompts import read_prompts
from dspark_sglang.training.run import Run
from dspark_sglang.training.trainee import Trainee

pytestmark = pytest.mark.integration


def quiet_run(config: TrainingConfig) -> Run:
    return Run(config, Progress(lambda text: None))


def with_fit(config: TrainingConfig, **changes: object) -> TrainingConfig:
    return config.model_copy(update={"fit": config.fit.model_copy(update=changes)})


class Learned(NamedTuple):
    """A run at its end, and the draft of its last step."""

    run: Run
    last: Draft

    def decoded(self, draft: Draft, index: int) -> Generation:
        ids = self.run.answers[index].prompt_ids
        return generate(ids, HFTarget(self.run.model), draft, DecodeOptions(max_new_tokens=40))


@pytest.fixture(scope="module")
def learned(
    llama_folder: Path, prompt_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Learned:
    torch.set_num_threads(1)
    run = quiet_run(run_config(llama_folder, prompt_file, tmp_path_factory.mktemp("learned")))
    run.generate()
    run.cache()
    run.fit()
    run.evaluate()
    fit = run.new_fit()
    assert fit.resume()
    assert fit.course.is_over(fit.config)
    return Learned(run, fit.trainee.spread())


def test_a_tiny_target_is_overfitted_in_under_a_minute(learned: Learned) -> None:
    indices = learned.run.split()[0][:8]
    seen = [learned.decoded(learned.last, index) for index in indices]
    assert [each.tokens for each in seen] == [learned.run.answers[i].answer_ids for i in indices]
    assert sum(each.accept_length for each in seen) / len(seen) > 5


def test_the_measured_accept_length_is_that_of_decoding(learned: Learned) -> None:
    best = learned.run.output / "fit" / "best"
    card, draft = json.loads((best / "card.json").read_text()), read_draft(best, torch.float32)
    for domain, indices in learned.run.split()[1].items():
        rounds = [each for index in indices for each in counted(learned.decoded(draft, index))]
        figures = card["figures"][domain]
        assert figures["rounds"] == len(rounds)
        assert figures["accept_length"] == pytest.approx(
            sum(each.accepted + 1 for each in rounds) / len(rounds), abs=1e-4
        )


def counted(generation: Generation) -> list[Round]:
    """The rounds whose whole block lies inside the answer of 40 tokens, as in the walk."""
    place, rounds = 0, []
    for each in generation.rounds:
        if place + len(each.drafts) <= 39:
            rounds.append(each)
        place += each.accepted + 1
    return rounds


def test_the_run_leaves_a_card_a_table_and_scalars(learned: Learned) -> None:
    best = learned.run.output / "fit" / "best"
    card = json.loads((best / "card.json").read_text())
    table = json.loads((best / "sts.json").read_text())
    assert card["data"].keys() == {"answers.jsonl", "prompts.jsonl"}
    assert card["course"]["best_accept_length"] > 1
    assert len(table["temperatures"]) == 7
    assert list((learned.run.output / "tensorboard").glob("events*"))


def test_a_resumed_run_ends_with_equal_bits(learned: Learned, config: TrainingConfig) -> None:
    def fitted(folder: str, *stops: int) -> dict[str, torch.Tensor]:
        for stop in stops:
            run = quiet_run(with_fit(config, max_steps=40, evaluate_every=10))
            run.output = learned.run.output / folder
            run.answers, run.states = learned.run.answers, learned.run.states
            fit = run.new_fit()
            assert fit.resume() == (fit.folder / "checkpoint").exists()
            while fit.course.step < stop:
                fit.step()
            fit.save()
        return dict(fit.trainee.draft.state_dict())

    straight, resumed = fitted("straight", 30), fitted("resumed", 10, 20, 30)
    assert straight.keys() == resumed.keys()
    assert all(torch.equal(straight[name], resumed[name]) for name in straight)


def other_words(answers: list[Answer]) -> list[Answer]:
    """Each answer with the tokens of another part of the vocabulary."""
    return [each._replace(answer_ids=[(i + 30) % 60 for i in each.answer_ids]) for each in answers]


def test_a_draft_keeps_its_tokens_when_it_is_trained_further(
    learned: Learned, config: TrainingConfig
) -> None:
    older = quiet_run(with_fit(config, vocabulary=20)).maker.started(learned.run.answers)
    assert isinstance(older, Trainee)
    torch.nn.init.normal_(older.draft.get_parameter("markov_head.markov_w2.weight"))
    older.write(config.output / "older")
    draft = config.draft.model_copy(update={"from_draft": config.output / "older"})
    further = with_fit(config.model_copy(update={"draft": draft}), vocabulary=20)
    others = other_words(learned.run.answers)
    assert quiet_run(with_fit(config, vocabulary=20)).maker.started(others).vocabulary.digest != (
        older.vocabulary.digest
    )
    newer = quiet_run(further).maker.started(others)
    assert torch.equal(newer.vocabulary.ids, older.vocabulary.ids)
    wider = quiet_run(with_fit(further, vocabulary=25)).maker.started(others)
    assert len(wider.vocabulary) == 25


def test_a_run_does_not_go_on_with_another_vocabulary(
    learned: Learned, config: TrainingConfig
) -> None:
    run = quiet_run(with_fit(config, vocabulary=20))
    run.answers, run.states = learned.run.answers, learned.run.states
    run.new_fit()
    run.new_fit()
    run.answers = other_words(run.answers)
    with pytest.raises(ValueError, match="vocabulary, which follows from the answers"):
        run.new_fit()


def test_what_was_answered_is_not_answered_again(config: TrainingConfig) -> None:
    run = quiet_run(config)
    run.generate()
    path = run.output / "answers.jsonl"
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:5]) + lines[5][:30])
    quiet_run(config).generate()
    assert path.read_text().startswith("".join(lines[:5]))
    assert sorted(read_answers(path)) == sorted(Run(config, Progress()).answers)
    assert {each.prompt for each in read_answers(path)} == {
        json.loads(line)["prompt"] for line in lines
    }


def test_the_cache_stops_at_its_bound_and_goes_on_later(config: TrainingConfig) -> None:
    small = config.model_copy(
        update={"cache": config.cache.model_copy(update={"max_gigabytes": 1e-9})}
    )
    said = list[str]()
    run = Run(small, Progress(said.append))
    run.generate()
    run.cache()
    assert not run.states.places
    assert any("left out" in text for text in said)
    again = quiet_run(config)
    again.cache()
    assert len(again.states.places) == len(again.answers)


def test_states_of_other_layers_are_refused(config: TrainingConfig) -> None:
    run = quiet_run(config)
    run.generate()
    run.cache()
    draft = config.draft.model_copy(update={"target_layer_ids": (0, 1)})
    other = quiet_run(config.model_copy(update={"draft": draft}))
    with pytest.raises(ValueError, match=r"holds layers .* the draft reads \[0, 1\]"):
        other.cache()


def test_two_processes_train_one_draft(config: TrainingConfig) -> None:
    """As `accelerate launch` or `torchrun` start them, here on a CPU."""
    fit = config.fit.model_copy(update={"max_steps": 30, "max_minutes": 5, "evaluate_every": 15})
    path = config.output.parent / "run.yaml"
    document = config.model_copy(update={"fit": fit}).model_dump(mode="json", exclude_none=True)
    path.write_text(yaml.safe_dump(document))
    launcher = ["torch.distributed.run", "--nproc_per_node", "2", "--standalone", "-m"]
    subprocess.run(
        [sys.executable, "-m", *launcher, "dspark_sglang.training", "--config", str(path)],
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        check=True,
    )
    card = json.loads((config.output / "fit" / "best" / "card.json").read_text())
    assert card["course"]["step"] == 30
    assert read_draft(config.output / "fit" / "best", torch.float32)
    assert len(read_answers(config.output / "answers.jsonl")) == len(read_prompts(config.prompts))
