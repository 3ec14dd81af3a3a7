"""All the requests of a server, shuffled so that batches mix, and their answers by kind."""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dspark_sglang.demo.servers import EngineOptions
from dspark_sglang.reference import Draft
from dspark_sglang.reference.hf_target import HFTarget

from ..platform.client import post
from ..platform.conftest import serving
from .cases import CASES
from .exact import LENGTH
from .models import PROMPT, random_draft, random_target, write_models

BATCH = 64
CUTTING = """{"sample_batch_tokens": [1, 144], "sample_steps_per_sec": [50.0, 5.0],
"max_batch_tokens": 512}"""
"""Steps take ten times as long from 144 tokens on: 64 requests share 79 drafts of 192."""
CALL, LONG = 1500, 300


class Kind(NamedTuple):
    """Requests that are alike."""

    case: str
    length: int = LENGTH


class Served(NamedTuple):
    """What a server answered."""

    mode: str
    target: HFTarget
    draft: Draft
    answers: dict[Kind, list[Mapping[str, Any]]]
    alone: Mapping[str, Any]
    """A long answer, in batches of one."""

    def tokens(self, kind: Kind) -> Tensor:
        return torch.tensor([answer["output_ids"] for answer in self.answers[kind]])


def served(mode: str, counts: Mapping[Kind, int], folder: Path) -> Served:
    """The answers of a server that runs no longer."""
    target = random_target()
    draft = random_draft(target)
    (folder / "sps.json").write_text(CUTTING)
    options = EngineOptions(
        "sampling",
        write_models(target, draft, folder),
        mode=mode,
        sps_file=folder / "sps.json" if mode == "compact" else None,
        max_requests=BATCH,
        flags=("--context-length", "1024", "--random-seed", "7"),
    )
    with serving(options, folder) as server:
        answers = ask_all(server.url, counts)
        alone = post(server.url, {"input_ids": PROMPT, "sampling_params": params("plain", LONG)})
    return Served(mode, target, draft, answers, alone)


def ask_all(url: str, counts: Mapping[Kind, int]) -> dict[Kind, list[Mapping[str, Any]]]:
    """All kinds share their batches; in several calls, so that none takes minutes."""
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    random.Random(7).shuffle(kinds)
    found: dict[Kind, list[Mapping[str, Any]]] = {kind: [] for kind in counts}
    for some in batched(kinds, CALL):
        for kind, answer in zip(some, ask(url, some), strict=True):
            found[kind].append(answer)
    return found


def ask(url: str, kinds: Sequence[Kind]) -> list[Mapping[str, Any]]:
    wanted = [params(*kind) for kind in kinds]
    return list(post(url, {"input_ids": [PROMPT] * len(kinds), "sampling_params": wanted}))


def batched(kinds: Sequence[Kind], size: int) -> Iterator[Sequence[Kind]]:
    return (kinds[start : start + size] for start in range(0, len(kinds), size))


def params(case: str, length: int) -> dict[str, Any]:
    usual = {"temperature": 1.0, "max_new_tokens": length, "ignore_eos": True}
    return usual | CASES[case].params
