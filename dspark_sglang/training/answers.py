"""Stage `generate`: the target answers every prompt; a stopped run goes on where it was.

A draft must predict what its target says, so the target's own answers are the training text.
They are kept as JSON lines; what is in the file is not made again.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

from dspark_sglang.training.config import AnswerConfig
from dspark_sglang.training.progress import Progress
from dspark_sglang.training.prompts import Prompt, prompt_ids
from dspark_sglang.training.sampler import Asked, answer_batch


class Answer(NamedTuple):
    """A prompt and what the target said to it, in its tokens."""

    prompt: str
    domain: str
    temperature: float
    prompt_ids: list[int]
    answer_ids: list[int]


class Answerer(NamedTuple):
    """A target that answers."""

    model: Any
    tokenizer: Any
    config: AnswerConfig


class Question(NamedTuple):
    """An answer that is still to be made."""

    prompt: Prompt
    temperature: float
    ids: list[int]


def read_answers(path: Path) -> list[Answer]:
    """All whole answers of a file; a line cut by a crash is left out, none when it is missing."""
    return list(_whole_answers(path)) if path.exists() else []


def _whole_answers(path: Path) -> Iterator[Answer]:
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            yield Answer(**json.loads(line))


def generate_answers(
    answerer: Answerer, prompts: Iterable[Prompt], path: Path, progress: Progress
) -> None:
    """Appends to `path` whatever answer is not in it yet."""
    _drop_cut_line(path)
    done = {(answer.prompt, answer.temperature) for answer in read_answers(path)}
    questions = list(_questions(prompts, answerer))
    if not questions:
        raise ValueError(
            "prompts: there is none of at most answers.max_prompt_tokens = "
            f"{answerer.config.max_prompt_tokens} tokens"
        )
    todo = [each for each in questions if _key(each) not in done]
    stops, config = stop_ids(answerer.model), answerer.config
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as sink:
        for batch in progress.over(list(_batches(todo, config.batch_size)), "answers, batches"):
            for answer in _answered(answerer.model, batch, config.max_new_tokens, stops):
                sink.write(json.dumps(answer._asdict()) + "\n")
            sink.flush()


def stop_ids(model: Any) -> set[int]:
    """The tokens that end an answer of `model`."""
    ids = model.generation_config.eos_token_id
    return set() if ids is None else {ids} if isinstance(ids, int) else set(ids)


def _key(question: Question) -> tuple[str, float]:
    return question.prompt.text, question.temperature


def _questions(prompts: Iterable[Prompt], answerer: Answerer) -> Iterator[Question]:
    for prompt in prompts:
        ids = prompt_ids(prompt, answerer.tokenizer)
        if len(ids) <= answerer.config.max_prompt_tokens:
            for temperature in answerer.config.temperatures:
                yield Question(prompt, temperature, ids)


def _batches(todo: list[Question], size: int) -> Iterator[list[Question]]:
    """Batches of one temperature and similar lengths, which need little padding."""
    for temperature in sorted({each.temperature for each in todo}):
        alike = [each for each in todo if each.temperature == temperature]
        alike.sort(key=lambda each: len(each.ids))
        yield from (alike[start : start + size] for start in range(0, len(alike), size))


def _answered(
    model: Any, batch: list[Question], max_new_tokens: int, stops: Collection[int]
) -> Iterator[Answer]:
    """The answers of a batch; its seed depends on nothing but the batch's first prompt."""
    seed = sum(batch[0].ids) + len(batch)
    generator = torch.Generator(model.device).manual_seed(seed)
    temperature = batch[0].temperature
    asked = Asked(max_new_tokens, stops, temperature)
    answers = answer_batch(model, [each.ids for each in batch], asked, generator)
    for question, ids in zip(batch, answers, strict=True):
        yield Answer(*question.prompt, temperature, question.ids, ids)


def _drop_cut_line(path: Path) -> None:
    """Takes away a last line that a crash cut, so that the next answer starts a line."""
    if path.exists():
        whole = path.read_bytes().rfind(b"\n") + 1
        with path.open("r+b") as answers:
            answers.truncate(whole)
