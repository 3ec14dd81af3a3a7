"""Stage `cache`: the target's hidden states for every answer, run once and read many times.

A position costs (m + 1) H numbers in bfloat16: the m captured layers that a draft reads (2) and
the final hidden state, from which the target's distribution follows by its LM head. Positions of
many answers stand one after the other in the shards, which are written whole or not at all.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from dspark_sglang.training.answers import Answer
from dspark_sglang.training.config import CacheConfig
from dspark_sglang.training.progress import Progress

BATCH_TOKENS = 8192
"""Positions that go through the target at once, padding included."""


class Sample(NamedTuple):
    """One answer with what the target computed for it; S positions."""

    ids: Tensor
    """`[S]`, prompt and answer."""
    prompt_length: int
    captured: Tensor
    """`[S, m H]`, layers side by side."""
    final: Tensor
    """`[S, H]`, after the final norm; row p predicts token p + 1."""

    def to(self, device: torch.device) -> "Sample":
        """The sample on a device."""
        captured, final = self.captured.to(device), self.final.to(device)
        return Sample(self.ids.to(device), self.prompt_length, captured, final)


class Place(NamedTuple):
    """Where an answer's positions are."""

    shard: str
    start: int
    length: int
    digest: int
    """Of the answer."""


def digest(answer: Answer) -> int:
    """Tells answers apart by their tokens."""
    return zlib.crc32(repr((answer.prompt_ids, answer.answer_ids)).encode())


class StateCache:
    """Shards of hidden states in a folder, by the answer's index in the answers' file."""

    def __init__(self, folder: Path, layer_ids: Sequence[int]) -> None:
        self.folder, self.layer_ids = folder, list(layer_ids)
        self.places = dict[int, Place]()
        for path in sorted(folder.glob("*.safetensors")):
            self._add(path)

    def __contains__(self, index: int) -> bool:
        return index in self.places

    @property
    def gigabytes(self) -> float:
        """What the shards take on disk."""
        return sum(path.stat().st_size for path in self.folder.glob("*.safetensors")) / 1e9

    def read(self, index: int, answer: Answer) -> Sample:
        """The sample of `answer`, which has that index."""
        place = self.places[index]
        if place.digest != digest(answer):
            raise ValueError(
                f"{self.folder}: the hidden states of answer {index} are of another answer; "
                "remove the folder and run the stage cache again"
            )
        end = place.start + place.length
        with safe_open(self.folder / place.shard, framework="pt") as shard:
            captured = shard.get_slice("captured")[place.start : end]
            final = shard.get_slice("final")[place.start : end]
        ids = torch.tensor(answer.prompt_ids + answer.answer_ids)
        return Sample(ids, len(answer.prompt_ids), captured, final)

    def write(self, states: dict[int, tuple[Tensor, Tensor]], answers: Sequence[Answer]) -> None:
        """A new shard with (captured, final) of each answer's index."""
        indices = sorted(states)
        lengths = [len(states[index][0]) for index in indices]
        digests = [digest(answers[index]) for index in indices]
        about = {"indices": indices, "lengths": lengths, "digests": digests}
        about["layers"] = self.layer_ids
        tensors = {
            "captured": torch.cat([states[index][0] for index in indices]),
            "final": torch.cat([states[index][1] for index in indices]),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{len(list(self.folder.glob('*.safetensors'))):05d}.safetensors"
        save_file(tensors, path.with_suffix(".part"), {"about": json.dumps(about)})
        path.with_suffix(".part").rename(path)
        self._add(path)

    def _add(self, path: Path) -> None:
        with safe_open(path, framework="pt") as shard:
            about = json.loads(shard.metadata()["about"])
        if about["layers"] != self.layer_ids:
            raise ValueError(
                f"{path} holds layers {about['layers']}, the draft reads {self.layer_ids}: "
                "remove the folder or choose another output"
            )
        start = 0
        rows = zip(about["indices"], about["lengths"], about["digests"], strict=True)
        for index, length, answer in rows:
            self.places[index] = Place(path.name, start, length, answer)
            start += length


@torch.no_grad()
def cache_states(
    target: Any, answers: Sequence[Answer], cache: StateCache, config: CacheConfig, say: Progress
) -> None:
    """Fills the cache, in the answers' order, until all are in it or the disk's bound is met."""
    todo = [index for index in range(len(answers)) if index not in cache]
    shard = dict[int, tuple[Tensor, Tensor]]()
    for batch in say.over(list(_batches(todo, answers)), "hidden states, batches"):
        newer = _states(target, {index: answers[index] for index in batch}, cache.layer_ids)
        if cache.gigabytes + _gigabytes(shard) + _gigabytes(newer) > config.max_gigabytes:
            say.say(f"hidden states: {config.max_gigabytes} GB are full; the rest is left out")
            break
        shard.update(newer)
        if sum(len(captured) for captured, _ in shard.values()) >= config.tokens_per_shard:
            cache.write(shard, answers)
            shard = {}
    if shard:
        cache.write(shard, answers)


def _gigabytes(shard: dict[int, tuple[Tensor, Tensor]]) -> float:
    return sum(part.nbytes for parts in shard.values() for part in parts) / 1e9


def _length(answer: Answer) -> int:
    return len(answer.prompt_ids) + len(answer.answer_ids)


def _batches(todo: list[int], answers: Sequence[Answer]) -> Iterator[list[int]]:
    batch, longest = list[int](), 0
    for index in todo:
        longest = max(longest, _length(answers[index]))
        if batch and longest * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch, longest = [], _length(answers[index])
        batch.append(index)
    if batch:
        yield batch


def _states(
    target: Any, answers: dict[int, Answer], layer_ids: Sequence[int]
) -> dict[int, tuple[Tensor, Tensor]]:
    """(captured, final) of each answer; padded on the right, where causal attention hides it."""
    model, longest = target.model, max(map(_length, answers.values()))
    ids = torch.zeros(len(answers), longest, dtype=torch.long)
    for row, answer in zip(ids, answers.values(), strict=True):
        row[: _length(answer)] = torch.tensor(answer.prompt_ids + answer.answer_ids)
    out = model(ids.to(model.device), output_hidden_states=True, logits_to_keep=1, use_cache=False)
    captured = torch.cat([out.hidden_states[layer + 1] for layer in layer_ids], dim=-1)
    return {
        index: (
            captured[row, : _length(answer)].bfloat16().cpu(),
            out.hidden_states[-1][row, : _length(answer)].bfloat16().cpu(),
        )
        for row, (index, answer) in enumerate(answers.items())
    }
