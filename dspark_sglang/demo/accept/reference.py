"""The reference's side: rounds along the target's own answers, without decoding twice.

The target answers every prompt once a temperature; each drafter is then walked along the answers
(`training.accepting`, `training.sampled`), which counts the rounds that decoding would take.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from dspark_sglang.demo.accept.kept import Part
from dspark_sglang.demo.accept.measured import REFERENCE, Key, Measured
from dspark_sglang.demo.prompts import Prompt
from dspark_sglang.training.accepting import Acceptance, added, drafted, walk
from dspark_sglang.training.config import AnswerConfig, DraftSettings, TrainingConfig
from dspark_sglang.training.learner import Learner
from dspark_sglang.training.makers import kept_draft
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.run import Run
from dspark_sglang.training.sampled import accepted_along, sampled

SEED = 11


@dataclass(frozen=True)
class Questions:
    """What the target is asked, and how."""

    target: Path
    prompts: Sequence[Prompt]
    tokens: int
    temperatures: tuple[float, ...]
    dtype: str
    layer_ids: tuple[int, ...]
    """Layers that the drafters read, the same for all."""
    mask_token_id: int


class Walks:
    """The target's answers in `folder`, and drafters walked along them."""

    def __init__(self, questions: Questions, folder: Path, progress: Progress) -> None:
        self.questions, self.folder = questions, folder
        self.run = Run(_config(questions, folder), progress)

    def prepare(self) -> None:
        """Answers and hidden states, made where they are missing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = [{"prompt": each.text, "domain": each.domain} for each in self.questions.prompts]
        prompts = self.run.config.prompts[0]
        prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.run.generate()
        self.run.cache()

    @torch.no_grad()
    def accepted(self, draft: Path, temperature: float) -> dict[str, list[list[int]]]:
        """Draft tokens accepted at every position of every answer, by domain."""
        learner = kept_draft(draft, self.run.model, self.run.config)
        found: dict[str, list[list[int]]] = defaultdict(list)
        with self._autocast():
            for index in self._indices(temperature):
                domain = self.run.answers[index].domain
                found[domain].append(self._accepted(learner, index, temperature))
        return dict(found)

    def _accepted(self, learner: Learner, index: int, temperature: float) -> list[int]:
        sample = self.run.sample(index)
        if temperature == 0:
            return drafted(learner, sample).accepted.tolist()
        generator = torch.Generator().manual_seed(SEED + index)
        return accepted_along(learner, sampled(sample, self._lm_head, temperature), generator)

    def _indices(self, temperature: float) -> Iterator[int]:
        wanted = {each.text for each in self.questions.prompts}
        for index, answer in enumerate(self.run.answers):
            if answer.temperature == temperature and answer.prompt in wanted:
                yield index

    def _autocast(self) -> Any:
        is_whole = self.questions.dtype == "float32"
        return nullcontext() if is_whole else torch.autocast("cpu", torch.bfloat16)

    @cached_property
    def _lm_head(self) -> torch.Tensor:
        return self.run.model.get_output_embeddings().weight.detach()  # type: ignore[no-any-return]


def acceptances(
    accepted: dict[str, list[list[int]]], drafter: str, temperature: float, gamma: int
) -> dict[Key, Acceptance]:
    """The rounds of blocks of `gamma` tokens, each domain's answers together."""
    return {
        Key(drafter, REFERENCE, temperature, domain): added(
            walk([min(each, gamma) for each in answer], gamma) for answer in answers
        )
        for domain, answers in accepted.items()
    }


def part_of(walks: Walks, drafter: str, draft: Path, gamma: int) -> Part:
    """The rounds of a drafter, and its accept length with blocks of 1 to `gamma` tokens."""
    measured: Measured = {}
    lengths: dict[float, dict[str, list[float]]] = {}
    for temperature in walks.questions.temperatures:
        accepted = walks.accepted(draft, temperature)
        for size in range(1, gamma + 1):
            rounds = acceptances(accepted, drafter, temperature, size)
            for key, each in rounds.items():
                rows = lengths.setdefault(temperature, {})
                rows.setdefault(key.domain, []).append(each.accept_length)
        measured |= rounds
    return Part(measured, block_lengths=lengths)


def _config(questions: Questions, folder: Path) -> TrainingConfig:
    return TrainingConfig(
        target=str(questions.target),
        dtype=questions.dtype,  # type: ignore[arg-type]
        prompts=(folder / "prompts.jsonl",),
        output=folder,
        answers=AnswerConfig(
            max_new_tokens=questions.tokens,
            max_prompt_tokens=2048,
            temperatures=questions.temperatures,
        ),
        draft=DraftSettings(
            num_hidden_layers=1,
            target_layer_ids=questions.layer_ids,
            mask_token_id=questions.mask_token_id,
        ),
    )
