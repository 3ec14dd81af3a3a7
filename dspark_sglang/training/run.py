"""A run's stages and the files that they leave.

In the data folder, which drafts of one target may share, `answers.jsonl` and `states/`; in the
output folder `fit/checkpoint`, `tensorboard/` and `fit/best`: the draft in the public format with
`card.json`. Each stage begins where it was stopped.
"""

import json
from contextlib import closing
from datetime import timedelta
from functools import cached_property
from typing import Any

import torch
from accelerate import PartialState
from transformers import AutoModelForCausalLM, AutoTokenizer

from dspark_control.files import dump_sts
from dspark_sglang.reference.hf_target import HFTarget
from dspark_sglang.training.answers import Answer, Answerer, generate_answers, read_answers
from dspark_sglang.training.card import run_card
from dspark_sglang.training.config import TrainingConfig
from dspark_sglang.training.evaluation import evaluated, figures
from dspark_sglang.training.fit import Fit, Material
from dspark_sglang.training.makers import Maker, maker
from dspark_sglang.training.progress import Progress, Scalars
from dspark_sglang.training.prompts import read_prompts
from dspark_sglang.training.remembered import agree, fingerprint
from dspark_sglang.training.sampler import FOLDED
from dspark_sglang.training.splitting import Split, split
from dspark_sglang.training.states import Sample, StateCache, cache_states


class Run:
    """One training run, by its config."""

    def __init__(self, config: TrainingConfig, progress: Progress) -> None:
        self.config, self.progress = config, progress
        self.output = config.output
        self.data = config.data or config.output

    @cached_property
    def processes(self) -> PartialState:
        """This process among those that a launcher started; they wait for each other for days."""
        return PartialState(cpu=not torch.accelerator.is_available(), timeout=timedelta(days=7))

    @cached_property
    def device(self) -> torch.device:
        """Where this process computes, one accelerator a process where there are some."""
        return self.processes.device  # type: ignore[no-any-return]

    @cached_property
    def model(self) -> Any:
        """The target."""
        return (
            AutoModelForCausalLM.from_pretrained(
                self.config.target, dtype=self.config.dtype, attn_implementation=FOLDED
            )
            .to(self.device)
            .eval()
        )

    @cached_property
    def maker(self) -> Maker:
        """What builds the draft."""
        return maker(self.model, self.config)

    @cached_property
    def answers(self) -> list[Answer]:
        """What the target said; as many as there are by now."""
        return read_answers(self.data / "answers.jsonl")

    @cached_property
    def states(self) -> StateCache:
        """The hidden states' shards."""
        return StateCache(self.data / "states", self.maker.target_layer_ids)

    def say(self, text: str) -> None:
        """One line of progress, from the main process."""
        if self.processes.is_main_process:
            self.progress.say(text)

    def stage(self, name: str) -> None:
        """Runs a stage; of several processes one does it and the others wait, but for `fit`."""
        self.say(f"stage {name}")
        self._check_folders(name)
        if self.processes.is_main_process or name == "fit":
            getattr(self, name)()
        self.processes.wait_for_everyone()

    def _check_folders(self, stage: str) -> None:
        """ValueError when they belong to another target or draft, or the draft cannot be."""
        target = HFTarget(self.model)
        if reason := target.why_hidden(self.maker.target_layer_ids):
            raise ValueError(reason)
        agree(self.data / "target.json", {"target": fingerprint(self.model)})
        if stage == "fit":
            agree(self.output / "fit" / "settings.json", self._settings())

    def _settings(self) -> dict[str, Any]:
        """What a checkpoint does not fit any more when it changes."""
        fit, draft = self.config.fit, self.config.draft.model_dump(exclude={"from_draft"})
        return {**draft, "vocabulary": fit.vocabulary, "seed": fit.seed, "held_out": fit.held_out}

    def generate(self) -> None:
        """Stage `generate`."""
        tokenizer = AutoTokenizer.from_pretrained(self.config.target)
        prompts = read_prompts(self.config.prompts)
        path = self.data / "answers.jsonl"
        answerer = Answerer(self.model, tokenizer, self.config.answers)
        generate_answers(answerer, prompts, path, self.progress)

    def cache(self) -> None:
        """Stage `cache`."""
        cache_states(
            HFTarget(self.model), self.answers, self.states, self.config.cache, self.progress
        )

    def fit(self) -> None:
        """Stage `fit`."""
        fit = self.new_fit()
        held_out = sum(map(len, fit.material.held_out.values()))
        self.say(f"fit: {len(fit.material.train)} answers to train on, {held_out} held out")
        if fit.resume():
            self.say(f"fit: goes on after step {fit.course.step}")
        with closing(Scalars(self.output / "tensorboard", self.progress)) as log:
            fit.run(log)

    def new_fit(self) -> Fit:
        """The fit from its beginning."""
        train, held_out = self.split()
        material = Material(self.sample, train, held_out)
        learner = self.maker.started(self.answers)
        tokens = {"the vocabulary, which follows from the answers,": learner.vocabulary.digest}
        agree(self.output / "fit" / "vocabulary.json", tokens)
        return Fit(learner, material, self.config.fit, self.output / "fit")

    def evaluate(self) -> None:
        """Stage `evaluate`: figures, STS table and run card of the best draft."""
        folder = self.output / "fit" / "best"
        if not folder.exists():
            raise ValueError(f"{folder}: no draft was kept there; run the stage fit")
        agree(self.output / "fit" / "settings.json", self._settings())
        by_domain, sts = evaluated(self.maker.kept(folder), self.sample, self.split()[1])
        for name, each in by_domain.items():
            self.progress.say(f"{name}: accept length {each.accept_length:.3f}")
        if sts:
            (folder / "sts.json").write_bytes(dump_sts(sts))
        data = [self.data / "answers.jsonl", *self.config.prompts]
        course = json.loads((self.output / "fit" / "checkpoint" / "course.json").read_text())
        card = run_card(self.config, data, figures(by_domain), course)
        (folder / "card.json").write_text(card)

    def sample(self, index: int) -> Sample:
        """The sample of an answer."""
        return self.states.read(index, self.answers[index]).to(self.device)

    def split(self) -> Split:
        """What is trained on and what is held out of the cached answers."""
        cached = [index for index in range(len(self.answers)) if index in self.states]
        if not cached:
            raise ValueError(f"{self.data}: no hidden states; run the stages generate and cache")
        return split(self.answers, cached, self.config.fit.held_out, self.config.draft.gamma)
