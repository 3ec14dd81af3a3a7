"""Builds drafts for training and reads them back: the one place that tells architectures apart."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from dspark_sglang.reference import Draft, read_draft
from dspark_sglang.training.answers import Answer
from dspark_sglang.training.config import DraftSettings, EagleSettings, TrainingConfig
from dspark_sglang.training.eagle.checkpoint import EAGLE_ARCHITECTURES, read_eagle
from dspark_sglang.training.eagle.config import eagle_config
from dspark_sglang.training.eagle.initial import start_eagle_from_draft, start_eagle_from_target
from dspark_sglang.training.eagle.trainee import EagleTrainee
from dspark_sglang.training.initial import initialise, start_from_draft, start_from_target
from dspark_sglang.training.initial_head import even_out_w1, start_head_from_target
from dspark_sglang.training.learner import Frozen, Learner
from dspark_sglang.training.target import draft_config
from dspark_sglang.training.trainee import Trainee
from dspark_sglang.training.vocabulary import SubVocabulary, drafted_vocabulary, frequent_tokens


class Maker(Protocol):
    """Makes drafts of one architecture."""

    @property
    def target_layer_ids(self) -> tuple[int, ...]:
        """Layers of the target that the draft reads."""

    def started(self, answers: Sequence[Answer]) -> Learner:
        """The draft as it starts, over the vocabulary of the answers."""

    def kept(self, folder: Path) -> Learner:
        """The draft that was written to `folder`, as it is served."""


def maker(model: Any, config: TrainingConfig) -> Maker:
    """The maker of the architecture that `config` names."""
    if isinstance(config.draft, EagleSettings):
        return EagleMaker(model, config, config.draft)
    return BlockMaker(model, config, config.draft)


class BlockMaker:
    """Makes DSpark and DFlash drafts."""

    def __init__(self, model: Any, config: TrainingConfig, settings: DraftSettings) -> None:
        self.model, self.config, self.settings = model, config, settings
        self.full = draft_config(model.config.get_text_config(), settings)

    @property
    def target_layer_ids(self) -> tuple[int, ...]:
        """As in `Maker`."""
        return self.full.target_layer_ids

    def started(self, answers: Sequence[Answer]) -> Trainee:
        """As in `Maker`; a draft of as many tokens keeps its own when it is trained further."""
        fit, older = self.config.fit, self._older()
        vocabulary = frequent_tokens(answers, self.full.vocab_size, fit.vocabulary)
        if older and len(kept := drafted_vocabulary(older)) == len(vocabulary):
            vocabulary = kept
        trainee = self._over(vocabulary)
        initialise(trainee.draft, fit.seed)
        if self.settings.from_target_layers:
            some = answers[0].prompt_ids + answers[0].answer_ids
            start_from_target(trainee.draft, self.model, some)
            if self.settings.markov_rank:
                embeddings = trainee.embedding[vocabulary.ids]
                start_head_from_target(trainee.draft.markov_head, embeddings)
        if older:
            start_from_draft(trainee.draft, trainee.vocabulary.narrowed(older))
            even_out_w1(trainee.draft)
        return trainee

    def kept(self, folder: Path) -> Trainee:
        """As in `Maker`: over the tokens that it drafts."""
        return kept_block(folder, self.model, self.config)

    def _older(self) -> Draft | None:
        folder = self.settings.from_draft
        return read_draft(folder, torch.float32) if folder else None

    def _over(self, vocabulary: SubVocabulary) -> Trainee:
        return Trainee(self.full, vocabulary, frozen(self.model, vocabulary, self.config))


class EagleMaker:
    """Makes Eagle3 drafts."""

    def __init__(self, model: Any, config: TrainingConfig, settings: EagleSettings) -> None:
        self.model, self.config, self.settings = model, config, settings
        self.full = eagle_config(model.config.get_text_config(), settings)

    @property
    def target_layer_ids(self) -> tuple[int, ...]:
        """As in `Maker`."""
        return self.full.target_layer_ids

    def started(self, answers: Sequence[Answer]) -> EagleTrainee:
        """As in `Maker`."""
        fit = self.config.fit
        trainee = self._over(frequent_tokens(answers, self.full.vocab_size, fit.vocabulary))
        initialise(trainee.draft, fit.seed)
        if self.settings.from_target_layers:
            start_eagle_from_target(trainee.draft, self.model)
        if self.settings.from_draft:
            start_eagle_from_draft(trainee.draft, read_eagle(self.settings.from_draft).draft)
        return trainee

    def kept(self, folder: Path) -> EagleTrainee:
        """As in `Maker`: over the vocabulary of its tables."""
        return kept_eagle(folder, self.model, self.config)

    def _over(self, vocabulary: SubVocabulary) -> EagleTrainee:
        return EagleTrainee(self.full, vocabulary, frozen(self.model, vocabulary, self.config))


def kept_draft(folder: Path, model: Any, config: TrainingConfig) -> Learner:
    """The draft in `folder`, of whichever architecture it is and whatever `config` trains."""
    architectures = json.loads((folder / "config.json").read_text())["architectures"]
    is_eagle = architectures == EAGLE_ARCHITECTURES
    return (kept_eagle if is_eagle else kept_block)(folder, model, config)


def kept_block(folder: Path, model: Any, config: TrainingConfig) -> Trainee:
    """A DSpark or DFlash draft, over the tokens that it drafts."""
    older = read_draft(folder, torch.float32)
    vocabulary = drafted_vocabulary(older)
    trainee = Trainee(older.config, vocabulary, frozen(model, vocabulary, config))
    trainee.draft.load_state_dict(vocabulary.narrowed(older).state_dict())
    return trainee.to(model.device)


def kept_eagle(folder: Path, model: Any, config: TrainingConfig) -> EagleTrainee:
    """An Eagle3 draft, over the vocabulary of its tables."""
    stored = read_eagle(folder)
    borrowed = frozen(model, stored.vocabulary, config)
    trainee = EagleTrainee(stored.draft.config, stored.vocabulary, borrowed)
    trainee.draft.load_state_dict(stored.draft.state_dict())
    return trainee.to(model.device)


def frozen(model: Any, vocabulary: SubVocabulary, config: TrainingConfig) -> Frozen:
    """Embedding and LM head of a target, in the precision of the run."""
    dtype = torch.float32 if config.fit.precision == "no" else model.dtype
    embedding = model.get_input_embeddings().weight.detach().to(dtype)
    lm_head = model.get_output_embeddings().weight.detach().to(dtype)
    return Frozen(embedding, vocabulary.lm_head(lm_head))
